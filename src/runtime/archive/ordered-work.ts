interface PendingWork {
  readonly ended: Promise<void>;
  /** Tells the end; present when the task is done. */
  tell?: () => void;
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
    const task: PendingWork = {
      ended: work.then((result) => {
        task.tell = () => onDone(result);
        this.tellDone();
      }),
    };
    task.ended.catch(() => {}); // told when its turn comes
    this.pending.push(task);
    while (this.pending.length >= this.limit) await this.pending[0]!.ended;
  }

  /** Resolves when all tasks are done. Rejects if one failed. */
  async end(): Promise<void> {
    while (this.pending.length > 0) await this.pending[0]!.ended;
  }

  /** Resolves when no task runs any more, whether it is done or has failed. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.pending.map(({ ended }) => ended));
  }

  private tellDone(): void {
    for (let tell = this.pending[0]?.tell; tell !== undefined; tell = this.pending[0]?.tell) {
      this.pending.shift();
      tell();
    }
  }
}
