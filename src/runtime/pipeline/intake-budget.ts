/**
 * The bytes the agent holds for clients that have no answer yet: read and not settled. It bounds the memory of every
 * operator behind it, since nothing inside a pipeline holds data that was not taken here.
 */
export class IntakeBudget {
  readonly limit: number;
  private reserved = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get used(): number {
    return this.reserved;
  }

  /** False, taking nothing, when it would go over the limit. What is larger than the limit fits when nothing else is held. */
  reserve(bytes: number): boolean {
    if (this.reserved > 0 && this.reserved + bytes > this.limit) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}
