import { compilePattern as compile, type Pattern, quotePattern } from "../match/pattern.js";
import { OttlError } from "./error.js";
import { LONGEST_TEXT, tooLong } from "./limits.js";

export type { Pattern } from "../match/pattern.js";

/** What users write is far shorter; what comes out of the data may be anything. */
const LONGEST_PATTERN = 100_000;

/** Throws an `OttlError` with the reason when it is no pattern. */
export function compilePattern(text: string): Pattern {
  if (text.length > LONGEST_PATTERN) throw new OttlError(`the pattern is longer than ${LONGEST_PATTERN} characters`);
  try {
    return compile(text);
  } catch (error) {
    throw new OttlError(`not a valid pattern: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const MAX_KEPT = 256;

/** What is made of texts that come out of the data: the same few are asked for again and again. */
export class Kept<T> {
  private readonly make: (text: string) => T;
  private readonly made = new Map<string, T>();

  constructor(make: (text: string) => T) {
    this.make = make;
  }

  of(text: string): T {
    let one = this.made.get(text);
    if (one === undefined) {
      one = this.make(text);
      if (this.made.size >= MAX_KEPT) this.made.clear();
      this.made.set(text, one);
    }
    return one;
  }
}

const patterns = new Kept(compilePattern);

export function patternOf(text: string): Pattern {
  return patterns.of(text);
}

/** A match takes some microseconds: what has more of them would keep everybody else waiting. */
const MOST_MATCHES = 100_000;

/** Every match replaced; an `OttlError` when there are too many, or the text becomes too long. */
export function replaceAll(
  pattern: Pattern,
  text: string,
  replacement: string,
  finish?: (replaced: string) => string,
): string {
  const longest = Math.max(LONGEST_TEXT, text.length);
  return pattern.replaceAll(text, replacement, finish, (matches, length) => {
    if (matches > MOST_MATCHES) throw new OttlError(`the pattern matches more than ${MOST_MATCHES} times`);
    if (length > longest) throw tooLong();
  });
}

/** `*` is any text, `?` one character, `[ab]`, `[!ab]`, `{a,b}`; a backslash takes a character for itself. */
export function compileGlob(glob: string): Pattern {
  let regex = "";
  let depth = 0;
  for (let i = 0; i < glob.length; i++) {
    const c = glob[i]!;
    if (c === "*") regex += ".*";
    else if (c === "?") regex += ".";
    else if (c === "\\" && i + 1 < glob.length) regex += quotePattern(glob[++i]!);
    else if (c === "{") {
      depth++;
      regex += "(?:";
    } else if (c === "}" && depth > 0) {
      depth--;
      regex += ")";
    } else if (c === "," && depth > 0) regex += "|";
    else if (c === "[") {
      const close = glob.indexOf("]", i + 2);
      if (close < 0) throw new OttlError("not a valid glob: [ without ]");
      regex += `[${glob
        .slice(i + 1, close)
        .replace(/^!/, "^")
        .replaceAll("[", "\\[")}]`;
      i = close;
    } else regex += quotePattern(c);
  }
  if (depth > 0) throw new OttlError("not a valid glob: { without }");
  return compilePattern(`(?s)^${regex}$`);
}
