import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../contract/delivery.js";
import { encodeLogs } from "../embed/encode-logs.js";
import type { Sluice } from "../embed/sluice.js";
import { recordOfLine } from "./line.js";
import { LostLines } from "./lost-lines.js";

export interface LineStreamSettings {
  readonly sluice: Pick<Sluice, "accept" | "stop">;
  readonly resource: Readonly<Record<string, unknown>>;
  /** How long lines that are refused retryably are offered again. */
  readonly patienceMs: number;
  /** Told how many lines are settled: delivered, or counted as lost. */
  readonly onSettled?: (lines: number) => void;
  /** Told what was lost; writes it to stderr unless told. */
  readonly report?: (text: string) => void;
}

/** Text that is taken before the writer is asked to wait. */
const HIGH_WATER_MARK = 1024 * 1024;
const LINES_A_BATCH = 500;
const RETRY_MS = 100;
/** Pino waits ten seconds for its worker to end; what is not delivered by then must have been reported. */
const END_MS = 4000;
const STOP_MS = 2000;

/**
 * Lines of pino on their way into a Sluice of this thread.
 *
 * A line is settled when every exporter has it, or when it was counted and reported as lost. While lines are refused
 * retryably they are offered again, and the writer waits; when patience is at its end they are lost, and so is what
 * follows at its first refusal, until something is taken again.
 */
export class LineStream extends Writable {
  private readonly settings: LineStreamSettings;
  private readonly lost: LostLines;
  private rest = "";
  private patient = true;
  private ending: NodeJS.Timeout | undefined;

  constructor(settings: LineStreamSettings) {
    super({ decodeStrings: false, highWaterMark: HIGH_WATER_MARK });
    this.settings = settings;
    this.lost = new LostLines(settings.report);
  }

  override _writev(chunks: readonly { readonly chunk: string | Buffer }[], done: (error?: Error) => void): void {
    const text = this.rest + chunks.map(({ chunk }) => String(chunk)).join("");
    const lines = text.split("\n");
    this.rest = lines.pop() ?? "";
    void this.deliverAll(lines).then(() => done());
  }

  override _final(done: (error?: Error) => void): void {
    const lines = this.rest === "" ? [] : [this.rest];
    const work = this.deliverAll(lines).then(() => this.settings.sluice.stop(STOP_MS));
    void work.then(() => {
      clearTimeout(this.ending);
      this.lost.sayRest();
      done();
    });
  }

  override end(...args: []): this {
    this.ending ??= setTimeout(() => {
      this.patient = false;
      void this.settings.sluice.stop(0);
    }, END_MS);
    return super.end(...args);
  }

  private async deliverAll(lines: readonly string[]): Promise<void> {
    for (let at = 0; at < lines.length; at += LINES_A_BATCH) {
      const some = lines.slice(at, at + LINES_A_BATCH);
      await this.deliver(some.filter((line) => line.trim() !== ""));
      this.settings.onSettled?.(some.length);
    }
  }

  private async deliver(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return;
    const { sluice, resource, patienceMs } = this.settings;
    const batch = encodeLogs(lines.map(recordOfLine), resource, Date.now());
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const outcome = await sluice.accept(batch);
      if (this.isOver(outcome, batch.count, deadline)) return;
      await sleep(RETRY_MS);
    }
  }

  /** Whether there is nothing more to be done for these lines. */
  private isOver(outcome: Outcome, lines: number, deadline: number): boolean {
    if (outcome.ok) {
      this.patient = this.ending === undefined || this.patient;
      this.lost.add(outcome.rejected, outcome.message);
      return true;
    }
    const { kind, message } = outcome.refusal;
    const isFinal = kind === "permanent";
    if (!isFinal && this.patient && performance.now() < deadline) return false;
    if (!isFinal) this.patient = false;
    this.lost.add(lines, message);
    return true;
  }
}
