import process from "node:process";

/**
 * How long work may hold the event loop before other work gets its turn, in milliseconds. One slice may take longer than
 * estimated, and several may meet in one turn, so this is well below the 100 ms that nothing may exceed.
 */
export const SLICE_MS = 20;

/**
 * Shares the event loop between pieces of work that may take long. Such work is cut into slices, and asks between two of
 * them whether the turn of the event loop is over. A turn lasts about `SLICE_MS`, whoever spends it: a hundred clients
 * whose data arrive together have one turn, not one each. Whoever has more to do waits for `next`. However many are
 * waiting, one of them gets the next turn, in the order they asked. In between, the event loop serves everything else.
 */
class Turns {
  /** The number of slices since the process started. */
  slices = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly measured: (() => void)[] = [];
  /** When the first work of this turn began, if there was any. */
  private startedAt: number | undefined;
  private isScheduled = false;

  /** Called by work that may take long when it begins. Returns when the first such work of this turn began. */
  begin(): number {
    this.startedAt ??= performance.now();
    this.schedule();
    return this.startedAt;
  }

  /** Whether work that is under way has to wait for the next turn. */
  get isOver(): boolean {
    return performance.now() - this.begin() > SLICE_MS;
  }

  /** Whether another slice may begin in the current turn of the event loop. */
  get hasTime(): boolean {
    return this.waiting.length === 0 && !this.isOver;
  }

  /** Resolves when the caller may begin its next slice. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.schedule();
    });
  }

  /**
   * Runs a slice and counts its duration. Returns its duration in milliseconds. `onTurnEnd` gets the cost of the whole
   * turn (see `Stopwatch`), with everything that the slice caused to run later in the turn, before anyone else gets the
   * next turn.
   */
  run(slice: () => void, onTurnEnd?: (ms: number) => void): number {
    this.begin();
    const start = performance.now();
    if (onTurnEnd !== undefined) {
      const stopwatch = new Stopwatch();
      this.measured.push(() => onTurnEnd(stopwatch.ms));
    }
    try {
      slice();
    } finally {
      this.slices++;
    }
    return performance.now() - start;
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.startedAt = undefined;
      if (this.measured.length > 0) for (const tell of this.measured.splice(0)) tell();
      if (this.waiting.length > 1) this.schedule();
      this.waiting.shift()?.();
    });
  }
}

/** There is one event loop, so all agents of a process share its turns. */
export const turns = new Turns();

/**
 * Measures what work costs this thread. Elapsed time alone says little on a busy machine: while others have the
 * processor, the cheapest work takes long, and slicing it would only make it dearer. CPU time counts other threads, too,
 * where Node.js cannot tell them apart. So the shorter of both is the cost.
 */
export class Stopwatch {
  private readonly startedAt = performance.now();
  private readonly startedCpuMs = cpuMs();

  /** The cost so far, in milliseconds. */
  get ms(): number {
    return Math.min(performance.now() - this.startedAt, cpuMs() - this.startedCpuMs);
  }
}

/** The CPU time of this thread. Node.js before 22.19 has only that of the process. */
const cpuUsage: () => NodeJS.CpuUsage =
  (process as { threadCpuUsage?: () => NodeJS.CpuUsage }).threadCpuUsage ?? process.cpuUsage;

function cpuMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/** Work that may take long, and stops between its steps, each of which is short. */
export type Steps<T> = Generator<void, T>;

/** Does the work in as many turns of the event loop as it needs: at once if one is enough. */
export function inTurns<T>(work: Steps<T>): T | Promise<T> {
  turns.begin();
  const done = doneInTurn(work);
  return done === undefined ? laterInTurns(work) : done.value;
}

async function laterInTurns<T>(work: Steps<T>): Promise<T> {
  for (;;) {
    turns.slices++;
    await turns.next();
    const done = doneInTurn(work);
    if (done !== undefined) return done.value;
  }
}

/** Undefined if the turn was over before the work was done. */
function doneInTurn<T>(work: Steps<T>): { readonly value: T } | undefined {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step;
    if (turns.isOver) return undefined;
  }
}

/** Does the work without a stop. */
export function atOnce<T>(work: Steps<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** For a loop that may take long: ask `isOver` from time to time, and then wait for `nextSlice`. */
export class SliceTimer {
  constructor() {
    turns.begin();
  }

  get isOver(): boolean {
    return turns.isOver;
  }

  nextSlice(): Promise<void> {
    turns.slices++;
    return turns.next();
  }
}
