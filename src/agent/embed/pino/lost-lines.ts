import { writeSync } from "node:fs";

const STDERR = 2;
const REPORT_INTERVAL_MS = 10_000;

/**
 * Says on stderr how many log lines were not delivered, and why: at once, then at most every ten seconds, and whatever
 * is left when asked to. Written directly, so that it is there also when a thread or the process is about to end.
 */
export class LostLines {
  /** Lines lost so far. */
  count = 0;
  private unreported = 0;
  private reason = "";
  private reportedAt = Number.NEGATIVE_INFINITY;
  private readonly write: (text: string) => void;

  constructor(report = writeToStderr) {
    this.write = report;
  }

  add(lines: number, reason: string): void {
    if (lines === 0) return;
    this.count += lines;
    this.unreported += lines;
    this.reason = reason;
    if (performance.now() - this.reportedAt >= REPORT_INTERVAL_MS) this.reportRest();
  }

  reportRest(): void {
    if (this.unreported === 0) return;
    this.write(`${this.unreported} log lines were not delivered: ${this.reason}`);
    this.unreported = 0;
    this.reportedAt = performance.now();
  }
}

/** A line on stderr. Never throws: who cannot be told cannot be told. */
export function writeToStderr(text: string): void {
  try {
    writeSync(STDERR, `sluice/pino: ${text}\n`);
  } catch {
    // stderr is closed, or a pipe that nobody reads is full.
  }
}
