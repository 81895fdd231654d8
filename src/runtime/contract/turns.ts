interface Waiting {
  /** Undefined once it has left the line. */
  go: (() => void) | undefined;
}

/** Lets so many at a time go ahead; the others stand in line. */
export class Turns {
  private free: number;
  private line: Waiting[] = [];
  private head = 0;

  constructor(atOnce: number) {
    this.free = atOnce;
  }

  /** Undefined when it is one's turn at once. Rejects with the signal's reason when that comes before the turn. */
  take(signal: AbortSignal): Promise<void> | undefined {
    if (this.free === 0) return new Promise((resolve, reject) => this.queue(signal, resolve, reject));
    this.free -= 1;
    return undefined;
  }

  /** Ends a turn that was taken. */
  give(): void {
    while (this.head < this.line.length) {
      const { go } = this.line[this.head++]!;
      if (go !== undefined) return go();
    }
    this.line = [];
    this.head = 0;
    this.free += 1;
  }

  private queue(signal: AbortSignal, resolve: () => void, reject: (reason: unknown) => void): void {
    const waiting: Waiting = { go: undefined };
    const leave = () => {
      waiting.go = undefined;
      reject(signal.reason);
    };
    waiting.go = () => {
      signal.removeEventListener("abort", leave);
      resolve();
    };
    signal.addEventListener("abort", leave, { once: true });
    this.line.push(waiting);
  }
}
