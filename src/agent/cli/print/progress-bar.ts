import type { Output } from "../terminal.js";

interface Progress {
  show(done: number, total: number): void;
  /** Removes the bar. */
  end(): void;
}

const WIDTH = 30;

/** A progress bar on a terminal; prints nothing elsewhere. */
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
