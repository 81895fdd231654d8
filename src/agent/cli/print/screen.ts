/** The whole of a terminal, for a command that draws on it again and again. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Shows these lines from the top, and nothing else. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** What a screen tells of. */
export interface ScreenEvents {
  /** A key, as the terminal sends it; Ctrl-C and a signal to end are told as `q`. */
  onKey(key: string): void;
  onResize(): void;
}

const ENTER = "\u001b[?1049h\u001b[?25l";
const LEAVE = "\u001b[?25h\u001b[?1049l";
const CTRL_C = "\u0003";

/** Takes the terminal over; undefined when nobody sits at one. Its other screen is used, so what was there comes back. */
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
