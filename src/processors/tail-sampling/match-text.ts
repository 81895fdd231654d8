import { compilePattern } from "../../plugin.js";

/** One of these texts. An empty one stands for nothing, as in the Collector. */
export function matchesAnyText(texts: readonly string[]): (text: string) => boolean {
  const known = new Set(texts.filter((text) => text !== ""));
  return (text) => known.has(text);
}

/** One of these patterns, anywhere in the text. So many results are remembered. */
export function matchesAnyPattern(sources: readonly string[], cacheSize: number): (text: string) => boolean {
  const patterns = sources.map((source) => compilePattern(source));
  const results = new Map<string, boolean>();
  return (text) => {
    const known = results.get(text);
    if (known !== undefined) return known;
    const result = patterns.some((pattern) => pattern.test(text));
    if (results.size >= cacheSize) results.delete(results.keys().next().value!);
    results.set(text, result);
    return result;
  };
}
