/** Stands in front of a part of a graph. While it is closed, what comes waits in order, and its senders with it. */
export class HoldingGate<T> {
  private readonly pass: (item: T) => void;
  private waiting: T[] | undefined;

  constructor(pass: (item: T) => void) {
    this.pass = pass;
  }

  next(item: T): void {
    if (this.waiting === undefined) this.pass(item);
    else this.waiting.push(item);
  }

  close(): void {
    this.waiting ??= [];
  }

  /** Hands what waits to the gate that takes this one's place, or lets it pass here. */
  open(successor: HoldingGate<T> = this): void {
    const waiting = this.takeWaiting();
    successor.passInOrder(waiting);
  }

  /** Opens the gate and returns what waited in front of it. */
  takeWaiting(): T[] {
    const waiting = this.waiting?.splice(0) ?? [];
    this.waiting = undefined;
    return waiting;
  }

  /** Items that come meanwhile, for example because a sender has its answer, wait behind these. */
  private passInOrder(items: T[]): void {
    if (this.waiting !== undefined) return void this.waiting.unshift(...items); // closed itself
    this.waiting = items;
    for (let next = items.shift(); next !== undefined; next = items.shift()) this.pass(next);
    this.waiting = undefined;
  }
}
