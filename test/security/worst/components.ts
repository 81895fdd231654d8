import type { Signal } from "../../../src/plugin.js";

/** One component in a pipeline of its own. Texts contain $SINK, the address of a backend that takes everything. */
export interface WorstCase {
  readonly signals?: readonly Signal[];
  readonly processor?: object;
  readonly exporter?: object;
  readonly connector?: object;
  /** Requests that grow to more bytes than can be sent in the time of a test: their resource is part of each record. */
  readonly except?: readonly string[];
  /** It works on a request some time after its answer. */
  readonly worksLaterMs?: number;
  /** Without a queue all slices of a request are sent at once, and each holds its resource: more than others take. */
  readonly maxPeakMiB?: number;
  /** The signal that the connector makes, if it is another one. */
  readonly to?: Signal;
}

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

/** Every processor and connector through which data of clients passes, with a config that makes it work hard. */
export const WORST_STAGES: Readonly<Record<string, WorstCase>> = {
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
  batch: { worksLaterMs: 300, processor: { batch: { send_batch_max_size: 8192 } } },
  probabilistic_sampler: {
    signals: ["logs", "traces"],
    processor: { probabilistic_sampler: { sampling_percentage: 50 } },
  },
  adaptive_sampling: { signals: ["traces"], processor: { adaptive_sampling: {} } },
  tail_sampling: {
    signals: ["traces"],
    worksLaterMs: 400,
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
    worksLaterMs: 1200,
    processor: { logdedup: { interval: "1s", exclude_fields: ["attributes.k1", "body.k1.k2"] } },
  },
  interval: { signals: ["metrics"], worksLaterMs: 1200, processor: { interval: { interval: "1s" } } },
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
  memory_limiter: { processor: { memory_limiter: { limit_mib: 100_000 } } },
  groupbytrace: { signals: ["traces"], worksLaterMs: 400, processor: { groupbytrace: { wait_duration: "200ms" } } },
  versioning: {
    signals: ["logs"],
    processor: {
      versioning: {
        events: {
          v: { current: 2, upcasts: [{ from: 1, to: 2, remove: ["k9"], rename: { k1: "k2" }, set: { x: "y" } }] },
        },
        unknown: "pass",
      },
    },
  },
  span: {
    signals: ["traces"],
    processor: {
      span: { name: { from_attributes: ["k1", "k9"], separator: "/", to_attributes: { rules: ["^(?P<a>.*)$"] } } },
    },
  },
  resource_detection: { processor: { resource_detection: { detectors: ["env", "system"] } } },
  k8s_attributes: { processor: { k8s_attributes: { passthrough: true } } },
  datadog: { signals: ["traces"], connector: { datadog: {} }, to: "metrics" },
  exceptions: { signals: ["traces"], connector: { exceptions: {} }, to: "metrics" },
  failover: { connector: { failover: { priority_levels: [["$SIGNAL/$NUMBER-out"]] } } },
  forward: { connector: { forward: {} } },
  routing: {
    signals: ["logs"],
    connector: {
      routing: {
        default_pipelines: ["$SIGNAL/$NUMBER-out"],
        table: [{ context: "log", condition: 'attributes["k9"] == "q"', pipelines: ["$SIGNAL/$NUMBER-out"] }],
      },
    },
  },
};
