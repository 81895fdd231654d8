import { type Batch, batchFromJson } from "../../../src/plugin.js";

type Attributes = Readonly<Record<string, string | number | boolean>>;

export const attributes = (from: Attributes) =>
  Object.entries(from).map(([key, value]) => ({
    key,
    value:
      typeof value === "string"
        ? { stringValue: value }
        : typeof value === "number"
          ? { intValue: value }
          : { boolValue: value },
  }));

export interface ResourceMetrics {
  readonly resource?: Attributes;
  readonly scope?: object;
  readonly schemaUrl?: string;
  readonly metrics: readonly object[];
}

export function metricsBatch(...all: readonly ResourceMetrics[]): Batch {
  const resourceMetrics = all.map(({ resource = {}, scope = {}, schemaUrl = "", metrics }) => ({
    resource: { attributes: attributes(resource) },
    scopeMetrics: [{ scope, schemaUrl, metrics }],
  }));
  return batchFromJson("metrics", JSON.stringify({ resourceMetrics }));
}

/** Nanoseconds of `ms` milliseconds after a minute ago. */
export const BASE_MS = Date.now() - 60_000;
export const at = (ms: number) => `${BASE_MS + ms}000000`;

export const gauge = (name: string, value: number, labels: Attributes = {}, more: object = {}) => ({
  name,
  gauge: { dataPoints: [{ asDouble: value, timeUnixNano: at(0), attributes: attributes(labels), ...more }] },
});

export const sum = (name: string, value: number, labels: Attributes = {}, more: object = {}, kind: object = {}) => ({
  name,
  sum: {
    isMonotonic: true,
    aggregationTemporality: 2,
    ...kind,
    dataPoints: [{ asInt: value, timeUnixNano: at(0), attributes: attributes(labels), ...more }],
  },
});

export const histogram = (
  name: string,
  counts: readonly number[],
  total: number,
  more: object = {},
  temporality = 2,
) => ({
  name,
  unit: "s",
  description: "How long it took",
  histogram: {
    aggregationTemporality: temporality,
    dataPoints: [
      {
        timeUnixNano: at(0),
        count: counts.reduce((a, b) => a + b, 0),
        sum: total,
        bucketCounts: counts,
        explicitBounds: [0.1, 1, 2500000],
        attributes: attributes({ route: "/a" }),
        ...more,
      },
    ],
  },
});
