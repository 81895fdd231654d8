/** Where the values of a `PushedStream` come from. */
interface PushedSource<T> {
  /** Returns what there is for the reader; undefined if it has to wait for the next `wake`. */
  take(): T | undefined;
  onEnd(): void;
}

/**
 * Values that come when they come. A generator cannot be ended while it waits; this can, so a reader that leaves stops
 * its source at once.
 */
export class PushedStream<T> implements AsyncIterableIterator<T> {
  private readonly source: PushedSource<T>;
  private hasEnded = false;
  private awake = () => {};

  constructor(source: PushedSource<T>) {
    this.source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** To be called when there is something to take. */
  wake(): void {
    this.awake();
  }

  async next(): Promise<IteratorResult<T>> {
    while (!this.hasEnded) {
      const value = this.source.take();
      if (value !== undefined) return { done: false, value };
      await new Promise<void>((resolve) => {
        this.awake = resolve;
      });
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<T>> {
    if (!this.hasEnded) {
      this.hasEnded = true;
      this.source.onEnd();
      this.awake();
    }
    return { done: true, value: undefined };
  }
}
