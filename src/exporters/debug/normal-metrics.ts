import type { TreeValue } from "#otlp/bytes";
import type { Paint } from "#text";
import type { Tree } from "../../plugin.js";
import { attributesPart, joinParts, timePart } from "./line-parts.js";
import { isTree, messages, plainText } from "./values.js";

/** Fields of a Metric that hold its points, and their labels. */
const METRIC_KIND_LABELS = {
  gauge: "gauge",
  sum: "sum",
  histogram: "histogram",
  exponentialHistogram: "exp.hist",
  summary: "summary",
} as const;

const NO_RECORDED_VALUE = 1;

/** Returns one line for each data point, or one line that says there are none. */
export function* pointLines(metric: Tree, service: string, paint: Paint): Iterable<string> {
  const name = paint("bold", boundedText(metric["name"], 200) || "(no name)");
  const unit = metric["unit"] === "1" ? "" : boundedText(metric["unit"], 40);
  for (const [field, kind] of Object.entries(METRIC_KIND_LABELS)) {
    const data = metric[field];
    if (!isTree(data)) continue;
    const label = paint("blue", kind.padEnd(9));
    const points = messages(data["dataPoints"]);
    if (points.length === 0) yield joinParts(timePart(undefined, paint), label, service, name, "(no data points)");
    for (const point of points) {
      const value = `${paint("dim", "=")} ${pointText(point, unit)}`;
      const temporality = paint("dim", temporalityText(data));
      const attributes = attributesPart(point["attributes"], paint);
      yield joinParts(timePart(point["timeUnixNano"], paint), label, service, name, value, temporality, attributes);
    }
  }
}

function boundedText(value: TreeValue | undefined, max: number): string {
  return typeof value === "string" ? plainText({ stringValue: value }, max) : "";
}

function pointText(point: Tree, unit: string): string {
  const value = point["asInt"] ?? point["asDouble"];
  if (value !== undefined) return joinParts(String(value), unit);
  if ((Number(point["flags"] ?? 0) & NO_RECORDED_VALUE) !== 0) return "(no value)";
  const numbers = ["count", "sum", "min", "max"].filter((key) => point[key] !== undefined);
  const quantiles = messages(point["quantileValues"]).map((q) => `p${percent(q["quantile"])}=${q["value"] ?? 0}`);
  return joinParts(...numbers.map((key) => `${key}=${point[key]}`), ...quantiles, unit) || "0";
}

/** 0.99 -> 99, rounded to hide binary fractions. */
function percent(quantile: TreeValue | undefined): number {
  return Number((Number(quantile ?? 0) * 100).toFixed(6));
}

function temporalityText(data: Tree): string {
  const temporality = ["", "delta", "cumulative"][Number(data["aggregationTemporality"] ?? 0)] ?? "";
  return joinParts(temporality, data["isMonotonic"] === true ? "monotonic" : "");
}
