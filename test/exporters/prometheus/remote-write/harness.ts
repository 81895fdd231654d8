import { onTestFinished } from "vitest";
import { remoteWriteExporter } from "../../../../src/exporters/prometheus/remote-write/component.js";
import type { Exporter, ExporterFactory } from "../../../../src/plugin.js";
import { exporterContext, never } from "../../support.js";
import { at, metricsBatch, type ResourceMetrics } from "../metrics.js";

/** An exporter for the duration of a test. */
export async function startExporter(config: object, factory: ExporterFactory = remoteWriteExporter) {
  const exporter: Exporter = factory.create(factory.schema.parse(config), exporterContext());
  await exporter.start!();
  onTestFinished(() => exporter.stop!());
  return { exporter, send: (...all: ResourceMetrics[]) => exporter.send(metricsBatch(...all), never) };
}

/** A metric that is an exponential histogram. */
export const exponential = (more: object = {}) => ({
  name: "sizes",
  exponentialHistogram: {
    aggregationTemporality: 2,
    dataPoints: [
      {
        timeUnixNano: at(0),
        count: 10,
        sum: 20,
        scale: 0,
        zeroCount: 1,
        positive: { offset: 0, bucketCounts: [2, 3, 0, 0, 0, 0, 1] },
        negative: { offset: -2, bucketCounts: [3] },
        ...more,
      },
    ],
  },
});
