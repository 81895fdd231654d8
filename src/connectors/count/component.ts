import { errorHandler } from "#ottl";
import { type Batch, defineConnector, eachBatch, encodeTree, SIGNALS, type Tree } from "../../plugin.js";
import { type CountConfig, type CountGroup, type CountMetric, countSchema } from "./config.js";
import { countWhere, type ResourceCounts } from "./count-where.js";

/**
 * Counts telemetry. Each batch becomes a batch of delta sums under the same resources, which carries the debt of the
 * batch it counts: the sender is answered when the counts have been accepted too. A batch with nothing to count is
 * acknowledged.
 */
export const count = defineConnector<CountConfig>({
  type: "count",
  summary: "Counts spans, span events, metrics, data points and log records, as metrics.",
  routes: SIGNALS.map((signal) => ({ from: signal, to: "metrics" })),
  schema: countSchema,
  create(config, context) {
    const groups = config[context.from];
    const onError = errorHandler("ignore", context);
    return eachBatch((batch, { setback }) => {
      // A batch that was taken out of its pipeline is not counted. It passes unchanged and becomes a dead letter.
      if (setback !== undefined) return batch;
      const tallies = groups.map((group) => countWhere(batch, group.context, group.metrics, onError));
      return countsOf(groups, tallies, BigInt(context.clock.now()) * 1_000_000n);
    });
  },
});

function countsOf(
  groups: readonly CountGroup[],
  tallies: readonly (readonly (ResourceCounts | undefined)[])[],
  now: bigint,
): Batch | null {
  const resourceMetrics: Tree[] = [];
  for (let at = 0; at < (tallies[0]?.length ?? 0); at++) {
    const found = tallies.map((tallied) => tallied[at]);
    const resource = found.find((one) => one !== undefined)?.resource;
    if (resource === undefined) continue;
    const metrics = groups.flatMap((group, i) =>
      found[i] === undefined ? [] : metricsOf(group.metrics, found[i], now),
    );
    resourceMetrics.push({ resource, scopeMetrics: [{ scope: SCOPE, metrics }] });
  }
  return resourceMetrics.length === 0 ? null : encodeTree("metrics", { resourceMetrics });
}

/** The Collector's name: it is a label of the series in some backends, which a mixed fleet must share. */
const SCOPE: Tree = { name: "github.com/open-telemetry/opentelemetry-collector-contrib/connector/countconnector" };
const DELTA = 1;

function metricsOf(specs: readonly CountMetric[], { counts, earliest, latest }: ResourceCounts, now: bigint): Tree[] {
  const times = { startTimeUnixNano: earliest || now, timeUnixNano: latest || now };
  return specs.flatMap(({ name, description }, i) => {
    const dataPoints = counts
      .filter((one) => one.spec === i)
      .map((one): Tree => ({ attributes: [...one.attributes], ...times, asInt: BigInt(one.count) }));
    const sum = { dataPoints, aggregationTemporality: DELTA, isMonotonic: true };
    return dataPoints.length === 0 ? [] : [{ name, description, sum }];
  });
}
