const SETTLED = 0;
const LOST = 1;
const UP = 2;

/**
 * Whether a worker has started, and how many lines it has settled. Kept in memory shared with the worker's thread, so
 * it can be read even when messages no longer arrive.
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

  /** Counts added since the last call. The counters may overflow; their differences stay correct. */
  takeNew(): { readonly settled: number; readonly lost: number } {
    const { lastRead } = this;
    this.lastRead = { settled: Atomics.load(this.numbers, SETTLED), lost: Atomics.load(this.numbers, LOST) };
    return { settled: (this.lastRead.settled - lastRead.settled) | 0, lost: (this.lastRead.lost - lastRead.lost) | 0 };
  }
}

/** The event that the worker emits after it has updated the counts. */
export const SETTLED_EVENT = "sluice:settled";

/** The message that tells the worker how many milliseconds are left. */
export const DEADLINE_MESSAGE = "sluice:hurry";

export const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
