import type { Output } from "../terminal.js";

/** Shows on a terminal how much is done. */
export class RehearsalProgress {
  private readonly err: Output;
  private shown = "";

  constructor(err: Output) {
    this.err = err;
  }

  show(text: string): void {
    if (!this.err.isTerminal || text === this.shown) return;
    this.err.write(`\r${text.padEnd(this.shown.length)}`);
    this.shown = text;
  }

  clear(): void {
    if (this.shown !== "") this.err.write(`\r${" ".repeat(this.shown.length)}\r`);
    this.shown = "";
  }
}
