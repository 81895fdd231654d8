import { NameCache } from "#otlp/signals";
import { compilePattern as compile, type Pattern, quotePattern } from "#text/patterns";
import { OttlError } from "../../values/error.js";
import { MAX_TEXT_LENGTH, textTooLong } from "../../values/limits.js";

export type { Pattern } from "#text/patterns";

/** Users write far shorter patterns; patterns from the data may have any length. */
export const MAX_PATTERN_LENGTH = 100_000;

/** Throws an `OttlError` with the reason if the pattern is invalid. */
export function compilePattern(text: string): Pattern {
  if (text.length > MAX_PATTERN_LENGTH)
    throw new OttlError(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  try {
    return compile(text);
  } catch (error) {
    throw new OttlError(`not a valid pattern: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** How many patterns from the data are cached. */
export const PATTERN_CACHE_LIMITS = { maxNames: 256, maxLength: MAX_PATTERN_LENGTH };

const patterns = new NameCache(compilePattern, PATTERN_CACHE_LIMITS);

export function cachedPattern(text: string): Pattern {
  return patterns.get(text);
}

/** A match takes some microseconds: more matches than this would keep everything else waiting. */
const MAX_MATCHES = 100_000;

/** Replaces every match; throws an `OttlError` if there are too many or the text becomes too long. */
export function replaceAll(
  pattern: Pattern,
  text: string,
  replacement: string,
  finish?: (replaced: string) => string,
): string {
  if (finish === undefined && isSurelySmall(text, replacement)) return pattern.replaceAll(text, replacement);
  const maxLength = Math.max(MAX_TEXT_LENGTH, text.length);
  return pattern.replaceAll(text, replacement, finish, (matches, length) => {
    if (matches > MAX_MATCHES) throw new OttlError(`the pattern matches more than ${MAX_MATCHES} times`);
    if (length > maxLength) throw textTooLong();
  });
}

/** Whether no limit can be reached, even if every character and the end were replaced. */
function isSurelySmall(text: string, replacement: string): boolean {
  const maxMatches = text.length + 1;
  return (
    maxMatches <= MAX_MATCHES && maxMatches * (replacement.length + 1) <= MAX_TEXT_LENGTH && !replacement.includes("$")
  );
}

/** `*` is any text, `?` one character, `[ab]`, `[!ab]`, `{a,b}`; a backslash escapes a character. */
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
