import { EMPTY, lastValueFrom, Observable, of, retry, takeWhile } from "rxjs";
import type { Clock } from "#contract";
import { pause } from "./waits.js";

interface ReadLoopSettings {
  /**
   * Connects and reads until it fails or the loop stops. Returns, or throws, the reason why reading ended. Calls
   * `onReading` when it works, so that the next failure counts as the first again.
   */
  read(onReading: () => void): Promise<unknown>;
  /** Called with the reason why reading ended, unless the loop stops. */
  onEnd(reason: unknown): void;
  /** Returns the milliseconds to wait before the next `read`, after so many failures in a row; 0 reads again at once. */
  delays(failures: number, reason: unknown): number;
}

/** Reads from a source for as long as the receiver runs: after each failure it waits and reads again. */
export class ReadLoop {
  private readonly clock: Clock;
  private readonly stopping = new AbortController();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  get isStopping(): boolean {
    return this.stopping.signal.aborted;
  }

  /** Resolves when the loop has been stopped and the last `read` has ended. */
  async run({ read, onEnd, delays }: ReadLoopSettings): Promise<void> {
    if (this.isStopping) return;
    const delay = (reason: unknown, failures: number) => {
      if (this.isStopping) return EMPTY;
      onEnd(reason);
      const ms = delays(failures, reason);
      return ms === 0 ? of(undefined) : this.untilNext(ms);
    };
    const reads = readings(read).pipe(retry({ delay, resetOnSuccess: true }));
    await lastValueFrom(reads, { defaultValue: undefined });
  }

  /** Resolves after this time, or at once when the loop stops. */
  pause(ms: number): Promise<void> {
    return pause(ms, this.clock, this.stopping.signal);
  }

  /** Ends all pauses; `run` resolves after the current `read`. */
  stop(): void {
    this.stopping.abort();
  }

  private untilNext(ms: number): Observable<void> {
    return new Observable<void>((waiting) => void this.pause(ms).then(() => waiting.next())).pipe(
      takeWhile(() => !this.isStopping),
    );
  }
}

/** Emits whenever reading works, and always ends with an error: the reason why reading ended. */
function readings(read: ReadLoopSettings["read"]): Observable<void> {
  return new Observable<void>((reader) => {
    const end = (reason: unknown) => reader.error(reason);
    void read(() => reader.next()).then(end, end);
  });
}
