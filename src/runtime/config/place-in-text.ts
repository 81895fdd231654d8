import type { ScalarNode } from "./node.js";
import type { Place } from "./problem.js";

/**
 * Where [offset, offset + length) of a scalar's text stands in its file. Quotes, escapes, folding and substitution may
 * have changed the text on its way: what is looked for is the same words, as often as they come before it. The
 * beginning of the scalar when they are not found.
 */
export function placeInText(node: ScalarNode, offset: number, length: number): Place {
  const { source, start, end, text } = node;
  const raw = source.text.slice(start, end);
  const words = text.slice(offset, offset + length);
  const ordinal = occurrences(text.slice(0, offset + words.length - 1), words);
  let at = raw === text ? offset : -1;
  if (at < 0 && words !== "") {
    at = raw.indexOf(words);
    for (let i = 0; i < ordinal && at >= 0; i++) at = raw.indexOf(words, at + 1);
  }
  return source.placeAt(start + Math.max(0, at));
}

function occurrences(text: string, words: string): number {
  let count = 0;
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) count++;
  return count;
}
