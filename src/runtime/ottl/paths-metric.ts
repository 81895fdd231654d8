import { METRIC_DATA_TAGS } from "../telemetry/signal.js";
import type { PathAccess, SelectMessage } from "./access.js";
import { BOOLEAN_FIELD, fieldAccess, INT32_FIELD, messagesAccess, typeMismatch } from "./fields.js";
import { fieldPaths, type PathTable, pathWithoutKeys } from "./path-table.js";

const metric: SelectMessage = (ctx) => ctx.metric.current();
const data: SelectMessage = (ctx) => ctx.metricData.current();

export const METRIC_PATHS: PathTable = {
  ...fieldPaths(metric, { name: ["name", "text"], description: ["description", "text"], unit: ["unit", "text"] }),
  type: pathWithoutKeys("int", {
    get: (ctx) => BigInt(METRIC_DATA_TAGS.indexOf(ctx.metricData.tag()) + 1),
    set: () => undefined, // as in the Collector: a metric's type is changed by functions
  }),
  aggregation_temporality: pathWithoutKeys(
    "int",
    optionalAccess(fieldAccess(data, "aggregationTemporality", INT32_FIELD), "bigint"),
  ),
  is_monotonic: pathWithoutKeys("bool", optionalAccess(fieldAccess(data, "isMonotonic", BOOLEAN_FIELD), "boolean")),
  data_points: pathWithoutKeys("data_points", messagesAccess(data, "dataPoints")),
};

/** A field that only some kinds of data have: of the others it is nil, and setting it does nothing. */
function optionalAccess(access: PathAccess, type: "bigint" | "boolean"): PathAccess {
  return {
    get: (ctx) => access.get(ctx),
    set: (ctx, value) => {
      if (typeof value !== type) throw typeMismatch(type === "bigint" ? "int" : "bool", value);
      if (access.get(ctx) !== null) access.set(ctx, value);
    },
  };
}
