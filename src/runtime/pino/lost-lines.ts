import { writeSync } from "node:fs";

const STDERR = 2;
const QUIET_MS = 10_000;

/**
 * Says on stderr how many log lines were not delivered, and why: at once, then at most every ten seconds, and whatever
 * is left when asked to. Written directly, so that it is there also when a thread or the process is about to end.
 */
export class LostLines {
  /** All so far. */
  count = 0;
  private unsaid = 0;
  private reason = "";
  private saidAt = Number.NEGATIVE_INFINITY;
  private readonly say: (text: string) => void;

  constructor(report = say) {
    this.say = report;
  }

  add(lines: number, reason: string): void {
    if (lines === 0) return;
    this.count += lines;
    this.unsaid += lines;
    this.reason = reason;
    if (performance.now() - this.saidAt >= QUIET_MS) this.sayRest();
  }

  sayRest(): void {
    if (this.unsaid === 0) return;
    this.say(`${this.unsaid} log lines were not delivered: ${this.reason}`);
    this.unsaid = 0;
    this.saidAt = performance.now();
  }
}

/** A line on stderr. Never throws: who cannot be told cannot be told. */
export function say(text: string): void {
  try {
    writeSync(STDERR, `sluice/pino: ${text}\n`);
  } catch {
    // stderr is closed, or a pipe that nobody reads is full.
  }
}
