import { lineWidth } from "./fit-line.js";

/** A part of the terminal that a command redraws in place, below lines that stay. */
export interface Region {
  readonly columns: number;
  readonly rows: number;
  /** Writes lines above the region. They stay, and scroll away as usual. */
  print(lines: readonly string[]): void;
  /** Replaces the lines of the region. */
  draw(lines: readonly string[]): void;
  /** True while the terminal has not taken everything that was written. */
  readonly isBusy: boolean;
  /** Removes the region, and restores the terminal. */
  close(): void;
}

/** Callbacks of a region. */
interface RegionEvents {
  /** Each key as the terminal sends it: a character, or an escape sequence. */
  onKey(key: string): void;
  onResize(): void;
}

type RegionStreams = Pick<NodeJS.Process, "stdin" | "stdout">;

/** Lines of the region are cut at the last column, whatever their characters: a wrapped line would spoil the count. */
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";

/** Takes over the lower end of the terminal; undefined when there is none. */
export function openRegion({ stdin, stdout }: RegionStreams, events: RegionEvents): Region | undefined {
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  let shown: readonly string[] = [];
  // A terminal that was made narrower since may have wrapped the lines.
  const shownRows = () =>
    shown.reduce((rows, line) => rows + Math.max(1, Math.ceil(lineWidth(line) / (stdout.columns || 80))), 0);
  const erase = () => (shown.length === 0 ? "\r\u001b[J" : `\r\u001b[${shownRows()}A\u001b[J`);
  const text = (lines: readonly string[]) => lines.map((line) => `${line}\u001b[0m\r\n`).join("");
  const onData = (data: Buffer | string) => {
    for (const key of keysIn(String(data))) events.onKey(key);
  };
  stdin.setRawMode(true).resume().on("data", onData);
  stdout.on("resize", events.onResize);
  stdout.write(HIDE_CURSOR);
  const write = (above: readonly string[], below: readonly string[]) => {
    stdout.write(`${erase()}${text(above)}${NO_WRAP}${text(below)}${WRAP}`);
    shown = below;
  };
  return {
    get columns() {
      return stdout.columns || 80;
    },
    get rows() {
      return stdout.rows || 24;
    },
    get isBusy() {
      return stdout.writableNeedDrain;
    },
    print: (lines) => write(lines, shown),
    draw: (lines) => write([], lines),
    close() {
      stdin.off("data", onData).setRawMode(false).pause();
      stdout.off("resize", events.onResize).write(`${erase()}${SHOW_CURSOR}`);
      shown = [];
    },
  };
}

/** A terminal may send several keys at once, as when a text is pasted. */
function keysIn(data: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
  return data.match(/\u001b(?:\[[0-9;?]*[ -/]*[@-~]|O.)?|[\s\S]/gu) ?? [];
}
