/** The text of a config as nodes with their places, and problems found in it. */

export type { Findings } from "./findings.js";
export { isNull, isScalar, type MapNode, type Node, type Span } from "./node.js";
export { type Place, type Problem, placeText, problemLine, problemMessage } from "./problem.js";
export type { ProblemCode } from "./problem-codes.js";
