import { RE2JS } from "re2js";

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
}

/** Throws with what is wrong with the pattern. */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source);
  const groupNames = Object.keys(compiled.namedGroups());
  return {
    source,
    groupNames,
    test: (text) => compiled.test(text),
    groups(text) {
      const matcher = compiled.matcher(text);
      if (!matcher.find()) return undefined;
      const found: Record<string, string> = {};
      for (const name of groupNames) {
        const value = matcher.group(name);
        if (value !== null) found[name] = value;
      }
      return found;
    },
    spans(text) {
      const found: [number, number][] = [];
      const matcher = compiled.matcher(text);
      while (matcher.find()) if (matcher.end() > matcher.start()) found.push([matcher.start(), matcher.end()]);
      return found;
    },
  };
}
