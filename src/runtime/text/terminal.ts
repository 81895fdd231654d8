import type { WriteStream } from "node:tty";

/** Text from outside on its way to a person: removal of terminal control, and colours for our own text. */

/**
 * Control characters, changes of direction, line separators, annotations, and tags, which are invisible copies of
 * ASCII. A tag is a pair of code units.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
  /[\u0000-\u001f\u007f-\u009f\u061c\u180e\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb]|\udb40(?=[\udc00-\udc7f])|(?<=\udb40)[\udc00-\udc7f]/g;

/**
 * The text with everything that a terminal might interpret or hide (control characters, changes of direction) written
 * as escapes.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeCharacter);
}

/**
 * A value as equivalent JSON. JSON escapes control characters by itself, but not everything that a terminal might
 * interpret; the rest is escaped here, because people also read JSON directly in a terminal.
 */
export function printableJson(
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
  indent?: number,
): string {
  return JSON.stringify(value, replacer, indent).split("\n").map(printable).join("\n");
}

/** The styles of a text. */
export type Style = "dim" | "bold" | "red" | "yellow" | "green" | "blue" | "magenta" | "cyan";

/** Colours a text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

/**
 * Uses colours if the stream is a terminal that supports them, which includes checking NO_COLOR. Otherwise texts stay
 * plain.
 */
export function painterFor(stream: NodeJS.WritableStream, isTerminal = isTty(stream)): Paint {
  return painter(isTerminal && ((stream as Partial<WriteStream>).hasColors?.() ?? true));
}

export function painter(hasColours: boolean): Paint {
  return hasColours ? coloured : plain;
}

const ANSI_CODES: Readonly<Record<Style, number>> = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
};

const coloured: Paint = (style, text) => (text === "" ? "" : `\u001b[${ANSI_CODES[style]}m${text}\u001b[0m`);
const plain: Paint = (_, text) => text;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escapeCharacter(character: string): string {
  return SHORT_ESCAPES[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function isTty(stream: NodeJS.WritableStream): boolean {
  return (stream as Partial<WriteStream>).isTTY === true;
}
