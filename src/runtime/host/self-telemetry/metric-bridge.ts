import type { Meter, ObservableResult } from "@opentelemetry/api";
import type { CounterFamily, GaugeFamily, HistogramFamily, MetricFamily, MetricRegistry } from "./metric-registry.js";

/** Registers an OpenTelemetry instrument for every present and future family of the registry. */
export function bridgeMetrics(registry: MetricRegistry, meter: Meter): void {
  registry.watch((family) => addInstrument(family, meter));
}

function addInstrument(family: MetricFamily, meter: Meter): void {
  const { description, unit } = family.description;
  const options = { description, ...(unit !== undefined && { unit }) };
  if (family.kind === "histogram") return addHistogram(family, meter, options);
  const { name, kind } = family;
  const instrument =
    kind === "counter" ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options);
  instrument.addCallback((result) => observe(family, result));
}

function observe(family: CounterFamily | GaugeFamily, result: ObservableResult): void {
  for (const series of family.series.values()) {
    const value = readSafely(series.read.bind(series));
    if (value !== undefined) result.observe(value, series.attributes);
  }
}

/** A failing gauge must not prevent the others from being read. */
function readSafely(read: () => number): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function addHistogram(family: HistogramFamily, meter: Meter, options: object): void {
  const advice = { explicitBucketBoundaries: [...family.boundaries] };
  const histogram = meter.createHistogram(family.name, { ...options, advice });
  family.sink = (value, attributes) => histogram.record(value, attributes);
  for (const series of family.series.values()) series.flush();
}
