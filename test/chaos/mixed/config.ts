import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface MixedBackends {
  readonly http: string;
  readonly json: string;
  readonly grpc: string;
  readonly traces: string;
  readonly sampled: string;
  readonly metrics: string;
}

/**
 * All that an agent does between clients and backends, impatient in everything; its queues are encrypted. `store`: keys of the
 * extension that say where they are, if not in `directory`.
 */
export function mixedConfig(
  directory: string,
  backends: MixedBackends,
  store: object = { directory: join(directory, "queue") },
): object {
  const key = join(directory, "queue.key");
  writeFileSync(key, randomBytes(32).toString("hex"), { mode: 0o600 });
  const http = (endpoint: string, more: object = {}) => ({ endpoint, compression: "none", ...IMPATIENT, ...more });
  const counted = { attributes: [{ key: "chaos" }] };
  return {
    extensions: {
      health_check: { endpoint: "127.0.0.1:0" },
      reliability: {
        ...store,
        encryption: { keys: [{ id: "one", file: key }], refuse_plain: true },
      },
    },
    receivers: {
      otlp: { protocols: { http: { endpoint: "127.0.0.1:0" }, grpc: { endpoint: "127.0.0.1:0" } } },
    },
    processors: {
      tail_sampling: { decision_wait: "300ms", policies: [{ name: "all", type: "always_sample" }] },
    },
    connectors: {
      span_metrics: {
        aggregation_temporality: "AGGREGATION_TEMPORALITY_DELTA",
        histogram: { disable: true },
        metrics_flush_interval: "100ms",
      },
      count: { spans: { "chaos.spans": counted }, logs: { "chaos.logs": counted } },
    },
    exporters: {
      "otlp_http/proto": http(backends.http),
      "otlp_http/json": http(backends.json, { encoding: "json" }),
      otlp_grpc: { endpoint: backends.grpc, tls: { insecure: true }, compression: "none", ...IMPATIENT },
      "otlp_http/traces": http(backends.traces),
      "otlp_http/sampled": http(backends.sampled),
      "otlp_http/metrics": http(backends.metrics),
    },
    service: {
      extensions: ["health_check", "reliability"],
      shutdown_timeout: "1s",
      telemetry: { metrics: { level: "none" } },
      pipelines: {
        logs: { receivers: ["otlp"], exporters: ["otlp_http/proto", "otlp_http/json", "otlp_grpc", "count"] },
        traces: { receivers: ["otlp"], exporters: ["otlp_http/traces", "span_metrics", "count"] },
        "traces/sampled": { receivers: ["otlp"], processors: ["tail_sampling"], exporters: ["otlp_http/sampled"] },
        metrics: { receivers: ["span_metrics", "count"], exporters: ["otlp_http/metrics"] },
      },
    },
  };
}

const IMPATIENT = {
  timeout: "300ms",
  // A merged request has the key of all its entries, by which these backends would not know a single one again.
  sending_queue: { num_consumers: 4, merge_backlog: false },
  retry_on_failure: {
    initial_interval: "10ms",
    max_interval: "50ms",
    max_retries: 100_000,
    rate_limit: { per_second: 10_000, burst: 1000 },
  },
  circuit_breaker: { reset_timeout: "50ms", success_threshold: 1 },
  replay: { ramp: "100ms" },
};
