/** Patterns in linear time. */

export { ByteScan } from "./byte-scan.js";
export { compilePattern, type Pattern, quotePattern } from "./pattern.js";
