import type { Labels } from "../relabel.js";
import type { Family, SeriesRole } from "./families.js";
import type { ShapeName } from "./metrics.js";

/** The place of a series in OTLP: the points of a metric, or a part of such a point. */
interface LinePlace {
  readonly role: SeriesRole;
  readonly shape: ShapeName;
  readonly metricName: string;
  /** Undefined for a series that does not fit its family or has none. */
  readonly family: Family | undefined;
  /** The bound of a bucket or quantile. */
  readonly bound: number;
}

/**
 * `written` is the name in the text, `name` the name after relabelling. A bucket that lost its bound, and a series
 * renamed so it no longer fits its family, become metrics of their own: nothing is dropped. Removes the bound from the
 * labels.
 */
export function linePlace(
  written: string,
  name: string,
  labels: Labels,
  family: Family | undefined,
  trim: boolean,
): LinePlace {
  const plain: LinePlace = { role: "value", shape: "gauge", metricName: name, family: undefined, bound: 0 };
  const suffix = family === undefined ? undefined : written.slice(family.name.length);
  const role = suffix === undefined ? undefined : family!.role(suffix);
  if (family === undefined || suffix === undefined || role === undefined || !name.endsWith(suffix)) return plain;
  const base = name.slice(0, name.length - suffix.length);
  const { type } = family;
  if (type === "histogram" || type === "summary") {
    const bound = role === "bucket" ? takeBound(labels, "le") : role === "quantile" ? takeBound(labels, "quantile") : 0;
    return bound === undefined ? plain : { role, shape: type, metricName: base, family, bound };
  }
  if (role === "native") return { role, shape: "exponential", metricName: base, family, bound: 0 };
  // As in the Collector: an info and the buckets of a gauge histogram have the family's name, sum and count their own.
  if (type === "gaugehistogram" && suffix !== "_bucket") return plain;
  const isFamily = type === "info" || type === "gaugehistogram";
  const metricName = role === "created" ? `${base}_total` : isFamily ? base : name;
  return {
    role,
    shape: shapeOf(family),
    metricName: trim ? trimmed(metricName, family) : metricName,
    family,
    bound: 0,
  };
}

function shapeOf({ type }: Family): ShapeName {
  if (type === "counter") return "counter";
  return type === "info" || type === "stateset" ? "upDown" : "gauge";
}

function takeBound(labels: Labels, label: string): number | undefined {
  const text = labels.get(label);
  if (text === undefined) return undefined;
  const bound = /^\+?inf$/i.test(text) ? Number.POSITIVE_INFINITY : text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(bound)) return undefined;
  labels.delete(label);
  return bound;
}

/** The name without suffixes that exporters append: `_total` and the unit. */
function trimmed(name: string, { type, unit }: Family): string {
  const bare = type === "counter" && name.endsWith("_total") ? name.slice(0, -"_total".length) : name;
  return unit !== "" && bare.endsWith(`_${unit}`) ? bare.slice(0, -unit.length - 1) : bare;
}
