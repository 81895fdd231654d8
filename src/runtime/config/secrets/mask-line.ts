import { REDACTED } from "#contract/schema";
import type { SourceText } from "../text/source-text.js";
import { isSecretKey } from "./find-secrets.js";
import { withoutSecretTexts } from "./secret-text.js";

// Linear: it starts once, and no two of its parts take the same character.
const KEY = /^\s*(?:- +)*(?:"([^"]*)"|'([^']*)'|([\w./@-]+))\s*:(?=\s|$)/;
const ITEM = /^(?:- *)+(?:[\w./][\w./-]*)?$/;
const INLINE =
  // Linear: what a name starts is read up to its first value, and lines have no breaks.
  /((?:pass\w{0,40}|secret|token|key|authorization|credentials?|dsn|cookie|connection_?string)["']?\s*[:=@]\s*)(?![|>]?[-+]?\s*$|[\]},])(\S.*)$/i;

/** A key called just `key` usually names an attribute; if it holds a secret, its schema says so. */
const PLAIN_KEY = /(?<=(?:^|[{,])\s*(?:- +)*)key:\s/;
const PARSED = new RegExp(`(?!${PLAIN_KEY.source})${INLINE.source}`, "i");

/** Masks a line of a parsed source once more: anything that looks like a secret. */
export function maskParsedLine(line: string): string {
  return withoutSecretTexts(maskInline(line));
}

/** Hides the rest of a line from a secret on. If the secret is masked already, keeps the text after it. */
function maskInline(line: string): string {
  return line.replace(PARSED, (_, key: string, rest: string) => {
    const isMasked = rest.startsWith(REDACTED) && /^\s*[\]},]/.test(rest.slice(REDACTED.length));
    return `${key}${REDACTED}${isMasked ? maskInline(rest.slice(REDACTED.length)) : ""}`;
  });
}

/**
 * Masks a line of a source that is not valid YAML; without a tree only the indentation tells what a line belongs to.
 * Returns undefined for a line without a recognisable key. Hides the value of a key that looks secret, or that is in
 * (or directly after) a section that does.
 */
export function maskBrokenLine(source: SourceText, line: number): string | undefined {
  const text = lineText(source, line);
  const key = keyOf(text);
  if (key === undefined) return ITEM.test(text.trim()) && !inSecretSection(source, line) ? text : undefined;
  if (!isSecretKey(key) && !inSecretSection(source, line)) {
    return withoutSecretTexts(text.replace(INLINE, `$1${REDACTED}`));
  }
  const [written] = KEY.exec(text)!;
  return text.slice(written.length).trim() === "" ? text : `${written} ${REDACTED}`;
}

function inSecretSection(source: SourceText, line: number): boolean {
  let section: number | undefined;
  for (let at = 1; at < line; at++) {
    const text = lineText(source, at);
    const key = keyOf(text);
    if (text.trim() === "") continue;
    const indent = indentOf(text);
    // The first line after a section may be its last one with wrong indentation, so it ends the section only for the
    // lines after it.
    if (section !== undefined && key !== undefined && indent <= section && at < line - 1) section = undefined;
    const secret = key === undefined ? text.split(/[^\w-]+/).some(isSecretKey) : isSecretKey(key);
    if (secret && (section === undefined || indent <= section)) section = indent;
  }
  return section !== undefined;
}

function lineText(source: SourceText, line: number): string {
  const range = source.lineRange(line);
  return range === undefined ? "" : source.text.slice(range.start, range.end);
}

function keyOf(text: string): string | undefined {
  const match = KEY.exec(text);
  return match?.[1] ?? match?.[2] ?? match?.[3];
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}
