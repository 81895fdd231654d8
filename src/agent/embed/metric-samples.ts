import type { MetricAttributes } from "#contract";
import type { MetricFamily, MetricRegistry } from "#host";

/** The current value of one of Sluice's own metrics. */
export type MetricSample =
  | {
      readonly name: string;
      readonly kind: "counter" | "gauge";
      readonly attributes: MetricAttributes;
      readonly value: number;
    }
  | {
      readonly name: string;
      readonly kind: "histogram";
      readonly attributes: MetricAttributes;
      readonly count: number;
      readonly sum: number;
    };

/** The current values of all metrics in a registry. A gauge whose callback fails is skipped. */
export function metricSamples(registry: MetricRegistry): MetricSample[] {
  return [...registry.all()].flatMap(samplesOf);
}

function samplesOf(family: MetricFamily): MetricSample[] {
  const { name, kind } = family;
  if (kind === "histogram") {
    return [...family.series.values()].map(({ attributes, count, sum }) => ({ name, kind, attributes, count, sum }));
  }
  return [...family.series.values()].flatMap((series) => {
    try {
      return [{ name, kind, attributes: series.attributes, value: series.read() }];
    } catch {
      return [];
    }
  });
}
