import { pino } from "pino";
import { keepAliveTimer, waitAtMost } from "#contract/time";
import { onProcessExit } from "./at-exit.js";
import type { PinoDestination } from "./destination.js";
import { formatFromMessage } from "./line-format.js";
import { LostLines, writeToStderr } from "./lost-lines.js";
import { DEADLINE_MESSAGE, DEFAULT_MAX_BYTES, SETTLED_EVENT, SharedCounts } from "./shared-counts.js";
import type { PinoTransportOptions } from "./worker.js";

/** Options of pino's worker transport, and of its supervision. */
export interface SupervisedOptions extends PinoTransportOptions {
  /** The module that the worker runs. */
  readonly target?: string;
}

/** Delay added for every further worker in a row that did not start, or died without settling a line. */
const RESTART_DELAY_MS = 200;
const MAX_RESTART_DELAY_MS = 5000;
/**
 * After this many workers in a row that settled nothing, the transport gives up on the worker, or on the lines that
 * kill it.
 */
const MAX_FAILED_WORKERS = 3;
/** Number of lines dropped as lost after that many workers have died of them: no worker has more in flight. */
const MAX_LINES_IN_FLIGHT = 500;
const END_MS = 10_000;
/** Extra time, in milliseconds, that a worker may take to settle its lines. */
const GRACE_MS = 3000;

/** Pino's types lack the methods that keep a process alive. */
type WorkerStream = ReturnType<typeof pino.transport> & {
  ref(): void;
  unref(): void;
  readonly closed: boolean;
  readonly worker: { terminate(): Promise<number> };
};

/**
 * Pino's worker with supervision: `pino(sluiceTransport({ file: "sluice.yaml" }))`.
 *
 * Every line is kept here until the worker has settled it. When the worker dies, a new one is started and gets all
 * unsettled lines: lines may then arrive twice, but none is lost. If workers die repeatedly, the lines in flight are
 * counted and reported as lost. If no worker starts, or the process ends without one, all lines are.
 */
export class SupervisedTransport implements PinoDestination {
  readonly writable = true;
  private readonly options: SupervisedOptions;
  private readonly lost = new LostLines();
  private stream: WorkerStream | undefined;
  private lines: string[] = [];
  private bytes = 0;
  /** Number of accepted lines, and how many of them are no longer kept. */
  private acceptedCount = 0;
  private settledCount = 0;
  private isEnded = false;
  /** Number of workers in a row that settled nothing. */
  private failedWorkers = 0;
  /** Set when no more lines are accepted. */
  private giveUpReason: string | undefined;
  /** Callbacks to run when this many lines are settled. */
  private settleWaiters: { readonly lines: number; readonly callback: () => void }[] = [];
  /** Pino's message about its format, kept for the next worker. */
  private format: unknown;
  private counts = new SharedCounts();
  /** Set by `end`: the time by which everything must be settled. */
  private deadline: number | undefined;
  private readonly removeExitHandler: () => void;

  constructor(options: SupervisedOptions) {
    this.options = options;
    this.removeExitHandler = onProcessExit(() => this.endAtExit());
    this.startWorker();
  }

  /** Number of lines known to be lost. */
  get lostLines(): number {
    return this.lost.count;
  }

  write(text: string): void {
    // The worker counts lines, so each line must be counted here too.
    if (text === "") return;
    if (text.indexOf("\n") === text.length - 1) this.take(text);
    else for (const line of text.replace(/\n$/, "").split("\n")) this.take(`${line}\n`);
  }

  flush(callback?: (error?: Error) => void): void {
    if (callback === undefined) return;
    if (this.lines.length === 0) setImmediate(callback);
    else this.callWhenSettled(callback);
  }

  /** Pino calls this with its format settings. */
  emit(event: string, message: unknown): boolean {
    if (event !== "message" || formatFromMessage(message) === undefined) return false;
    this.format = message;
    return this.stream?.emit(event, message) ?? false;
  }

  /**
   * Accepts no more lines; resolves when everything is settled and the worker has ended. Lines undelivered after
   * `timeoutMs` are counted and reported as lost.
   */
  async end(timeoutMs = END_MS): Promise<void> {
    this.isEnded = true;
    if (this.lines.length > 0) await this.settledWithin(timeoutMs);
    const { stream } = this;
    if (stream !== undefined && !stream.closed) {
      const closed = new Promise<void>((resolve) => stream.once("close", resolve));
      stream.ref();
      stream.end();
      await closed;
    }
    this.lost.reportRest();
    this.removeExitHandler();
  }

  private take(line: string): void {
    const { maxBytes = DEFAULT_MAX_BYTES } = this.options;
    if (this.isEnded) return this.lost.add(1, "the transport was ended");
    if (this.giveUpReason !== undefined) return this.lost.add(1, this.giveUpReason);
    if (this.bytes + line.length > maxBytes) {
      return this.lost.add(1, `over ${maxBytes} bytes of lines are unsettled`);
    }
    this.lines.push(line);
    this.acceptedCount += 1;
    this.bytes += line.length;
    this.stream?.write(line);
  }

  private startWorker(): void {
    if (this.isEnded && this.lines.length === 0) return;
    const { target = import.meta.resolve("sluice/pino"), ...options } = this.options;
    const counts = new SharedCounts();
    this.counts = counts;
    // This class handles the end of the process itself: pino would wait for a worker that has died, and throw.
    const worker = { autoEnd: false };
    const stream = pino.transport({ target, options: { ...options, counts: counts.memory }, worker }) as WorkerStream;
    let reason = "it has ended";
    stream.on("error", (error: Error) => {
      reason = error.message;
    });
    stream.on("ready", () => {
      counts.markUp();
      // Pino unrefs its worker now, but `end` may already be waiting for it.
      if (this.isEnded || this.settleWaiters.length > 0) stream.ref();
    });
    stream.on(SETTLED_EVENT, () => {
      if (this.stream === stream) this.readCounts();
    });
    stream.on("close", () => {
      this.readCounts();
      this.stream = undefined;
      if (!this.isEnded || this.lines.length > 0) this.restartWorker(reason, counts.isUp);
    });
    this.stream = stream;
    if (this.format !== undefined) stream.emit("message", this.format);
    this.sendDeadline();
    for (const line of this.lines) stream.write(line);
  }

  /** Reads how many lines the worker has settled since the last read. The worker has already reported the lost ones. */
  private readCounts(): void {
    const { settled, lost } = this.counts.takeNew();
    this.lost.count += lost;
    if (settled > 0) this.failedWorkers = 0;
    this.settle(settled);
  }

  private restartWorker(reason: string, wasUp: boolean): void {
    this.failedWorkers += 1;
    if (this.failedWorkers >= MAX_FAILED_WORKERS && !wasUp) {
      this.giveUpReason = `the worker does not start: ${reason}`;
      return this.dropAsLost(this.lines.length, this.giveUpReason);
    }
    if (this.failedWorkers >= MAX_FAILED_WORKERS && this.lines.length > 0) {
      this.dropAsLost(MAX_LINES_IN_FLIGHT, `${MAX_FAILED_WORKERS} workers crashed while processing them (${reason})`);
      this.failedWorkers = 0;
    }
    writeToStderr(`the worker has exited (${reason}); starting another one for ${this.lines.length} unsettled lines`);
    const restart = setTimeout(
      () => this.startWorker(),
      Math.min(Math.max(this.failedWorkers - 1, 0) * RESTART_DELAY_MS, MAX_RESTART_DELAY_MS),
    );
    if (this.lines.length === 0 && this.settleWaiters.length === 0) restart.unref(); // no caller waits for it
  }

  /** Resolves when nothing is left to settle. Tells the worker how long it has, and waits only a little longer. */
  private async settledWithin(timeoutMs: number): Promise<void> {
    this.deadline = performance.now() + timeoutMs;
    this.sendDeadline();
    const settled = new Promise<void>((resolve) => this.callWhenSettled(resolve));
    await waitAtMost(timeoutMs + GRACE_MS, settled, keepAliveTimer);
    if (this.lines.length === 0) return;
    this.dropAsLost(this.lines.length, "the worker did not settle them in time");
    await this.stream?.worker.terminate();
  }

  private sendDeadline(): void {
    if (this.deadline === undefined) return;
    const ms = Math.max(this.deadline - performance.now(), 0);
    this.stream?.emit("message", { code: DEADLINE_MESSAGE, ms });
  }

  /**
   * Calls back when all lines accepted so far are settled. Pino's worker does not keep the process alive, but a waiting
   * caller must.
   */
  private callWhenSettled(callback: () => void): void {
    this.settleWaiters.push({ lines: this.acceptedCount, callback });
    this.stream?.ref();
  }

  private dropAsLost(count: number, reason: string): void {
    this.lost.add(Math.min(count, this.lines.length), reason);
    this.settle(count);
  }

  private settle(count: number): void {
    const settledLines = this.lines.splice(0, count);
    for (const line of settledLines) this.bytes -= line.length;
    this.settledCount += settledLines.length;
    const done = this.settleWaiters.filter(({ lines }) => lines <= this.settledCount);
    this.settleWaiters = this.settleWaiters.filter(({ lines }) => lines > this.settledCount);
    if (this.settleWaiters.length === 0) this.stream?.unref();
    for (const { callback } of done) callback();
  }

  /** Called when the process exits and no more events arrive: gives the worker a few seconds to finish. */
  private endAtExit(): void {
    try {
      this.stream?.flushSync();
      this.stream?.end();
    } catch {
      // The worker has already ended.
    }
    this.readCounts();
    this.lost.add(this.lines.length, "the process has ended");
    this.lost.reportRest();
  }
}

/** A stream for pino that restarts its worker when it dies, and counts lost lines. */
export function sluiceTransport(options: SupervisedOptions): SupervisedTransport {
  return new SupervisedTransport(options);
}
