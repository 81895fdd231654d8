import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "#contract";
import { encodeLogs } from "../log-batch-builder.js";
import type { Sluice } from "../sluice.js";
import { DEFAULT_FORMAT, type LineFormat } from "./line-format.js";
import { LineQueue } from "./line-queue.js";
import { LostLines } from "./lost-lines.js";
import { recordFromLine } from "./record-from-line.js";

interface LineStreamSettings {
  readonly sluice: Pick<Sluice, "accept" | "stop">;
  readonly resource: Readonly<Record<string, unknown>>;
  /** How long lines are retried after a retryable refusal, in milliseconds. */
  readonly patienceMs: number;
  /** Limit for the waiting lines, in bytes. */
  readonly maxBytes: number;
  /** The format of the lines; may resolve later. */
  readonly format?: () => LineFormat | Promise<LineFormat>;
  /** Called with the number of settled lines, and how many of them were counted as lost. */
  readonly onSettled?: (lines: number, lost: number) => void;
  /** Called with a text about lost lines; default: writes it to stderr. */
  readonly report?: (text: string) => void;
}

const RETRY_MS = 100;
/** Pino waits ten seconds for its worker to end, so undelivered lines must be reported well before that. */
const END_MS = 4000;
const STOP_MS = 2000;

/**
 * Passes pino's lines to a Sluice in this thread.
 *
 * A line is settled when every exporter has accepted it, or when it was counted and reported as lost. Writing never
 * blocks: the caller could not see why, and the process could not end before it. Lines beyond `maxBytes` are lost at
 * once. After a retryable refusal, lines are retried for `patienceMs`; then they are lost. From then on lines are lost
 * at their first refusal, until some are accepted again.
 */
export class LineStream extends Writable {
  private readonly settings: LineStreamSettings;
  private readonly lost: LostLines;
  private readonly queue: LineQueue;
  private isDelivering = false;
  private taken = 0;
  private settled = 0;
  private flushWaiters: { readonly lines: number; readonly resolve: () => void }[] = [];
  private mayRetry = true;
  private endTimer: NodeJS.Timeout | undefined;

  constructor(settings: LineStreamSettings) {
    super({ decodeStrings: false });
    this.settings = settings;
    this.lost = new LostLines(settings.report);
    this.queue = new LineQueue(settings.maxBytes);
  }

  override _write(chunk: string | Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.enqueue(String(chunk));
    done();
  }

  override _final(done: (error?: Error) => void): void {
    this.enqueue(this.queue.incomplete === "" ? "" : "\n");
    const work = this.flush().then(() => this.settings.sluice.stop(STOP_MS));
    void work.then(() => {
      clearTimeout(this.endTimer);
      this.lost.reportRest();
      done();
    });
  }

  override end(...args: []): this {
    this.setDeadline(END_MS);
    return super.end(...args);
  }

  /** Resolves when all lines written so far are settled. Pino's worker calls this for `logger.flush(callback)`. */
  flush(): Promise<void> {
    return new Promise((resolve) => {
      this.flushWaiters.push({ lines: this.taken, resolve });
      this.settle(0, 0);
    });
  }

  /** After this time undelivered lines are lost. */
  setDeadline(ms: number): void {
    clearTimeout(this.endTimer);
    this.endTimer = setTimeout(() => {
      this.mayRetry = false;
      void this.settings.sluice.stop(0);
    }, ms);
  }

  private enqueue(text: string): void {
    const { ended, refused } = this.queue.add(text);
    this.taken += ended;
    this.lost.add(refused, `over ${this.settings.maxBytes} bytes of lines are waiting`);
    if (!this.isDelivering) void this.deliverAll();
  }

  private settle(lines: number, lost: number): void {
    this.settled += lines;
    if (lines > 0) this.settings.onSettled?.(lines, lost);
    const isDone = (each: { readonly lines: number }) => each.lines <= this.settled;
    for (const { resolve } of this.flushWaiters.filter(isDone)) resolve();
    this.flushWaiters = this.flushWaiters.filter((each) => !isDone(each));
  }

  private async deliverAll(): Promise<void> {
    this.isDelivering = true;
    const format = (await this.settings.format?.()) ?? DEFAULT_FORMAT;
    while (!this.queue.isEmpty) {
      const { lines, refused } = this.queue.next();
      const lost = await this.deliver(
        lines.filter((line) => line.trim() !== ""),
        format,
      );
      this.settle(lines.length + refused, lost + refused);
    }
    this.isDelivering = false;
  }

  /** Resolves with the number of lost lines. */
  private async deliver(lines: readonly string[], format: LineFormat): Promise<number> {
    if (lines.length === 0) return 0;
    const { sluice, resource, patienceMs } = this.settings;
    const records = lines.map((line) => recordFromLine(line, format));
    const batch = encodeLogs(records, resource, Date.now());
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const lost = this.countLost(await sluice.accept(batch), batch.count, deadline);
      if (lost !== undefined) return lost;
      await sleep(RETRY_MS);
    }
  }

  /** The number of lost lines; undefined while they are still retried. */
  private countLost(outcome: Outcome, lines: number, deadline: number): number | undefined {
    if (outcome.ok) {
      this.mayRetry = this.endTimer === undefined || this.mayRetry;
      this.lost.add(outcome.rejected, outcome.message);
      return outcome.rejected;
    }
    const { kind, message } = outcome.refusal;
    const isFinal = kind === "permanent";
    if (!isFinal && this.mayRetry && performance.now() < deadline) return undefined;
    if (!isFinal) this.mayRetry = false;
    this.lost.add(lines, message);
    return lines;
  }
}
