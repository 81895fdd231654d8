import { writeSync } from "node:fs";

const STDERR = 2;
const REPORT_INTERVAL_MS = 10_000;

/**
 * Reports on stderr how many log lines were not delivered, and why: at once, then at most every ten seconds, and the
 * rest on request. Writes synchronously, so that the report appears even if the thread or process is about to end.
 */
export class LostLines {
  /** Number of lines lost so far. */
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

/** Writes a line to stderr. Never throws: if stderr fails, there is nowhere else to report. */
export function writeToStderr(text: string): void {
  try {
    writeSync(STDERR, `sluice/pino: ${text}\n`);
  } catch {
    // stderr is closed, or is a full pipe without a reader.
  }
}
