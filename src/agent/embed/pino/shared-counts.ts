const SETTLED = 0;
const LOST = 1;
const UP = 2;

/**
 * Whether a worker has come up, and how many lines it has settled: shared with its thread, and so there also when no
 * message comes any more.
 */
export class SharedCounts {
  readonly memory: SharedArrayBuffer;
  private readonly numbers: Int32Array;
  private lastRead = { settled: 0, lost: 0 };

  constructor(memory = new SharedArrayBuffer(12)) {
    this.memory = memory;
    this.numbers = new Int32Array(memory);
  }

  get isUp(): boolean {
    return Atomics.load(this.numbers, UP) === 1;
  }

  markUp(): void {
    Atomics.store(this.numbers, UP, 1);
  }

  add(settled: number, lost: number): void {
    Atomics.add(this.numbers, LOST, lost);
    Atomics.add(this.numbers, SETTLED, settled);
  }

  /** What was added since the last time. The numbers may wrap, what is between them does not. */
  takeNew(): { readonly settled: number; readonly lost: number } {
    const { lastRead } = this;
    this.lastRead = { settled: Atomics.load(this.numbers, SETTLED), lost: Atomics.load(this.numbers, LOST) };
    return { settled: (this.lastRead.settled - lastRead.settled) | 0, lost: (this.lastRead.lost - lastRead.lost) | 0 };
  }
}
