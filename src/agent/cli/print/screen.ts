/** A full-screen terminal that a command redraws repeatedly. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Clears the screen and shows these lines. */
  draw(lines: readonly string[]): void;
  /** Restores the terminal. */
  close(): void;
}

/** Callbacks of a screen. */
interface ScreenEvents {
  /** A key, as the terminal sends it. Ctrl-C and termination signals come as `q`. */
  onKey(key: string): void;
  onResize(): void;
}

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const CTRL_C = "\u0003";

/**
 * Takes over the terminal; undefined when there is none. Uses the alternate screen, so the previous content comes back.
 */
export function openScreen(process: ScreenProcess, events: ScreenEvents): Screen | undefined {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  const onData = (data: Buffer | string) => {
    const key = String(data);
    events.onKey(key === CTRL_C ? "q" : key);
  };
  const onSignal = () => events.onKey("q");
  stdin.setRawMode(true).resume().on("data", onData);
  stdout.on("resize", events.onResize);
  for (const signal of SIGNALS_TO_END) process.on(signal, onSignal);
  stdout.write(ENTER);
  return {
    get columns() {
      return stdout.columns;
    },
    get rows() {
      return stdout.rows;
    },
    draw: (lines) => void stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K`).join("\r\n")}\u001b[J`),
    close() {
      stdin.off("data", onData).setRawMode(false).pause();
      stdout.off("resize", events.onResize).write(LEAVE);
      for (const signal of SIGNALS_TO_END) process.off(signal, onSignal);
    },
  };
}

const SIGNALS_TO_END = ["SIGTERM", "SIGHUP", "SIGINT"] as const;

interface ScreenProcess extends Pick<NodeJS.Process, "stdin" | "stdout"> {
  on(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}
