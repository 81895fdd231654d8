import {
  countRecords,
  decodeMessage,
  eachBody,
  encodeMessage,
  MESSAGES,
  message,
  SHAPES,
  WireWriter,
} from "#otlp/bytes";
import { OWNER_TAG, RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG } from "#otlp/tags";
import { Batch, type Tree } from "../../plugin.js";
import type { MetricTransform } from "./config.js";
import { ListedMetric } from "./listed-metric.js";
import { setLabel } from "./operations.js";
import { type MetricGroup, type OnSkipped, ScopeTransformer } from "./scope-transformer.js";

const RESOURCE = MESSAGES["Resource"]!;

/**
 * Returns the batch with its metrics transformed scope by scope. Each transform works on the result of the ones before
 * it. Metrics that no transform matches keep their bytes; a batch without matching metrics is returned as it is.
 */
export function transformMetrics(batch: Batch, transforms: readonly MetricTransform[], onSkipped: OnSkipped): Batch {
  const b = batch.bytes;
  const out = new WireWriter(b.length + 1024);
  const grouped = new WireWriter(64);
  let copied = 0;
  eachBody(b, 0, b.length, RESOURCE_CONTAINER_TAG, (start, end, at) => {
    const changed = changedScopes(b, start, end, transforms, grouped, onSkipped);
    if (changed.size === 0) return;
    out.copy(b, copied, at);
    copied = end;
    writeResource(out, b, start, end, changed);
  });
  if (copied === 0) return batch;
  out.copy(b, copied, b.length);
  out.copy(grouped.bytes, 0, grouped.length);
  const bytes = Uint8Array.from(out.written());
  return Batch.trusted("metrics", bytes, countRecords(bytes, 0, bytes.length, SHAPES.metrics));
}

/** Returns the changed scopes of a resource, by the position where each scope begins. */
function changedScopes(
  b: Uint8Array,
  start: number,
  end: number,
  transforms: readonly MetricTransform[],
  grouped: WireWriter,
  onSkipped: OnSkipped,
): Map<number, ListedMetric[]> {
  const changed = new Map<number, ListedMetric[]>();
  eachBody(b, start, end, SCOPE_CONTAINER_TAG, (scopeStart, scopeEnd) => {
    const metrics: ListedMetric[] = [];
    eachBody(b, scopeStart, scopeEnd, SCOPE_ITEM_TAG, (from, to) => metrics.push(new ListedMetric(b, from, to)));
    const scope = new ScopeTransformer(metrics, onSkipped);
    for (const transform of transforms) scope.apply(transform);
    if (!scope.isChanged) return;
    changed.set(scopeStart, scope.metrics);
    for (const group of scope.groups) writeGroup(grouped, b, [start, end], [scopeStart, scopeEnd], group);
  });
  return changed;
}

/**
 * Writes the container [start, end) of a resource with new metrics in these scopes. Scopes and resources without
 * metrics are left out.
 */
function writeResource(
  out: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  changed: ReadonlyMap<number, readonly ListedMetric[]>,
): void {
  let isLeft = false;
  eachBody(b, start, end, SCOPE_CONTAINER_TAG, (scopeStart) => {
    if (changed.get(scopeStart)?.length !== 0) isLeft = true;
  });
  if (!isLeft) return;
  out.byte(RESOURCE_CONTAINER_TAG);
  out.begin(end - start);
  let copied = start;
  eachBody(b, start, end, SCOPE_CONTAINER_TAG, (scopeStart, scopeEnd, at) => {
    const metrics = changed.get(scopeStart);
    if (metrics === undefined) return;
    out.copy(b, copied, at);
    copied = scopeEnd;
    if (metrics.length > 0) writeScope(out, b, scopeStart, scopeEnd, metrics);
  });
  out.copy(b, copied, end);
  out.end();
}

/** Writes the container [start, end) of a scope with new metrics. */
function writeScope(
  out: WireWriter,
  b: Uint8Array,
  start: number,
  end: number,
  metrics: readonly ListedMetric[],
): void {
  out.byte(SCOPE_CONTAINER_TAG);
  out.begin(end - start);
  let copied = start;
  eachBody(b, start, end, SCOPE_ITEM_TAG, (_start, metricEnd, at) => {
    out.copy(b, copied, at);
    copied = metricEnd;
  });
  out.copy(b, copied, end);
  for (const metric of metrics) metric.write(out);
  out.end();
}

/**
 * Writes a container of its own for these metrics: the same resource with these attributes added, and the same scope.
 */
function writeGroup(
  out: WireWriter,
  b: Uint8Array,
  [start, end]: readonly [number, number],
  [scopeStart, scopeEnd]: readonly [number, number],
  { labels, metrics }: MetricGroup,
): void {
  const resource = decodeMessage(RESOURCE, b, ...message(b, start, end, OWNER_TAG));
  const labelled = Object.entries(labels).reduce<Tree>((all, [key, value]) => setLabel(all, key, value), resource);
  out.byte(RESOURCE_CONTAINER_TAG);
  out.begin();
  out.byte(OWNER_TAG);
  out.begin();
  encodeMessage(RESOURCE, labelled, out);
  out.end();
  writeScope(out, b, scopeStart, scopeEnd, metrics);
  out.end();
}
