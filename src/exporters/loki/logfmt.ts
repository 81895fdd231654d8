/**
 * Returns the pairs of a logfmt line; undefined if the text is not logfmt. Every word must be a pair: a sentence has
 * bare words, which some parsers take for keys.
 */
export function logfmtPairs(line: string): Map<string, string> | undefined {
  const pairs = new Map<string, string>();
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < line.length) {
    const found = PAIR.exec(line);
    if (found === null) return undefined;
    const [, key = "", quoted, bare = ""] = found;
    const value = quoted === undefined ? bare : unquote(quoted);
    if (value === undefined) return undefined;
    pairs.set(key, value);
  }
  return pairs.size === 0 ? undefined : pairs;
}

/** No part can match the beginning of another part, so matching takes linear time. */
const PAIR = /[ \t]*([^\s="]+)=(?:("(?:[^"\\]|\\.)*")|([^\s="]*))(?:[ \t]+|$)/y;

function unquote(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** Returns the pairs as one line. Characters that a key cannot contain become underscores. */
export function logfmtLine(pairs: ReadonlyMap<string, string>): string {
  const words: string[] = [];
  for (const [key, value] of pairs) words.push(`${key.replace(NOT_IN_KEYS, "_") || "_"}=${quoted(value)}`);
  return words.join(" ");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const NOT_IN_KEYS = /[\u0000- ="\u007f\ufffd]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
const NEEDS_QUOTES = /[\u0000- ="\\\u007f\ufffd]/;

function quoted(value: string): string {
  return NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value;
}
