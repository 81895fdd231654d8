/**
 * A log line for a person at a terminal: time, level, component, sentence, fields. Nothing in it can reach the terminal
 * as a control sequence, wherever it came from.
 */
export function prettyLine(json: string, colours: boolean): string {
  const { time, level, msg, component, kind, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const paint = colours ? colour : plain;
  const head = [paint("dim", timeOfDay(time)), levelLabel(String(level), paint)];
  if (component !== undefined) head.push(paint("cyan", printable([kind, component].filter(Boolean).join(" "))));
  head.push(level === "error" || level === "fatal" ? paint("bold", printable(msg)) : printable(msg));
  const stacks: string[] = [];
  for (const [key, value] of Object.entries(fields)) {
    head.push(`${paint("dim", `${printable(key)}=`)}${fieldText(value)}`);
    stacks.push(...stackOf(value));
  }
  return `${[head.join(" "), ...stacks.map((line) => paint("dim", `    ${line}`))].join("\n")}\n`;
}

type Style = "dim" | "bold" | "red" | "yellow" | "green" | "blue" | "cyan";
type Paint = (style: Style, text: string) => string;

const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 };
const LEVEL_STYLES: Readonly<Record<string, Style>> = {
  debug: "blue",
  info: "green",
  warn: "yellow",
  error: "red",
  fatal: "red",
};

const colour: Paint = (style, text) => `\u001b[${CODES[style]}m${text}\u001b[0m`;
const plain: Paint = (_, text) => text;

function levelLabel(level: string, paint: Paint): string {
  return paint(LEVEL_STYLES[level] ?? "bold", level.toUpperCase().padEnd(5));
}

/** Local time: whoever looks at a terminal has a clock beside it. */
function timeOfDay(time: unknown): string {
  const date = new Date(String(time));
  const two = (n: number) => String(n).padStart(2, "0");
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

function fieldText(value: unknown): string {
  if (isErrorLike(value)) return printable(errorText(value));
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /[\s"=]|^$/.test(text) && typeof value === "string" ? printable(JSON.stringify(text)) : printable(text);
}

interface ErrorLike {
  readonly message: string;
  readonly code?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

function isErrorLike(value: unknown): value is ErrorLike {
  return typeof value === "object" && value !== null && typeof (value as { message?: unknown }).message === "string";
}

/** message (CODE), because message (CODE) */
function errorText({ message, code, cause }: ErrorLike): string {
  const own = code === undefined || message.includes(String(code)) ? message : `${message} (${code})`;
  if (cause === undefined) return own;
  return `${own}, because ${isErrorLike(cause) ? errorText(cause) : String(cause)}`;
}

function stackOf(value: unknown): string[] {
  if (!isErrorLike(value) || typeof value.stack !== "string") return [];
  const frames = value.stack.split("\n").filter((line) => line.trimStart().startsWith("at "));
  return frames.map((line) => printable(line.trim()));
}

/** The text with control characters written as escapes. */
function printable(value: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  return String(value).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
