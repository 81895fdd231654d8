/** Expressions of expr-lang. */

export { compileExpression } from "./expression.js";
export type { CompiledExpression } from "./operators.js";
export { ExpressionDuration, ExpressionTime, ZERO_TIME } from "./times.js";
export { ExpressionError } from "./tokens.js";
export { TextMap, typeName } from "./values.js";
