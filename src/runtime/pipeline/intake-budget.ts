/**
 * Bytes held for clients without an answer: read and not settled. It bounds the memory of every operator behind it,
 * because a pipeline holds no data that was not reserved here.
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

  /**
   * Returns false, and reserves nothing, if that would exceed the limit. A batch larger than the limit fits if nothing
   * else is held.
   */
  reserve(bytes: number): boolean {
    if (this.reserved > 0 && this.reserved + bytes > this.limit) return false;
    this.reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.reserved -= bytes;
  }
}
