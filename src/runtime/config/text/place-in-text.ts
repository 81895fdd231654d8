import type { ScalarNode } from "./node.js";
import type { Place } from "./problem.js";

/**
 * Place of [offset, offset + length) of a scalar's text in its file, following YAML's quotes, escapes, indentation and
 * folding. If substitution has changed the text, searches for the same words (the same occurrence of them), and falls
 * back to the beginning of the scalar.
 */
export function placeInText(node: ScalarNode, offset: number, length: number): Place {
  const { source, start, end, text } = node;
  const raw = source.text.slice(start, end);
  const at = raw === text ? offset : (alignedOffset(raw, text, offset) ?? searchedOffset(raw, text, offset, length));
  return source.placeAt(start + at);
}

/** The offset in `raw` where text[offset] begins; undefined when the two do not match. */
function alignedOffset(raw: string, text: string, offset: number): number | undefined {
  const style = raw[0] === '"' || raw[0] === "'" || raw[0] === "|" || raw[0] === ">" ? raw[0] : "";
  const isBlock = style === "|" || style === ">";
  const header = isBlock ? (/^[^\n]*\n/.exec(raw)?.[0].length ?? raw.length) : style.length;
  const indent = isBlock ? (/^ *(?=[^\s])/m.exec(raw.slice(header))?.[0].length ?? 0) : 0;
  let at = isBlock ? skipSpaces(raw, header, indent) : header;
  for (let i = 0; i < offset; ) {
    const step = isBlock ? blockStep(raw, at, text, i, indent, style === ">") : flowStep(raw, at, text, i, style);
    if (step === undefined) return undefined;
    at += step.raw;
    i += step.text;
  }
  return style === '"' ? at + ESCAPED_LINE_ENDS.exec(raw.slice(at))![0].length : at;
}

/** Escaped line breaks, which add nothing to the text: the next character comes after them. */
const ESCAPED_LINE_ENDS = /^(?:\\\r?\n[ \t]*)*/;

/** The number of characters in the file, and of the characters in the text that they produce. */
interface TextStep {
  readonly raw: number;
  readonly text: number;
}

const sameCharacter = (raw: string, at: number, text: string, i: number): TextStep | undefined =>
  raw[at] !== undefined && raw[at] === text[i] ? { raw: 1, text: 1 } : undefined;

function flowStep(raw: string, at: number, text: string, i: number, style: string): TextStep | undefined {
  if (style === '"' && raw[at] === "\\") return escapeStep(raw, at, text, i);
  if (style === "'" && raw.startsWith("''", at)) return text[i] === "'" ? { raw: 2, text: 1 } : undefined;
  const lines = /^[ \t]*\r?\n\s*/.exec(raw.slice(at, at + 1000))?.[0];
  if (lines === undefined) return sameCharacter(raw, at, text, i);
  return foldStep(lines, lines.split("\n").length - 1, text, i);
}

function escapeStep(raw: string, at: number, text: string, i: number): TextStep | undefined {
  const match = /^\\(?:x..|u....|U.{8}|\r?\n[ \t]*|.)/s.exec(raw.slice(at, at + 200))?.[0];
  if (match === undefined) return undefined;
  if (/^\\\r?\n/.test(match)) return { raw: match.length, text: 0 };
  return { raw: match.length, text: text.codePointAt(i)! > 0xffff ? 2 : 1 };
}

/** A single line break becomes a space; several become one fewer. */
function foldStep(lines: string, ends: number, text: string, i: number): TextStep | undefined {
  if (ends === 1) return text[i] === " " ? { raw: lines.length, text: 1 } : undefined;
  return text.startsWith("\n".repeat(ends - 1), i) ? { raw: lines.length, text: ends - 1 } : undefined;
}

function blockStep(
  raw: string,
  at: number,
  text: string,
  i: number,
  indent: number,
  isFolded: boolean,
): TextStep | undefined {
  const lineEnd = raw.startsWith("\r\n", at) ? 2 : raw[at] === "\n" ? 1 : 0;
  if (lineEnd === 0) return sameCharacter(raw, at, text, i);
  const next = { raw: skipSpaces(raw, at + lineEnd, indent) - at, text: 1 };
  if (text[i] === "\n") return next;
  return isFolded && text[i] === " " ? next : undefined;
}

function skipSpaces(raw: string, at: number, max: number): number {
  let to = at;
  while (to < at + max && raw[to] === " ") to++;
  return to;
}

function searchedOffset(raw: string, text: string, offset: number, length: number): number {
  const needle = text.slice(offset, offset + length);
  if (needle === "") return 0;
  const ordinal = occurrences(text.slice(0, offset + needle.length - 1), needle);
  let at = raw.indexOf(needle);
  for (let i = 0; i < ordinal && at >= 0; i++) at = raw.indexOf(needle, at + 1);
  return Math.max(0, at);
}

function occurrences(text: string, needle: string): number {
  let count = 0;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) count++;
  return count;
}
