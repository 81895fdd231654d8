import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { masks } from "../../../../src/agent/mask-batch.js";
import { freePort } from "../../../../src/agent/testing/free-port.js";
import { loadConfig } from "../../../../src/runtime/config/load.js";
import { Registry } from "../../../../src/runtime/config/resolve/registry.js";
import { Agent } from "../../../../src/runtime/host/agent.js";
import { createSelfTelemetry } from "../../../../src/runtime/host/self-telemetry/self-telemetry.js";
import { builtins } from "../../../support/builtins.js";
import { until } from "../../../support/until.js";
import { Captured } from "./support.js";

const NOUNS = ["log_records", "metric_points", "spans"];
const each = (pattern: string, labels: readonly string[]) =>
  NOUNS.map((noun): [string, readonly string[]] => [pattern.replace("*", noun), labels]);

/** The metrics that the Collector 0.159 shows with logs, spans and metrics through otlp, filter, transform, batch and otlp_http, at level detailed. */
const COLLECTOR: readonly (readonly [name: string, labels: readonly string[]])[] = [
  ["http_client_request_body_size", []],
  ["http_client_request_duration", []],
  ["http_server_request_body_size", []],
  ["http_server_request_duration", []],
  ["http_server_response_body_size", []],
  ["otelcol_exporter_enqueue_size", []],
  ["otelcol_exporter_enqueue_size_bytes", []],
  ["otelcol_exporter_in_flight_requests", ["data_type", "exporter"]],
  ["otelcol_exporter_queue_capacity", ["data_type", "exporter"]],
  ["otelcol_exporter_queue_size", ["data_type", "exporter"]],
  ...each("otelcol_exporter_send_failed_*", ["exporter"]),
  ...each("otelcol_exporter_sent_*", ["exporter"]),
  ["otelcol_process_cpu_seconds", []],
  ["otelcol_process_memory_rss", []],
  ["otelcol_process_runtime_heap_alloc_bytes", []],
  ["otelcol_process_runtime_total_alloc_bytes", []],
  ["otelcol_process_runtime_total_sys_memory_bytes", []],
  ["otelcol_process_uptime", []],
  ["otelcol_processor_batch_batch_send_size", []],
  ["otelcol_processor_batch_batch_send_size_bytes", []],
  ["otelcol_processor_batch_metadata_cardinality", []],
  ["otelcol_processor_batch_timeout_trigger_send", []],
  ["otelcol_processor_filter_logs_filtered", ["filter"]],
  ["otelcol_processor_incoming_items", ["otel_signal", "processor"]],
  ["otelcol_processor_internal_duration", []],
  ["otelcol_processor_outgoing_items", ["otel_signal", "processor"]],
  ...each("otelcol_receiver_accepted_*", ["receiver", "transport"]),
  ...each("otelcol_receiver_failed_*", ["receiver", "transport"]),
  ...each("otelcol_receiver_refused_*", ["receiver", "transport"]),
  ["promhttp_metric_handler_errors_total", []],
  ["rpc_client_call_duration", []],
  ["target_info", ["service_instance_id", "service_name", "service_version"]],
];

/** The metrics in the queries of two public dashboards: Grafana's number 15983, and the data flow of OpenTelemetry's demo. */
const DASHBOARDS: readonly (readonly [name: string, labels: readonly string[]])[] = [
  ...each("otelcol_receiver_accepted_*", ["receiver", "transport"]),
  ...each("otelcol_receiver_refused_*", ["receiver", "transport"]),
  ...each("otelcol_exporter_sent_*", ["exporter"]),
  ...each("otelcol_exporter_send_failed_*", ["exporter"]),
  ...each("otelcol_exporter_enqueue_failed_*", ["exporter"]),
  ["otelcol_exporter_queue_size", ["exporter"]],
  ["otelcol_exporter_queue_capacity", ["exporter"]],
  ["otelcol_process_cpu_seconds", []],
  ["otelcol_process_memory_rss", []],
  ["otelcol_process_runtime_heap_alloc_bytes", []],
  ["otelcol_process_runtime_total_sys_memory_bytes", []],
  ["otelcol_process_uptime", []],
  ["otelcol_processor_filter_logs_filtered", ["filter"]],
  ["otelcol_processor_filter_spans_filtered", ["filter"]],
  ["otelcol_processor_filter_datapoints_filtered", ["filter"]],
  ["otelcol_processor_incoming_items", ["processor"]],
  ["otelcol_processor_outgoing_items", ["processor"]],
  ...each("otelcol_processor_accepted_*", ["processor"]),
  ...each("otelcol_processor_refused_*", ["processor"]),
  ...each("otelcol_processor_dropped_*", ["processor"]),
  ["otelcol_processor_batch_batch_send_size", ["processor"]],
  ["otelcol_processor_batch_batch_size_trigger_send", ["processor"]],
  ["otelcol_processor_batch_timeout_trigger_send", ["processor"]],
  ["http_client_duration", []],
  ["http_server_duration", []],
  ["rpc_client_duration", []],
  ["rpc_client_request_size", []],
  ["rpc_client_responses_per_rpc", []],
  ["rpc_server_duration", []],
  ["rpc_server_request_size", []],
  ["rpc_server_responses_per_rpc", []],
];

/** The names in the first column of the table of metrics that are not here. */
const absent = new Set(
  readFileSync("docs/operate/self-observability.md", "utf8")
    .split("### Metrics of the Collector that are not here\n")[1]!
    .split("\n#")[0]!
    .split("\n")
    .flatMap((line) => [...(/^\|([^|]*)\|/.exec(line)?.[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name!)),
);

describe("the metrics of an agent with traffic", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-collector-metrics-"));
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  let page = "";

  beforeAll(async () => {
    const backend = createServer((request, response) => request.resume().on("end", () => response.end()));
    await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
    stops.push(() => backend.close());
    const [receiver, metrics] = [await freePort(), await freePort()];
    const yaml = `
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:${receiver}"}}}}
processors:
  filter: {logs: {log_record: ['body == "drop"']}, traces: {span: ['name == "drop"']}, metrics: {datapoint: ['value_int == 5']}}
  batch: {timeout: 10ms}
exporters: {otlp_http: {endpoint: "http://127.0.0.1:${(backend.address() as AddressInfo).port}", sending_queue: {queue_size: 1000}}}
extensions: {reliability: {directory: ${JSON.stringify(folder)}}}
service:
  extensions: [reliability]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: ${metrics}}}}}]}}
  pipelines:
    logs: {receivers: [otlp], processors: [filter, batch], exporters: [otlp_http]}
    traces: {receivers: [otlp], processors: [filter, batch], exporters: [otlp_http]}
    metrics: {receivers: [otlp], processors: [filter, batch], exporters: [otlp_http]}
`;
    const sources = [{ text: yaml, name: "test.yaml" }];
    const { config, problems } = loadConfig({ sources, env: {}, registry: new Registry(builtins) });
    expect(problems).toEqual([]);
    const self = createSelfTelemetry(config!, { stderr: new Captured(), isTerminal: false });
    await self.start();
    stops.push(() => self.stop());
    const agent = new Agent(config!, { logger: self.logger, metrics: self.metrics }, masks);
    await agent.start();
    stops.push(() => agent.stop(0));
    for (const [signal, body] of Object.entries(REQUESTS)) {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`http://127.0.0.1:${receiver}/v1/${signal}`, { method: "POST", headers, body });
      expect(answer.status).toBe(200);
    }
    const scrape = async () => {
      page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
      return NOUNS.map((noun) => page.includes(`otelcol_exporter_sent_${noun}{exporter="otlp_http"} 1`));
    };
    await until(async () => expect(await scrape()).toEqual([true, true, true]));
  });

  const isShown = (name: string, labels: readonly string[]) => {
    const samples = page.split("\n").filter((line) => /^\w+/.exec(line)?.[0].replace(/_bucket$/, "") === name);
    return samples.some((sample) => labels.every((label) => new RegExp(`[{,]${label}=`).test(sample)));
  };

  it.each(COLLECTOR)("have the Collector's %s with its labels, or the docs say why not", (name, labels) => {
    expect({ shown: isShown(name, labels), explained: absent.has(name) }).toEqual({
      shown: !absent.has(name),
      explained: absent.has(name),
    });
  });

  it.each(DASHBOARDS)("have what dashboards ask for, or the docs say why not: %s", (name, labels) => {
    expect(isShown(name, labels)).toBe(!absent.has(name));
  });

  it("are not named as absent without being known", () => {
    const known = new Set([...COLLECTOR, ...DASHBOARDS].map(([name]) => name));
    expect([...absent].filter((name) => !known.has(name))).toEqual([]);
  });
});

const REQUESTS = {
  logs: '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"keep"}},{"body":{"stringValue":"drop"}}]}]}]}',
  traces: `{"resourceSpans":[{"scopeSpans":[{"spans":[${["keep", "drop"]
    .map(
      (name) =>
        `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"${name}","kind":2,"startTimeUnixNano":"1","endTimeUnixNano":"2"}`,
    )
    .join()}]}]}]}`,
  metrics:
    '{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"g","gauge":{"dataPoints":[{"asInt":"1","timeUnixNano":"1"},{"asInt":"5","timeUnixNano":"1"}]}}]}]}]}',
};
