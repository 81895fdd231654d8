/**
 * The pairs of a line of logfmt; undefined for a text that is none. Every word must be a pair: a sentence has bare words, which
 * some readers take for keys.
 */
export function logfmtPairs(line: string): Map<string, string> | undefined {
  const pairs = new Map<string, string>();
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < line.length) {
    const found = PAIR.exec(line);
    if (found === null) return undefined;
    const [, key, quoted, bare = ""] = found;
    const value = quoted === undefined ? bare : unquote(quoted);
    if (value === undefined) return undefined;
    pairs.set(key!, value);
  }
  return pairs.size === 0 ? undefined : pairs;
}

/** Its parts cannot match one another's beginnings: so it takes linear time. */
const PAIR = /[ \t]*([^\s="]+)=(?:("(?:[^"\\]|\\.)*")|([^\s="]*))(?:[ \t]+|$)/y;

function unquote(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** One line of these pairs. What a key cannot have is an underscore in it. */
export function logfmtLine(pairs: ReadonlyMap<string, string>): string {
  const words: string[] = [];
  for (const [key, value] of pairs) words.push(`${key.replace(NOT_IN_KEYS, "_") || "_"}=${quoted(value)}`);
  return words.join(" ");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const NOT_IN_KEYS = /[\u0000- ="\u007f\ufffd]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const NEEDS_QUOTES = /[\u0000- ="\\\u007f\ufffd]/;

function quoted(value: string): string {
  return NEEDS_QUOTES.test(value) ? JSON.stringify(value) : value;
}
