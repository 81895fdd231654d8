/** Data points read in place, the series they belong to, and their Prometheus names. */

export { type BucketCounts, type ExponentialCounts, writeExponentialCounts } from "./points/exponential-point.js";
export { PointReader } from "./points/point-reader.js";
export { pointNumber } from "./points/wire-numbers.js";
export {
  labelName,
  type MetricKind,
  metricName,
  nameRules,
  type PrometheusNameRules,
  TRANSLATION_STRATEGIES,
  ucumUnit,
} from "./prometheus-names.js";
export { AttributeKey, eachAttribute } from "./series/attribute-key.js";
export { ByteTable } from "./series/byte-table.js";
export { nextOwnerId, OwnerTable } from "./series/owner-table.js";
export { SeriesTable } from "./series/series-table.js";
