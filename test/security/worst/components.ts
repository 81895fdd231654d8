import type { Signal } from "../../../src/plugin.js";

/** One component in a pipeline of its own. Texts contain $SINK, the address of a backend that takes everything. */
export interface WorstCase {
  readonly signals?: readonly Signal[];
  readonly processor?: object;
  readonly exporter?: object;
  readonly connector?: object;
  /** The signal that the connector makes, if it is another one. */
  readonly to?: Signal;
}

const DIRECT = { sending_queue: { enabled: false } };
const context = { logs: "log", traces: "span", metrics: "datapoint" };

function statements(...texts: readonly string[]) {
  const of = (signal: Signal) => [{ context: context[signal], statements: texts }];
  return {
    error_mode: "ignore",
    log_statements: of("logs"),
    trace_statements: of("traces"),
    metric_statements: of("metrics"),
  };
}

/** Every component through which data of clients passes, with a config that makes it work hard. */
export const WORST_CASES: Readonly<Record<string, WorstCase>> = {
  "nothing but a receiver": {},
  attributes: {
    processor: {
      attributes: {
        actions: [
          { pattern: "^k1.*", action: "delete" },
          { key: "x", value: "1", action: "insert" },
        ],
      },
    },
  },
  "attributes, hashing": { processor: { attributes: { actions: [{ pattern: "^k.*", action: "hash" }] } } },
  resource: { processor: { resource: { attributes: [{ key: "x", value: "1", action: "upsert" }] } } },
  filter: {
    processor: {
      filter: {
        error_mode: "ignore",
        logs: { log_record: ['IsMatch(body, "zzz")', 'attributes["k9"] == "q"'] },
        traces: { span: ['attributes["k9"] == "q"'], spanevent: ['name == "q"'] },
        metrics: { datapoint: ['attributes["id"] == "q"'] },
      },
    },
  },
  "transform, all attributes": {
    processor: {
      transform: statements("flatten(attributes)", "limit(attributes, 5000, [])", "truncate_all(attributes, 10)"),
    },
  },
  "transform, patterns": {
    processor: { transform: statements('replace_all_patterns(attributes, "value", "v(.*)", "w$1")') },
  },
  "transform, copying from the resource": {
    processor: { transform: statements('set(attributes["copy"], resource.attributes["k"])') },
  },
  "transform, XML": {
    signals: ["logs"],
    processor: {
      transform: {
        error_mode: "ignore",
        log_statements: [
          'set(log.attributes["found"], GetXML(log.body, "//a//b"))',
          'set(log.body, RemoveXML(log.body, "//b[following-sibling::b]"))',
        ],
      },
    },
  },
  pii: { processor: { pii: {} } },
  redaction: { processor: { redaction: { allow_all_keys: true, blocked_values: ["4[0-9]{12}"] } } },
  groupbyattrs: { processor: { groupbyattrs: { keys: ["k1", "id"] } } },
  batch: { processor: { batch: { send_batch_max_size: 8192 } } },
  probabilistic_sampler: {
    signals: ["logs", "traces"],
    processor: { probabilistic_sampler: { sampling_percentage: 50 } },
  },
  adaptive_sampling: { signals: ["traces"], processor: { adaptive_sampling: {} } },
  tail_sampling: {
    signals: ["traces"],
    processor: {
      tail_sampling: {
        decision_wait: "200ms",
        policies: [{ name: "errors", type: "status_code", status_code: { status_codes: ["ERROR"] } }],
      },
    },
  },
  rate_limit: { processor: { rate_limit: { limit: 1_000_000, window: "1s", global: false } } },
  metrics_transform: {
    signals: ["metrics"],
    processor: {
      metricstransform: {
        transforms: [
          {
            include: ".*",
            match_type: "regexp",
            action: "update",
            operations: [{ action: "aggregate_labels", label_set: [], aggregation_type: "sum" }],
          },
        ],
      },
    },
  },
  cumulative_to_delta: { signals: ["metrics"], processor: { cumulativetodelta: {} } },
  delta_to_cumulative: { signals: ["metrics"], processor: { deltatocumulative: {} } },
  log_dedup: {
    signals: ["logs"],
    processor: { logdedup: { interval: "1s", exclude_fields: ["attributes.k1", "body.k1.k2"] } },
  },
  interval: { signals: ["metrics"], processor: { interval: { interval: "1s" } } },
  metrics_generation: {
    signals: ["metrics"],
    processor: {
      metricsgeneration: {
        rules: [{ name: "n", type: "calculate", metric1: "m", metric2: "m", operation: "divide" }],
      },
    },
  },
  metric_start_time: {
    signals: ["metrics"],
    processor: { metricstarttime: { strategy: "subtract_initial_point" } },
  },
  delta_to_rate: { signals: ["metrics"], processor: { deltatorate: { metrics: ["m", "metric"] } } },
  debug: { exporter: { debug: { verbosity: "detailed" } } },
  file: { exporter: { file: { path: "$FOLDER/$NUMBER.json" } } },
  "otlp_http, JSON": { exporter: { otlphttp: { endpoint: "$SINK", encoding: "json", ...DIRECT } } },
  "otlp_http, snappy": { exporter: { otlphttp: { endpoint: "$SINK", compression: "snappy", ...DIRECT } } },
  "otlp_http, lz4": { exporter: { otlphttp: { endpoint: "$SINK", compression: "lz4", ...DIRECT } } },
  "otlp_http with a queue": { exporter: { otlphttp: { endpoint: "$SINK" } } },
  loki: { signals: ["logs"], exporter: { loki: { endpoint: "$SINK/loki/api/v1/push", ...DIRECT } } },
  elasticsearch: { signals: ["logs", "traces"], exporter: { elasticsearch: { endpoint: "$SINK", ...DIRECT } } },
  opensearch: { signals: ["logs", "traces"], exporter: { opensearch: { http: { endpoint: "$SINK" }, ...DIRECT } } },
  zipkin: { signals: ["traces"], exporter: { zipkin: { endpoint: "$SINK/api/v2/spans", ...DIRECT } } },
  prometheus: { signals: ["metrics"], exporter: { prometheus: { endpoint: "127.0.0.1:0" } } },
  prometheus_remote_write: {
    signals: ["metrics"],
    exporter: { prometheusremotewrite: { endpoint: "$SINK/write", ...DIRECT } },
  },
  clickhouse: { exporter: { clickhouse: { endpoint: "$SINK", create_schema: false, ...DIRECT } } },
  span_metrics: { signals: ["traces"], connector: { span_metrics: { dimensions: [{ name: "k9" }] } }, to: "metrics" },
  service_graph: { signals: ["traces"], connector: { service_graph: {} }, to: "metrics" },
  count: { connector: { count: {} }, to: "metrics" },
  sum: {
    signals: ["logs"],
    connector: {
      sum: { logs: { total: { source_attribute: "k1", attributes: [{ key: "id", default_value: "x" }] } } },
    },
    to: "metrics",
  },
};
