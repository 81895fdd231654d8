import { pino } from "pino";
import { keepAliveTimer, waitAtMost } from "#contract";
import { onProcessExit } from "./at-exit.js";
import type { PinoDestination } from "./destination.js";
import { formatFromMessage } from "./line-format.js";
import { LostLines, writeToStderr } from "./lost-lines.js";
import { SharedCounts } from "./shared-counts.js";
import { DEADLINE_MESSAGE, DEFAULT_MAX_BYTES, type PinoTransportOptions, SETTLED_EVENT } from "./worker.js";

/** As for the transport in pino's worker. */
export interface SupervisedOptions extends PinoTransportOptions {
  /** The module that the worker runs. */
  readonly target?: string;
}

/** A worker that does not come up, or settles nothing before it dies, is started again after this, twice this and so on. */
const RESTART_DELAY_MS = 200;
const MAX_RESTART_DELAY_MS = 5000;
/** After so many workers in a row that settled nothing, Sluice gives up (on the worker, or on the lines it dies of). */
const MAX_FAILED_WORKERS = 3;
/** Lines that are dropped as lost when that many workers died of them: no worker has more in flight at once. */
const MAX_LINES_IN_FLIGHT = 500;
const END_MS = 10_000;
/** How much later than it should a worker may have settled its lines. */
const GRACE_MS = 3000;

/** Pino's types leave out what keeps a process alive. */
type WorkerStream = ReturnType<typeof pino.transport> & {
  ref(): void;
  unref(): void;
  readonly closed: boolean;
  readonly worker: { terminate(): Promise<number> };
};

/**
 * Pino's worker with somebody to look after it: `pino(sluiceTransport({ file: "sluice.yaml" }))`.
 *
 * Every line is kept here until the worker says that it is settled. When the worker dies, another one is started and
 * gets all that is not settled: lines may then arrive twice, but none is lost. Lines of which one worker after the other
 * dies are counted and reported as lost; when no worker comes up, or the process ends without one, all are.
 */
export class SupervisedTransport implements PinoDestination {
  readonly writable = true;
  private readonly options: SupervisedOptions;
  private readonly lost = new LostLines();
  private stream: WorkerStream | undefined;
  private lines: string[] = [];
  private bytes = 0;
  /** Lines that were taken, and those of them that are not kept any more. */
  private acceptedCount = 0;
  private settledCount = 0;
  private isEnded = false;
  /** Workers in a row that settled nothing. */
  private failedWorkers = 0;
  /** Why no line is taken any more. */
  private giveUpReason: string | undefined;
  /** Who waits until so many lines are gone. */
  private settleWaiters: { readonly lines: number; readonly callback: () => void }[] = [];
  /** What pino said of its lines, for the next worker. */
  private format: unknown;
  private counts = new SharedCounts();
  /** When all must be settled, in the end. */
  private deadline: number | undefined;
  private readonly removeExitHandler: () => void;

  constructor(options: SupervisedOptions) {
    this.options = options;
    this.removeExitHandler = onProcessExit(() => this.endAtExit());
    this.startWorker();
  }

  /** Lines that were not delivered, as far as it is known, and that are not kept any more. */
  get lostLines(): number {
    return this.lost.count;
  }

  write(text: string): void {
    // The worker counts lines, so each is one here too.
    if (text === "") return;
    if (text.indexOf("\n") === text.length - 1) this.take(text);
    else for (const line of text.replace(/\n$/, "").split("\n")) this.take(`${line}\n`);
  }

  flush(callback?: (error?: Error) => void): void {
    if (callback === undefined) return;
    if (this.lines.length === 0) setImmediate(callback);
    else this.callWhenSettled(callback);
  }

  /** By this pino tells how it writes its lines. */
  emit(event: string, message: unknown): boolean {
    if (event !== "message" || formatFromMessage(message) === undefined) return false;
    this.format = message;
    return this.stream?.emit(event, message) ?? false;
  }

  /**
   * Takes no more; resolves when everything is settled and the worker has ended. What is not delivered after `timeoutMs`
   * is counted and reported as lost.
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
    // The end of the process is seen to here: pino would wait for a worker that is gone, and throw.
    const worker = { autoEnd: false };
    const stream = pino.transport({ target, options: { ...options, counts: counts.memory }, worker }) as WorkerStream;
    let reason = "it has ended";
    stream.on("error", (error: Error) => {
      reason = error.message;
    });
    stream.on("ready", () => {
      counts.markUp();
      // Pino lets go of its worker now, which `end` may already wait for.
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

  /** Reads what the worker has settled since the last read. The worker itself has reported what is lost of it. */
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
      this.dropAsLost(MAX_LINES_IN_FLIGHT, `${MAX_FAILED_WORKERS} workers died of them (${reason})`);
      this.failedWorkers = 0;
    }
    writeToStderr(`the worker is gone (${reason}); starting another one for ${this.lines.length} unsettled lines`);
    const restart = setTimeout(
      () => this.startWorker(),
      Math.min(Math.max(this.failedWorkers - 1, 0) * RESTART_DELAY_MS, MAX_RESTART_DELAY_MS),
    );
    if (this.lines.length === 0 && this.settleWaiters.length === 0) restart.unref(); // nobody would miss it
  }

  /** Resolves when nothing is left to settle; the worker is told how long it has, and not waited for much longer. */
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

  /** Calls back when all lines until now are gone. Pino's worker does not keep the process alive; somebody who waits does. */
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

  /** The process exits, and no event comes any more: the worker has some seconds for what it can still do. */
  private endAtExit(): void {
    try {
      this.stream?.flushSync();
      this.stream?.end();
    } catch {
      // It is gone.
    }
    this.readCounts();
    this.lost.add(this.lines.length, "the process has ended");
    this.lost.reportRest();
  }
}

/** A stream for pino that starts its worker again when that dies, and counts what is lost. */
export function sluiceTransport(options: SupervisedOptions): SupervisedTransport {
  return new SupervisedTransport(options);
}
