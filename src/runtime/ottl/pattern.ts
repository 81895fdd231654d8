import { RE2JS } from "re2js";
import { OttlError } from "./error.js";

/** Patterns of users: they run in time linear to the text, whatever they are. */
export type Pattern = RE2JS;

/** Throws with the reason when it is no pattern. */
export function compilePattern(text: string): Pattern {
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
  finish: (replaced: string) => string = (replaced) => replaced,
): string {
  const matcher = pattern.matcher(text);
  let result = "";
  let from = 0;
  let found = false;
  while (matcher.find()) {
    if (found && matcher.start() === matcher.end() && matcher.start() === from) continue; // right behind a match
    found = true;
    const group = (name: string) => groupOf(pattern, matcher, name);
    result += text.slice(from, matcher.start()) + finish(expand(replacement, group));
    from = matcher.end();
  }
  return found ? result + text.slice(from) : text;
}

function groupOf(pattern: Pattern, matcher: ReturnType<Pattern["matcher"]>, name: string): string {
  const index = /^\d+$/.test(name) ? Number(name) : pattern.namedGroups()[name];
  if (index === undefined || index > pattern.groupCount()) return "";
  return matcher.group(index) ?? "";
}

function expand(replacement: string, group: (name: string) => string): string {
  if (!replacement.includes("$")) return replacement;
  return replacement.replace(/\$(?:(\$)|(\w+)|\{(\w+)\})/g, (_, dollar, bare, braced) =>
    dollar === undefined ? group(bare ?? braced) : "$",
  );
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
