import { pino } from "pino";
import type { PinoDestination } from "./destination.js";
import { LostLines, say } from "./lost-lines.js";
import { type PinoTransportOptions, SETTLED } from "./worker.js";

/** As for the transport in pino's worker, and how much may wait. */
export interface SupervisedOptions extends PinoTransportOptions {
  /** Bytes of lines that may be unsettled; what comes beyond is counted and reported as lost. 64 MiB. */
  readonly maxBytes?: number;
  /** The module that the worker runs. */
  readonly target?: string;
}

const MAX_BYTES = 64 * 1024 * 1024;
/** A worker that does not come up is started again after this, twice this and so on, so many times. */
const AGAIN_MS = 200;
const ATTEMPTS = 3;

/** Its types leave out what keeps a process alive. */
type Stream = ReturnType<typeof pino.transport> & { ref(): void; unref(): void };

/**
 * Pino's worker with somebody to look after it: `pino(sluiceTransport({ file: "sluice.yaml" }))`.
 *
 * Every line is kept here until the worker says that it is settled. When the worker dies, another one is started and
 * gets all that is not settled: lines may then arrive twice, but none is lost. When no worker comes up, all lines are
 * counted and reported as lost.
 */
export class SupervisedTransport implements PinoDestination {
  readonly writable = true;
  private readonly options: SupervisedOptions;
  private readonly lost = new LostLines();
  private stream: Stream | undefined;
  private lines: string[] = [];
  private bytes = 0;
  private isEnded = false;
  private failedStarts = 0;
  /** Why no line is taken any more. */
  private hopeless: string | undefined;
  private readonly waiting: (() => void)[] = [];

  constructor(options: SupervisedOptions) {
    this.options = options;
    this.launch();
  }

  /** Lines that no worker has settled and that are not kept any more. */
  get lostLines(): number {
    return this.lost.count;
  }

  write(line: string): void {
    const { maxBytes = MAX_BYTES } = this.options;
    if (this.isEnded) return this.lost.add(1, "the transport was ended");
    if (this.hopeless !== undefined) return this.lost.add(1, this.hopeless);
    if (this.bytes + line.length > maxBytes) {
      return this.lost.add(1, `over ${maxBytes} bytes of lines are unsettled`);
    }
    this.lines.push(line);
    this.bytes += line.length;
    this.stream?.write(line);
  }

  flush(callback?: (error?: Error) => void): void {
    if (callback === undefined) return;
    if (this.lines.length === 0) setImmediate(callback);
    else this.wait(callback);
  }

  /** Takes no more; resolves when everything is settled and the worker has ended. */
  async end(): Promise<void> {
    this.isEnded = true;
    if (this.lines.length > 0) await new Promise<void>((resolve) => this.wait(resolve));
    const { stream } = this;
    if (stream !== undefined) {
      const closed = new Promise<void>((resolve) => stream.once("close", resolve));
      stream.ref();
      stream.end();
      await closed;
    }
    this.lost.sayRest();
  }

  private launch(): void {
    if (this.isEnded && this.lines.length === 0) return;
    const { maxBytes: _, target = import.meta.resolve("sluice/pino"), ...options } = this.options;
    const stream = pino.transport({ target, options }) as Stream;
    let reason = "it has ended";
    stream.on("error", (error: Error) => {
      reason = error.message;
    });
    stream.on("ready", () => {
      this.failedStarts = -1;
      if (this.waiting.length > 0) stream.ref();
    });
    stream.on(SETTLED, (lines: number) => {
      if (this.stream === stream) this.settle(lines);
    });
    stream.on("close", () => {
      this.stream = undefined;
      if (!this.isEnded || this.lines.length > 0) this.replace(reason);
    });
    this.stream = stream;
    for (const line of this.lines) stream.write(line);
  }

  private replace(reason: string): void {
    this.failedStarts += 1;
    if (this.failedStarts >= ATTEMPTS) {
      this.hopeless = `the worker does not start: ${reason}`;
      this.lost.add(this.lines.length, this.hopeless);
      return this.settle(this.lines.length);
    }
    say(`the worker is gone (${reason}); starting another one for ${this.lines.length} unsettled lines`);
    setTimeout(() => this.launch(), this.failedStarts * AGAIN_MS);
  }

  /** Pino's worker does not keep the process alive; somebody who waits for it does. */
  private wait(callback: () => void): void {
    this.waiting.push(callback);
    this.stream?.ref();
  }

  private settle(count: number): void {
    for (const line of this.lines.splice(0, count)) this.bytes -= line.length;
    if (this.lines.length > 0) return;
    this.stream?.unref();
    for (const callback of this.waiting.splice(0)) callback();
  }
}

/** A stream for pino that starts its worker again when that dies, and counts what is lost. */
export function sluiceTransport(options: SupervisedOptions): SupervisedTransport {
  return new SupervisedTransport(options);
}
