import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

type Re2 = typeof RE2JS;

let loaded: Re2 | undefined;

/**
 * The engine for patterns, which is large: most configs have none, so it is loaded with the first one. A file of its own,
 * for the single executable has another in its place.
 */
export function re2(): Re2 {
  loaded ??= (createRequire(import.meta.url)("re2js") as { RE2JS: Re2 }).RE2JS;
  return loaded;
}
