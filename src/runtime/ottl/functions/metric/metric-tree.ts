import type { Tree } from "#otlp/bytes";

/** Shared by the editors of metrics: a metric as a tree, and its points. */

const METRIC_KINDS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;
type MetricDataKind = (typeof METRIC_KINDS)[number];

export function kindOf(metric: Tree): MetricDataKind | undefined {
  return METRIC_KINDS.find((kind) => metric[kind] !== undefined);
}

export function pointsOf(metric: Tree, kind = kindOf(metric)): Tree[] {
  const data = (kind === undefined ? {} : (metric[kind] ?? {})) as Tree;
  return (data["dataPoints"] ?? []) as Tree[];
}

export function attributesAndTimes(point: Tree): Tree {
  const kept: Tree = {};
  for (const name of ["attributes", "startTimeUnixNano", "timeUnixNano"]) {
    if (point[name] !== undefined) kept[name] = point[name];
  }
  return kept;
}

/** Another metric with the name, description and unit of this one. */
export function describedLike(metric: Tree, suffix: string): Tree {
  return {
    name: `${String(metric["name"] ?? "")}${suffix}`,
    description: metric["description"] ?? "",
    unit: metric["unit"] ?? "",
  };
}

export const TEMPORALITIES: Readonly<Record<string, number>> = { delta: 1, cumulative: 2 };
