import type { RE2JS } from "re2js";
import { re2 } from "./re2.js";

/** A user's pattern, in RE2 syntax: it runs in time linear in the text, whatever it says. */
export interface Pattern {
  readonly source: string;
  /** Anywhere in the text. */
  test(text: string): boolean;
  /** The named groups of the first match, or undefined when there is none; groups that took no part are left out. */
  groups(text: string): Record<string, string> | undefined;
  /** Where it matches, from left to right, as [start, end). Matches of nothing are left out. */
  spans(text: string): [start: number, end: number][];
  readonly groupNames: readonly string[];
  /**
   * Every match replaced. The replacement names groups as Go does: $1, ${1}, $name, ${name}, and $$ for a dollar sign;
   * a name is as long as it can be, and one that does not exist is empty. `finish` sees each replacement last; `watch`
   * is told after each how many there are and how long the text has become, and may throw.
   */
  replaceAll(text: string, replacement: string, mapReplacement?: MapReplacement, onReplaced?: OnReplaced): string;
}

type MapReplacement = (replaced: string) => string;
type OnReplaced = (matches: number, length: number) => void;

/** Throws with what is wrong with the pattern. */
export function compilePattern(source: string): Pattern {
  return new Re2Pattern(source);
}

/** A text as a pattern that matches it and nothing else. */
export function quotePattern(text: string): string {
  return re2().quote(text);
}

function compileRe2(source: string): RE2JS {
  try {
    return re2().compile(source);
  } catch (error) {
    if (!/\(\?<?[=!]/.test(source)) throw error;
    throw new Error(`${(error as Error).message}; there is no lookahead and no lookbehind`, { cause: error });
  }
}

class Re2Pattern implements Pattern {
  readonly source: string;
  readonly groupNames: readonly string[];
  private readonly compiled: RE2JS;

  constructor(source: string) {
    this.source = source;
    this.compiled = compileRe2(source);
    this.groupNames = Object.keys(this.compiled.namedGroups());
  }

  test(text: string): boolean {
    return this.compiled.test(text);
  }

  groups(text: string): Record<string, string> | undefined {
    const matcher = this.compiled.matcher(text);
    if (!matcher.find()) return undefined;
    const found: Record<string, string> = Object.create(null);
    for (const name of this.groupNames) {
      const value = matcher.group(name);
      if (value !== null) found[name] = value;
    }
    return found;
  }

  spans(text: string): [number, number][] {
    const found: [number, number][] = [];
    const matcher = this.compiled.matcher(text);
    while (matcher.find()) if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
    return found;
  }

  replaceAll(text: string, replacement: string, mapReplacement?: MapReplacement, onReplaced?: OnReplaced): string {
    const matcher = this.compiled.matcher(text);
    if (!matcher.find()) return text;
    const segments = this.parseReplacement(replacement);
    let result = "";
    let from = 0;
    let count = 0;
    do {
      const start = matcher.start();
      const end = matcher.end();
      if (count > 0 && start === end && start === from) continue; // an empty match right behind another
      let replaced = "";
      for (const part of segments) replaced += typeof part === "string" ? part : (matcher.group(part) ?? "");
      result += text.slice(from, start) + (mapReplacement === undefined ? replaced : mapReplacement(replaced));
      onReplaced?.(++count, result.length);
      from = end;
    } while (matcher.find());
    return result + text.slice(from);
  }

  /** Texts, and the indexes of groups between them. */
  private parseReplacement(replacement: string): (string | number)[] {
    const names = this.compiled.namedGroups();
    const segments: (string | number)[] = [];
    let from = 0;
    for (const match of replacement.matchAll(/\$(?:(\$)|(\w+)|\{(\w+)\})/g)) {
      segments.push(replacement.slice(from, match.index));
      from = match.index + match[0].length;
      const name = match[2] ?? match[3];
      const index = name !== undefined && /^\d+$/.test(name) ? Number(name) : names[name ?? ""];
      if (name === undefined) segments.push("$");
      else if (index !== undefined && index <= this.compiled.groupCount()) segments.push(index);
    }
    segments.push(replacement.slice(from));
    return segments;
  }
}
