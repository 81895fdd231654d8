import { type Paint, printable, type Style } from "#text";

/**
 * Formats a log line for a terminal: time, level, component, message, fields. Control sequences in values never reach
 * the terminal.
 */
export function prettyLine(json: string, paint: Paint): string {
  const { time, level, msg, component, kind, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const head = [paint("dim", timeOfDay(time)), levelLabel(String(level), paint)];
  if (component !== undefined) head.push(paint("cyan", `${printable([kind, component].filter(Boolean).join(" "))}:`));
  head.push(level === "error" || level === "fatal" ? paint("bold", printable(String(msg))) : printable(String(msg)));
  const stacks: string[] = [];
  for (const [key, value] of errorsLast(fields)) {
    head.push(`${paint("dim", `${printable(key)}=`)}${fieldText(value)}`);
    stacks.push(...stackOf(value));
  }
  return `${[head.join(" "), ...stacks.map((line) => paint("dim", `    ${line}`))].join("\n")}\n`;
}

const LEVEL_STYLES: Readonly<Record<string, Style>> = {
  debug: "blue",
  info: "green",
  warn: "yellow",
  error: "red",
  fatal: "red",
};

function levelLabel(level: string, paint: Paint): string {
  return paint(LEVEL_STYLES[level] ?? "bold", level.toUpperCase().padEnd(5));
}

/** Local time, as on the user's clock. */
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
  readonly at?: unknown;
  readonly stack?: unknown;
  readonly cause?: unknown;
}

function isErrorLike(value: unknown): value is ErrorLike {
  return typeof value === "object" && value !== null && typeof (value as { message?: unknown }).message === "string";
}

/** Puts errors last, because a field after an error's sentence would read as part of it. */
function errorsLast(fields: Record<string, unknown>): [string, unknown][] {
  return Object.entries(fields).sort(([, a], [, b]) => Number(isErrorLike(a)) - Number(isErrorLike(b)));
}

/** Format: message (CODE) at src/index.ts:12:7, because message (CODE) */
function errorText({ message, code, at, cause }: ErrorLike): string {
  const coded = code === undefined || message.includes(String(code)) ? message : `${message} (${code})`;
  const text = typeof at === "string" ? `${coded} at ${at}` : coded;
  if (cause === undefined) return text;
  return `${text}, because ${isErrorLike(cause) ? errorText(cause) : String(cause)}`;
}

function stackOf(value: unknown): string[] {
  if (!isErrorLike(value) || typeof value.stack !== "string") return [];
  const frames = value.stack.split("\n").filter((line) => line.trimStart().startsWith("at "));
  return frames.map((line) => printable(line.trim()));
}
