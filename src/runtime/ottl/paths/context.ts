import { SHAPES, type Signal } from "../../telemetry/bytes/signal.js";
import type { WalkShape } from "../../telemetry/views/record-walk.js";

/** What a condition or statement is about, one at a time. */
export type ContextName = "resource" | "scope" | "log" | "span" | "spanevent" | "metric" | "datapoint";

/** All contexts, from the outside in. */
export const CONTEXTS: readonly ContextName[] = [
  "resource",
  "scope",
  "log",
  "span",
  "spanevent",
  "metric",
  "datapoint",
];

/** The signals that have such a thing. */
export const CONTEXT_SIGNALS: Readonly<Record<ContextName, readonly Signal[]>> = {
  resource: ["logs", "traces", "metrics"],
  scope: ["logs", "traces", "metrics"],
  log: ["logs"],
  span: ["traces"],
  spanevent: ["traces"],
  metric: ["metrics"],
  datapoint: ["metrics"],
};

const RESOURCE = [10];
const SCOPE = [18];
const SPAN = [18];

/** How to walk over the things of a context. */
export const CONTEXT_SHAPES: Readonly<Record<ContextName, WalkShape>> = {
  resource: { levels: [], record: 10 },
  scope: { levels: [RESOURCE], record: 18 },
  log: SHAPES.logs,
  span: SHAPES.traces,
  spanevent: { levels: [RESOURCE, SCOPE, SPAN], record: 90, keepEmptyFrom: 2 },
  metric: { levels: [RESOURCE, SCOPE], record: 18 },
  datapoint: SHAPES.metrics,
};

/** Dropping one of these drops records of the signal by ones: the walk's count stays right. */
export const CONTEXTS_OF_RECORDS: ReadonlySet<ContextName> = new Set(["log", "span", "datapoint"]);
