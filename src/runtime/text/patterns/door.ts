/** Patterns in linear time. */

export { ByteScan } from "./byte-scan.js";
export { UNKNOWN } from "./byte-search.js";
export { contains } from "./char-set.js";
export { compilePattern, type Pattern, quotePattern } from "./pattern.js";
