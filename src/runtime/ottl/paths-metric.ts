import { METRIC_DATA_TAGS } from "../telemetry/signal.js";
import type { Access, Pick } from "./access.js";
import { BOOLEAN, expected, fieldAccess, INT32, messagesAccess } from "./fields.js";
import { fields, type PathTable, plain } from "./path-table.js";

const metric: Pick = (scene) => scene.metric.here();
const data: Pick = (scene) => scene.metricData.here();

export const METRIC_PATHS: PathTable = {
  ...fields(metric, { name: ["name", "text"], description: ["description", "text"], unit: ["unit", "text"] }),
  type: plain("int", {
    get: (scene) => BigInt(METRIC_DATA_TAGS.indexOf(scene.metricData.tag()) + 1),
    set: () => undefined, // as in the Collector: a metric's type is changed by functions
  }),
  aggregation_temporality: plain("int", ofData(fieldAccess(data, "aggregationTemporality", INT32), "bigint")),
  is_monotonic: plain("bool", ofData(fieldAccess(data, "isMonotonic", BOOLEAN), "boolean")),
  data_points: plain("data_points", messagesAccess(data, "dataPoints")),
};

/** A field that only some kinds of data have: of the others it is nil, and setting it does nothing. */
function ofData(access: Access, type: "bigint" | "boolean"): Access {
  return {
    get: (scene) => access.get(scene),
    set: (scene, value) => {
      if (typeof value !== type) throw expected(type === "bigint" ? "int" : "bool", value);
      if (access.get(scene) !== null) access.set(scene, value);
    },
  };
}
