import { compilePattern } from "#text/patterns";

/**
 * Returns a predicate for image names. A filter is a name, a glob with * and ?, or a regular expression between
 * slashes; a leading ! negates it. Throws if a regular expression is invalid.
 */
export function imageFilter(filters: readonly string[]): (image: string) => boolean {
  const tests = filters.map((filter) => {
    const isNegated = filter.startsWith("!");
    const matches = matcherOf(isNegated ? filter.slice(1) : filter);
    return (image: string) => matches(image) !== isNegated;
  });
  return (image) => tests.some((test) => test(image));
}

function matcherOf(filter: string): (image: string) => boolean {
  const pattern = /^\/(.*)\/$/.exec(filter)?.[1] ?? (/[*?]/.test(filter) ? globPattern(filter) : undefined);
  if (pattern === undefined) return (image) => image === filter;
  const compiled = compilePattern(pattern);
  return (image) => compiled.test(image);
}

function globPattern(glob: string): string {
  return `^${glob
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".")}$`;
}
