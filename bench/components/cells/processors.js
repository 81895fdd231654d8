import { Batch } from "../../../dist/plugin.js";
import { component, contextOf, factoryOf, passing } from "../kit.js";
import { growing, logs, logsOfPods, seeded, spans, sums } from "../load.js";

export const CHECK = "the check of every field when it comes in";

/**
 * Processors between a source and a target that accepts at once, with a thousand records per batch.
 * @type {Record<string, import("../cells.js").Cell>}
 */
export const PROCESSOR_CELLS = {
  memory_limiter: cell("memory_limiter", "record", { limit_mib: 4000 }, logsBatches),
  "attributes, four actions": cell("attributes", "record", { actions: actions() }, logsBatches),
  "resource, one action": cell(
    "resource",
    "record",
    { attributes: [{ key: "deployment.environment", value: "production", action: "upsert" }] },
    logsBatches,
  ),
  "resource_detection, env and system": cell(
    "resource_detection",
    "record",
    { detectors: ["env", "system"] },
    logsBatches,
  ),
  "k8s_attributes, ten pods a batch": {
    of: "processor/k8s_attributes",
    unit: "record",
    base: CHECK,
    start: async ({ target }) => {
      const keys = { api_server: `http://127.0.0.1:${target}`, extract: { labels: [{ tag_name: "app", key: "app" }] } };
      return passing(await component("processor/k8s_attributes", keys), [Batch.admit("logs", logsOfPods(1000))]);
    },
  },
  "span, an attribute out of the name": cell(
    "span",
    "span",
    { name: { to_attributes: { rules: ["/resource-(?P<resource>[0-9]+)$"] } } },
    spansBatches,
  ),
  "groupbytrace, every span a trace": {
    of: "processor/groupbytrace",
    unit: "span",
    base: CHECK,
    // A turn does not wait for its spans: they leave when others take their place.
    makesOthers: true,
    start: async () => {
      const keys = { wait_duration: "1h", num_traces: 5000 };
      return passing(await component("processor/groupbytrace", keys), spansBatches(), false);
    },
  },
  "groupbyattrs, twenty groups": cell("groupbyattrs", "record", { keys: ["http.route"] }, logsBatches),
  "metrics_transform, no metric of its rules": transform("nothing.of.that.name"),
  "metrics_transform, every metric renamed": transform("^http\\.(.*)$$"),
  "cumulative_to_delta, 1,000 series": cell("cumulative_to_delta", "sample", { initial_value: "keep" }, () => [
    later(2),
  ]),
  "delta_to_cumulative, 1,000 series": cell("delta_to_cumulative", "sample", {}, () => [later(1)]),
  "metric_start_time, 1,000 series": cell("metric_start_time", "sample", {}, () => [
    // Their time is their start.
    Batch.admit("metrics", sums(1000, 0)),
  ]),
  "delta_to_rate, every metric converted": cell(
    "delta_to_rate",
    "sample",
    { metrics: Array.from({ length: 10 }, (_, i) => `http.server.requests.${i}`) },
    () => [Batch.admit("metrics", sums(1000, 1, 0, 1))],
  ),
  "log_dedup, 1,000 kinds": {
    of: "processor/log_dedup",
    unit: "record",
    base: CHECK,
    makesOthers: true,
    // Requests wait for an hour; what waits leaves when it is more than max_bytes.
    start: async () => passing(await component("processor/log_dedup", { interval: "1h" }), logsBatches(), false),
  },
  "interval, 1,000 series": {
    of: "processor/interval",
    unit: "sample",
    base: CHECK,
    makesOthers: true,
    start: async () => passing(await component("processor/interval", { interval: "1h" }), [later(2)], false),
  },
  "metrics_generation, one metric of ten scaled": {
    of: "processor/metrics_generation",
    unit: "sample",
    base: CHECK,
    makesOthers: true,
    start: async () => {
      const rule = { name: "n", type: "scale", metric1: "http.server.requests.3", scale_by: 2, operation: "multiply" };
      const batches = [Batch.admit("metrics", sums(1000, 1))];
      return passing(await component("processor/metrics_generation", { rules: [rule] }), batches);
    },
  },
  "spanmetrics as a processor, 10,000 series": {
    of: "processor/spanmetrics",
    unit: "span",
    base: CHECK,
    makesOthers: true,
    start: async () => {
      const factory = await factoryOf("processor/spanmetrics");
      const config = factory.schema.parse({ metrics_exporter: "otlp", metrics_flush_interval: "1h" });
      const { connector } = factory.beside(config);
      const context = contextOf("connector", { from: "traces", to: "metrics" });
      return passing(connector.create(config, context), spansBatches(), false);
    },
  },
};

function actions() {
  return [
    { key: "region", value: "eu-west-1", action: "insert" },
    { key: "http.code", value: 201, action: "update" },
    { key: "client", from_attribute: "user.id", action: "upsert" },
    { key: "http.method", action: "delete" },
  ];
}

/** @returns {import("../cells.js").Cell} */
function cell(
  /** @type {string} */ type,
  /** @type {string} */ unit,
  /** @type {object} */ keys,
  /** @type {() => (Batch | (() => Batch))[]} */ batches,
) {
  const of = `processor/${type}`;
  return { of, unit, base: CHECK, start: async () => passing(await component(of, keys), batches()) };
}

/** @returns {import("../cells.js").Cell} */
function transform(/** @type {string} */ include) {
  const rule = { include, match_type: "regexp", action: "update", new_name: "web.$${1}" };
  return cell("metrics_transform", "sample", { transforms: [rule] }, () =>
    [1, 2, 3].map((turn) => Batch.admit("metrics", sums(1000, turn))),
  );
}

function logsBatches() {
  return [Batch.admit("logs", logs(1000))];
}

export function spansBatches() {
  const random = seeded();
  return Array.from({ length: 40 }, () => Batch.admit("traces", spans(1000, 10_000, random)));
}

/** The same series, a second later each time. */
function later(/** @type {number} */ temporality) {
  const bytes = sums(1000, 1, 0, temporality);
  const grow = growing(bytes, 1);
  const batch = Batch.admit("metrics", bytes);
  return () => {
    grow();
    return batch;
  };
}
