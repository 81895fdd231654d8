import { createRequire } from "node:module";
import type { RE2JS } from "re2js";

type Re2 = typeof RE2JS;

let loaded: Re2 | undefined;

/**
 * The engine for patterns. It is large and most configs have no patterns, so it is loaded with the first one. It has
 * its own file because the single executable replaces that file.
 */
export function re2(): Re2 {
  loaded ??= (createRequire(import.meta.url)("re2js") as { RE2JS: Re2 }).RE2JS;
  return loaded;
}
