import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * Globs with the Collector's syntax: `*` and `?` within a name, `[abc]` and `[^a-z]`, `{one,other}`, and `**` for any
 * number of folders (links to folders are not followed). Names that start with a dot are not special.
 */

/** Returns why a pattern is invalid, or undefined if it is valid. */
export function globProblem(pattern: string): string | undefined {
  try {
    for (const each of expandBraces(pattern)) globExpression(each);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Whether the whole path matches one of the patterns. */
export function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const expressions = patterns.flatMap((pattern) => expandBraces(cleanPath(pattern)).map(globExpression));
  return (path) => expressions.some((expression) => expression.test(path));
}

/** Returns the folder of each pattern in front of its first wildcard. */
export function literalFolders(patterns: readonly string[]): string[] {
  return patterns
    .flatMap((pattern) => expandBraces(cleanPath(pattern)).map(segmentsOf))
    .map((segments) => {
      const wild = segments.findIndex((segment) => typeof segment !== "string");
      const literal = segments.slice(0, wild < 0 ? segments.length - 1 : wild) as string[];
      return literal.reduce(joinPath, "") || ".";
    });
}

/**
 * Finds the files that match the patterns each time `find` is called. Reports folders that cannot be read to
 * `onProblem`.
 */
export class FileFinder {
  private readonly patterns: readonly (readonly GlobSegment[])[];
  private readonly isExcluded: (path: string) => boolean;
  private readonly onProblem: (path: string, error: unknown) => void;

  constructor(
    include: readonly string[],
    exclude: readonly string[],
    onProblem: (path: string, error: unknown) => void,
  ) {
    this.patterns = include.flatMap((pattern) => expandBraces(cleanPath(pattern)).map(segmentsOf));
    this.isExcluded = pathMatcher(exclude);
    this.onProblem = onProblem;
  }

  /**
   * Returns each matching path once, in the order of the patterns and then by name. Matches may also be folders or
   * other non-files.
   */
  async find(): Promise<string[]> {
    const found = new Set<string>();
    for (const segments of this.patterns) await this.walk("", segments, 0, found);
    return [...found].filter((path) => !this.isExcluded(path));
  }

  private async walk(
    folder: string,
    segments: readonly GlobSegment[],
    index: number,
    found: Set<string>,
  ): Promise<void> {
    const segment = segments[index];
    if (segment === undefined) return;
    const isLast = index === segments.length - 1;
    if (typeof segment === "string") {
      const path = joinPath(folder, segment);
      if (!isLast) return this.walk(path, segments, index + 1, found);
      if (await this.exists(path)) found.add(path);
      return;
    }
    if (segment === ANY_FOLDERS) return this.walkDeep(folder, segments, index, found);
    for (const entry of await this.list(folder)) {
      if (!segment.test(entry.name)) continue;
      const path = joinPath(folder, entry.name);
      if (isLast) {
        if (!entry.isDirectory()) found.add(path);
      } else if (entry.isDirectory() || entry.isSymbolicLink()) await this.walk(path, segments, index + 1, found);
    }
  }

  /** `**` matches zero or more folders. At the end of a pattern it matches everything in them. */
  private async walkDeep(
    folder: string,
    segments: readonly GlobSegment[],
    index: number,
    found: Set<string>,
  ): Promise<void> {
    const isLast = index === segments.length - 1;
    if (!isLast) await this.walk(folder, segments, index + 1, found);
    for (const entry of await this.list(folder)) {
      const path = joinPath(folder, entry.name);
      if (entry.isDirectory()) await this.walkDeep(path, segments, index, found);
      else if (isLast) found.add(path);
    }
  }

  private async list(folder: string) {
    try {
      const entries = await readdir(folder === "" ? "." : folder, { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.onProblem(folder, error);
      return [];
    }
  }

  private async exists(path: string): Promise<boolean> {
    try {
      await stat(path);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.onProblem(path, error);
      return false;
    }
  }
}

const ANY_FOLDERS = Symbol("**");

/** A literal name, a pattern for a name, or any number of folders. */
type GlobSegment = string | RegExp | typeof ANY_FOLDERS;

function joinPath(folder: string, name: string): string {
  if (folder === "") return name === "" ? "/" : name;
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** Cleans a path as Go's `filepath.Clean` does: removes `.` and double slashes, and keeps relative paths relative. */
function cleanPath(pattern: string): string {
  return join(pattern);
}

function segmentsOf(pattern: string): GlobSegment[] {
  return pattern.split("/").map((segment): GlobSegment => {
    if (segment === "**") return ANY_FOLDERS;
    if (/[*?[\\]/.test(segment)) return new RegExp(`^${segmentSource(segment)}$`, "s");
    return segment;
  });
}

function globExpression(pattern: string): RegExp {
  const source = pattern
    .split("/")
    .map((segment, index, all) => {
      const isLast = index === all.length - 1;
      if (segment === "**") return isLast ? ".*" : "(?:[^/]+/)*";
      return segmentSource(segment) + (isLast ? "" : "/");
    })
    .join("");
  return new RegExp(`^${source}$`, "s");
}

/** Translates the glob for one name into the source of a regular expression. */
function segmentSource(segment: string): string {
  let source = "";
  for (let i = 0; i < segment.length; i++) {
    const char = segment[i]!;
    if (char === "*") {
      if (!source.endsWith("[^/]*")) source += "[^/]*"; // a second star changes nothing and would only cost time
    } else if (char === "?") source += "[^/]";
    else if (char === "[") {
      const end = segment.indexOf("]", i + 2);
      if (end < 0) throw new Error("expected a ] behind [");
      const negated = segment[i + 1] === "^" || segment[i + 1] === "!";
      const members = segment.slice(i + (negated ? 2 : 1), end).replace(/[\\\]^[]/g, "\\$&");
      source += `[${negated ? "^" : ""}${members}]`;
      i = end;
    } else if (char === "\\") {
      if (i + 1 === segment.length) throw new Error("expected a character after \\");
      source += quoted(segment[++i]!);
    } else source += quoted(char);
  }
  return source;
}

function quoted(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

const MAX_ALTERNATIVES = 1000;

function expandBraces(pattern: string): string[] {
  const open = pattern.indexOf("{");
  if (open < 0) {
    if (pattern.includes("}")) throw new Error("expected a { before }");
    return [pattern];
  }
  let depth = 0;
  let from = open + 1;
  const alternatives: string[] = [];
  for (let i = open; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === "{") depth++;
    else if (char === "}") depth--;
    if ((char === "," && depth === 1) || depth === 0) {
      alternatives.push(pattern.slice(from, i));
      from = i + 1;
    }
    if (depth > 0) continue;
    const expanded = alternatives.flatMap((each) => expandBraces(pattern.slice(0, open) + each + pattern.slice(i + 1)));
    if (expanded.length > MAX_ALTERNATIVES) throw new Error(`more than ${MAX_ALTERNATIVES} alternatives in braces`);
    return expanded;
  }
  throw new Error("expected a } behind {");
}
