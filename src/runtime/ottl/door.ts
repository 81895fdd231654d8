/** OTTL: conditions and statements, compiled and run on batches. */

export { type Condition, compileCondition, type Statement } from "./compile/compile.js";
export { composed, textIsOneOf, textMatches, valueIs } from "./compile/composed-condition.js";
export { type AddOttlIssue, compileEach, contextOfGroup, type OttlIssue, ottlIssue } from "./compile/config-texts.js";
export { createDeadLetterLanguage } from "./compile/dead-letter-language.js";
export { ERROR_MODES, type ErrorMode, errorHandler } from "./compile/error-mode.js";
export { type CompiledGroup, compileIn, compileInferred } from "./compile/infer-context.js";
export { compileMetricExpressions } from "./compile/metric-expression.js";
export { tryOttl } from "./compile/playground.js";
export { deadLetterConditionIssue, parseRecordCondition } from "./compile/record-condition.js";
export {
  anyMatches,
  ConditionSet,
  dropWhere,
  keepWhere,
  type OnOttlError,
  partitionWhere,
  transformBatch,
} from "./compile/run.js";
export { AGGREGATIONS, type Aggregation, aggregatePoints } from "./functions/metric/aggregate.js";
export { kindOf, pointsOf } from "./functions/metric/metric-tree.js";
export {
  CONTEXT_SHAPES,
  CONTEXT_SIGNALS,
  CONTEXTS,
  CONTEXTS_INSIDE_RECORDS,
  type ContextName,
  RECORD_CONTEXTS,
  SIGNAL_CONTEXTS,
} from "./paths/context.js";
export { OttlTrials } from "./trials/ottl-trials.js";
export { plainText, toDouble, toInt } from "./values/conversions.js";
export { isOttlError, isOttlSyntaxError } from "./values/error.js";
export type { OttlValue } from "./values/value.js";
export { readOttlValue } from "./values/wire-value.js";
