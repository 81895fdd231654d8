import { onTestFinished } from "vitest";
import { freePort } from "../../../src/agent/testing/free-port.js";
import { prometheusExporter } from "../../../src/exporters/prometheus/component.js";
import type { Exporter } from "../../../src/plugin.js";
import { exporterContext, never } from "../support.js";
import { metricsBatch, type ResourceMetrics } from "./metrics.js";

/** A prometheus exporter for the duration of a test, with functions to feed and scrape it. */
export async function startPrometheusExporter(
  config: object = {},
  context: Parameters<typeof exporterContext>[0] = {},
) {
  const endpoint = `127.0.0.1:${await freePort()}`;
  const parsed = prometheusExporter.schema.parse({ endpoint, without_scope_info: true, ...config });
  const exporter: Exporter = prometheusExporter.create(parsed, exporterContext(context));
  await exporter.start!();
  onTestFinished(() => exporter.stop!());
  const url = `http://${endpoint}/metrics`;
  const scrape = async (headers: Record<string, string> = {}) => (await fetch(url, { headers })).text();
  return {
    exporter,
    endpoint,
    url,
    scrape,
    send: (...all: ResourceMetrics[]) => exporter.send(metricsBatch(...all), never),
  };
}
