/** Expressions of expr-lang. */

export { compileExpression } from "./expression.js";
export { ExpressionError } from "./expression-error.js";
export type { CompiledExpression } from "./operators.js";
export { ExpressionDuration, ExpressionTime, ZERO_TIME } from "./times.js";
export { TextMap, typeName } from "./values.js";
