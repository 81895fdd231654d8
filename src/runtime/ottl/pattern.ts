import { RE2JS } from "re2js";
import { OttlError } from "./error.js";
import { LONGEST_TEXT, tooLong } from "./limits.js";

/** Patterns of users: they run in time linear to the text, whatever they are. */
export type Pattern = RE2JS;

/** What users write is far shorter; what comes out of the data may be anything. */
const LONGEST_PATTERN = 100_000;

/** Throws with the reason when it is no pattern. */
export function compilePattern(text: string): Pattern {
  if (text.length > LONGEST_PATTERN) throw new OttlError(`the pattern is longer than ${LONGEST_PATTERN} characters`);
  try {
    return RE2JS.compile(text);
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

/**
 * Every match replaced. The replacement names groups as Go does: $1, ${1}, $name, ${name}, and $$ for a dollar sign;
 * a name is as long as it can be, and one that does not exist is empty. `finish` sees each replacement last.
 */
export function replaceAll(
  pattern: Pattern,
  text: string,
  replacement: string,
  finish?: (replaced: string) => string,
): string {
  const matcher = pattern.matcher(text);
  if (!matcher.find()) return text;
  const longest = Math.max(LONGEST_TEXT, text.length);
  const parts = partsOf(pattern, replacement);
  let result = "";
  let from = 0;
  let count = 0;
  do {
    const start = matcher.start();
    const end = matcher.end();
    if (count > 0 && start === end && start === from) continue; // an empty match right behind another
    if (++count > MOST_MATCHES) throw new OttlError(`the pattern matches more than ${MOST_MATCHES} times`);
    const replaced = expand(parts, matcher);
    result += text.slice(from, start) + (finish === undefined ? replaced : finish(replaced));
    if (result.length > longest) throw tooLong();
    from = end;
  } while (matcher.find());
  return result + text.slice(from);
}

/** A match takes some microseconds: what has more of them would keep everybody else waiting. */
const MOST_MATCHES = 100_000;

/** Texts, and the indexes of groups between them. */
function partsOf(pattern: Pattern, replacement: string): (string | number)[] {
  const names = pattern.namedGroups();
  const parts: (string | number)[] = [];
  let from = 0;
  for (const match of replacement.matchAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g)) {
    parts.push(replacement.slice(from, match.index));
    from = match.index + match[0].length;
    const name = match[2] ?? match[3];
    if (name === undefined) parts.push("$");
    else {
      const index = /^\d+$/.test(name) ? Number(name) : names[name];
      if (index !== undefined && index <= pattern.groupCount()) parts.push(index);
    }
  }
  parts.push(replacement.slice(from));
  return parts;
}

function expand(parts: readonly (string | number)[], matcher: ReturnType<Pattern["matcher"]>): string {
  let text = "";
  for (const part of parts) text += typeof part === "string" ? part : (matcher.group(part) ?? "");
  return text;
}

/** `*` is any text, `?` one character, `[ab]`, `[!ab]`, `{a,b}`; a backslash takes a character for itself. */
export function compileGlob(glob: string): Pattern {
  let regex = "";
  let depth = 0;
  for (let i = 0; i < glob.length; i++) {
    const c = glob[i]!;
    if (c === "*") regex += ".*";
    else if (c === "?") regex += ".";
    else if (c === "\\" && i + 1 < glob.length) regex += RE2JS.quote(glob[++i]!);
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
    } else regex += RE2JS.quote(c);
  }
  if (depth > 0) throw new OttlError("not a valid glob: { without }");
  return compilePattern(`(?s)^${regex}$`);
}
