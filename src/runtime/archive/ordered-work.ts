interface PendingWork {
  readonly work: Promise<() => void>;
}

/** Runs a few tasks at the same time, and tells their ends in the order in which they were added. */
export class OrderedWork {
  private readonly limit: number;
  private readonly pending: PendingWork[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  /** `onDone` is called when this task and all earlier ones are done. Rejects if an earlier one failed. */
  async add<T>(work: Promise<T>, onDone: (result: T) => void): Promise<void> {
    const ended = work.then((result) => () => onDone(result));
    ended.catch(() => {}); // told when its turn comes
    this.pending.push({ work: ended });
    while (this.pending.length >= this.limit) await this.endFirst();
  }

  /** Resolves when all tasks are done. */
  async end(): Promise<void> {
    while (this.pending.length > 0) await this.endFirst();
  }

  private async endFirst(): Promise<void> {
    const tell = await this.pending[0]!.work;
    this.pending.shift();
    tell();
  }
}
