import type { Output } from "../terminal.js";

export interface Progress {
  show(done: number, total: number): void;
  /** Takes the bar away. */
  end(): void;
}

const WIDTH = 30;

/** A bar for a person who waits; nothing when nobody looks. */
export function progressBar(output: Output): Progress {
  if (!output.isTerminal) return { show() {}, end() {} };
  let shown = "";
  return {
    show(done, total) {
      const filled = total === 0 ? 0 : Math.round((done / total) * WIDTH);
      const text = `[${"#".repeat(filled)}${" ".repeat(WIDTH - filled)}] ${done} of ${total}`;
      if (text !== shown) output.write(`\r\x1b[K${text}`);
      shown = text;
    },
    end() {
      if (shown !== "") output.write("\r\x1b[K");
    },
  };
}
