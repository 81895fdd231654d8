import { errorHandler } from "#ottl";
import { type Batch, defineConnector, eachBatch, encodeTree, SIGNALS, type Tree } from "../../plugin.js";
import { type SumConfig, type SumGroup, sumSchema } from "./config.js";
import { type ResourceSums, sumWhere } from "./sum-where.js";

/**
 * Adds up values of attributes. Each batch becomes a batch of delta sums under the same resources, which carries the
 * debt of the batch: the sender is answered when the sums have been accepted too. A batch with nothing to add up is
 * acknowledged.
 */
export const sum = defineConnector<SumConfig>({
  type: "sum",
  summary: "Adds up values of attributes of spans, span events, data points and log records, as metrics.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: "metrics" })),
  schema: sumSchema,
  create(config, context) {
    const groups = config[context.from];
    const onError = errorHandler("ignore", context);
    return eachBatch((batch, { setback }) => {
      // A batch that was taken out of its pipeline is not added up. It passes unchanged and becomes a dead letter.
      if (setback !== undefined) return batch;
      const found = groups.map((group) => sumWhere(batch, group.context, group.metrics, onError));
      return batchOf(groups, found, BigInt(context.clock.now()) * 1_000_000n);
    });
  },
});

const DELTA = 1;

function batchOf(
  groups: readonly SumGroup[],
  found: readonly (readonly (ResourceSums | undefined)[])[],
  now: bigint,
): Batch | null {
  const resourceMetrics: Tree[] = [];
  for (let at = 0; at < (found[0]?.length ?? 0); at++) {
    const sums = found.map((each) => each[at]);
    const resource = sums.find((each) => each !== undefined)?.resource;
    if (resource === undefined) continue;
    const metrics = groups.flatMap((group, i) => metricsOf(group, sums[i], now));
    resourceMetrics.push({ resource, scopeMetrics: [{ metrics }] });
  }
  return resourceMetrics.length === 0 ? null : encodeTree("metrics", { resourceMetrics });
}

function metricsOf({ metrics }: SumGroup, sums: ResourceSums | undefined, now: bigint): Tree[] {
  return metrics.flatMap(({ name, description }, i) => {
    const points = [...(sums?.bySpec[i]?.values() ?? [])];
    if (points.length === 0) return [];
    const dataPoints = points.map(
      ({ attributes, sum: value }): Tree => ({ attributes: [...attributes], timeUnixNano: now, asDouble: value }),
    );
    return [{ name, description, sum: { dataPoints, aggregationTemporality: DELTA, isMonotonic: true } }];
  });
}
