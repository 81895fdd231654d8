import { compilePattern } from "#text";

/**
 * Whether an image is meant by a list of filters: a name, a glob with * and ?, or a pattern between slashes. One with ! in front
 * means what it does not match. Throws for a pattern that is none.
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
