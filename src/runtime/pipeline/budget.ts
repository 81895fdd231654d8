/**
 * The bytes the agent holds for clients that have no answer yet: read and not settled. It bounds the memory of every
 * operator behind it, since nothing inside a pipeline holds data that was not taken here.
 */
export class Budget {
  readonly limit: number;
  private taken = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.taken;
  }

  /** False, taking nothing, when it would go over the limit. What is larger than the limit fits when nothing else is held. */
  take(bytes: number): boolean {
    if (this.taken > 0 && this.taken + bytes > this.limit) return false;
    this.taken += bytes;
    return true;
  }

  give(bytes: number): void {
    this.taken -= bytes;
  }
}
