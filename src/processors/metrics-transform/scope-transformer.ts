import { aggregatePoints, kindOf, pointsOf } from "#ottl";
import type { Tree } from "../../plugin.js";
import type { MetricFilter, MetricTransform } from "./config.js";
import { ListedMetric } from "./listed-metric.js";
import { expandName, mapPoints, matchesPoint, nameOf, setLabel, submatches, transformMetric } from "./operations.js";

/** Called with the reason when metrics cannot be combined. */
export type OnSkipped = (reason: string) => void;

/** Metrics that are moved to a resource of their own with these attributes. */
export interface MetricGroup {
  readonly labels: Readonly<Record<string, string>>;
  readonly metrics: readonly ListedMetric[];
}

/** Applies transforms to the metrics of one scope. */
export class ScopeTransformer {
  metrics: ListedMetric[];
  isChanged = false;
  readonly groups: MetricGroup[] = [];
  private readonly onSkipped: OnSkipped;

  constructor(metrics: ListedMetric[], onSkipped: OnSkipped) {
    this.metrics = metrics;
    this.onSkipped = onSkipped;
  }

  apply(transform: MetricTransform): void {
    const matched = this.metrics.filter((metric) => matchesMetric(transform.filter, metric));
    if (matched.length === 0) return;
    if (transform.action === "update") this.update(matched, transform);
    else if (transform.action === "insert") this.insert(matched, transform);
    else if (transform.action === "combine") this.combine(matched, transform);
    else this.group(matched, transform);
  }

  private update(matched: readonly ListedMetric[], transform: MetricTransform): void {
    this.isChanged = true;
    const gone = new Set<ListedMetric>();
    for (const metric of matched) {
      if (onlyRenames(transform)) {
        metric.rename(expandName(transform.filter, transform.newName, metric.name));
        continue;
      }
      const result = transformMetric(metric.tree, transform);
      if (result === undefined) gone.add(metric);
      else metric.tree = result;
    }
    if (gone.size > 0) this.metrics = this.metrics.filter((metric) => !gone.has(metric));
  }

  private insert(matched: readonly ListedMetric[], transform: MetricTransform): void {
    for (const metric of matched) {
      if (onlyRenames(transform)) {
        this.append(metric.copyNamed(expandName(transform.filter, transform.newName, metric.name)));
        continue;
      }
      const result = transformMetric(onlyMatching(metric.tree, transform.filter), transform);
      if (result !== undefined) this.append(created(result));
    }
  }

  private combine(matched: readonly ListedMetric[], transform: MetricTransform): void {
    const { filter, newName, aggregation, submatchCase } = transform;
    const trees = matched.map((metric) => metric.tree);
    const problem = combineProblem(trees);
    if (problem !== undefined) return this.onSkipped(problem);
    this.take(matched, filter);
    const parts = trees.map((tree) => {
      const found = [...submatches(filter, nameOf(tree))].filter(([, value]) => value !== "");
      const cased = (text: string) => (submatchCase === "lower" ? text.toLowerCase() : text.toUpperCase());
      const labels = found.map(([key, value]) => [key, submatchCase === "" ? value : cased(value)] as const);
      return mapPoints(onlyMatching(tree, filter), (point) =>
        labels.reduce((labelled, [key, value]) => setLabel(labelled, key, value), point),
      );
    });
    const points = parts.flatMap((part) => pointsOf(part));
    const kind = kindOf(parts[0]!)!;
    const all = { ...parts[0]!, name: newName, [kind]: { ...(parts[0]![kind] as Tree), dataPoints: points } };
    const result = transformMetric(aggregatePoints(all, aggregation, undefined) ?? all, transform);
    if (result !== undefined) this.append(created(result));
  }

  private group(matched: readonly ListedMetric[], { filter, groupLabels }: MetricTransform): void {
    const trees = matched.map((metric) => (filter.labels.size === 0 ? undefined : metric.tree));
    this.take(matched, filter);
    const metrics = matched.map((metric, i) => {
      const tree = trees[i];
      return tree === undefined ? metric : created(onlyMatching(tree, filter));
    });
    this.groups.push({ labels: groupLabels, metrics });
  }

  /** Removes the selected points from the scope. A metric that has other points stays with those. */
  private take(matched: readonly ListedMetric[], filter: MetricFilter): void {
    this.isChanged = true;
    const gone = new Set(matched);
    for (const metric of matched) {
      if (filter.labels.size === 0) continue;
      const rest = mapPoints(metric.tree, (point) => (matchesPoint(filter, point) ? undefined : point));
      if (pointsOf(rest).length === 0) continue;
      metric.tree = rest;
      gone.delete(metric);
    }
    this.metrics = this.metrics.filter((metric) => !gone.has(metric));
  }

  private append(metric: ListedMetric): void {
    this.isChanged = true;
    this.metrics.push(metric);
  }
}

const NO_BYTES = new Uint8Array(0);

function created(tree: Tree): ListedMetric {
  return new ListedMetric(NO_BYTES, 0, 0, tree);
}

/** Whether the transform only renames: it neither selects nor changes points. */
function onlyRenames({ newName, operations, filter }: MetricTransform): boolean {
  return newName !== "" && operations.length === 0 && filter.labels.size === 0;
}

/** Whether the filter matches the name and at least one point of the metric, or a metric without points. */
function matchesMetric(filter: MetricFilter, metric: ListedMetric): boolean {
  const isNamed = filter.pattern === undefined ? metric.name === filter.name : filter.pattern.test(metric.name);
  if (!isNamed || filter.labels.size === 0) return isNamed;
  const points = pointsOf(metric.tree);
  return points.length === 0 || points.some((point) => matchesPoint(filter, point));
}

function onlyMatching(metric: Tree, filter: MetricFilter): Tree {
  return filter.labels.size === 0
    ? metric
    : mapPoints(metric, (point) => (matchesPoint(filter, point) ? point : undefined));
}

/** Returns the reason why metrics cannot be combined, or undefined if they can. */
function combineProblem(metrics: readonly Tree[]): string | undefined {
  const [first] = metrics as [Tree];
  if (metrics.some((metric) => kindOf(metric) === "summary")) return "summaries cannot be combined";
  for (const metric of metrics) {
    const names = `${nameOf(first)} and ${nameOf(metric)}`;
    for (const [what, read] of Object.entries(ALIKE)) {
      if (read(first) !== read(metric)) return `metrics cannot be combined, as they have different ${what}: ${names}`;
    }
  }
  return undefined;
}

const dataOf = (metric: Tree) => (metric[kindOf(metric) ?? "gauge"] ?? {}) as Tree;

const ALIKE: Readonly<Record<string, (metric: Tree) => unknown>> = {
  types: kindOf,
  units: (metric) => metric["unit"] ?? "",
  attributes: (metric) => {
    const keys = pointsOf(metric).flatMap((point) => (point["attributes"] as Tree[] | undefined) ?? []);
    return [...new Set(keys.map(({ key }) => key))].sort().join("\u0000");
  },
  temporalities: (metric) => dataOf(metric)["aggregationTemporality"] ?? 0,
  monotonicity: (metric) => dataOf(metric)["isMonotonic"] ?? false,
};
