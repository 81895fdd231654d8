import { Batch, decodeTree, encodeTree } from "../../../dist/plugin.js";
import { component, passing } from "../kit.js";
import { calls, logs, seeded } from "../load.js";
import { CHECK, spansBatches } from "./processors.js";

const LOGS = { from: "logs", to: "logs" };
const CONDITION = 'attributes["http.route"] == "/api/v2/resource-3"';

/**
 * Connectors between a source and a target that accepts at once, with a thousand records per batch.
 * @type {Record<string, import("../cells.js").Cell>}
 */
export const CONNECTOR_CELLS = {
  "span_metrics, 10,000 series": {
    ...metricsOf("span_metrics", "span", { metrics_flush_interval: "1h" }, "traces", spansBatches),
    goal: 1.5,
  },
  "service_graph, two services": metricsOf("service_graph", "span", {}, "traces", () => {
    const random = seeded();
    return Array.from({ length: 40 }, () => Batch.admit("traces", calls(500, random)));
  }),
  "exceptions, of one span in ten": {
    ...metricsOf("exceptions", "span", {}, "traces", exceptionBatches),
    goal: 5,
  },
  "count, by one attribute": metricsOf(
    "count",
    "record",
    { logs: { "records.by.route": { attributes: [{ key: "http.route" }] } } },
    "logs",
    logsBatches,
  ),
  "sum, by one attribute": metricsOf(
    "sum",
    "record",
    { logs: { "codes.by.route": { source_attribute: "http.code", attributes: [{ key: "http.route" }] } } },
    "logs",
    logsBatches,
  ),
  "routing, one record of twenty elsewhere": passingLogs("routing", {
    default_pipelines: ["logs/a"],
    table: [{ context: "log", condition: CONDITION, pipelines: ["logs/b"] }],
  }),
  failover: passingLogs("failover", { priority_levels: [["logs/a"], ["logs/b"]] }),
  forward: passingLogs("forward", {}),
  datadog: {
    of: "connector/datadog",
    unit: "span",
    base: CHECK,
    start: async () =>
      passing(await component("connector/datadog", {}, { from: "traces", to: "traces" }), spansBatches()),
  },
};

/** @returns {import("../cells.js").Cell} */
function passingLogs(/** @type {string} */ type, /** @type {object} */ keys) {
  const of = `connector/${type}`;
  const start = async () => passing(await component(of, keys, LOGS), logsBatches());
  return { of, unit: "record", base: CHECK, start };
}

/** @returns {import("../cells.js").Cell} */
function metricsOf(
  /** @type {string} */ type,
  /** @type {string} */ unit,
  /** @type {object} */ keys,
  /** @type {string} */ from,
  /** @type {() => Batch[]} */ batches,
) {
  const of = `connector/${type}`;
  const start = async () => passing(await component(of, keys, { from, to: "metrics" }), batches(), false);
  return { of, unit, base: CHECK, makesOthers: true, start };
}

function logsBatches() {
  return [Batch.admit("logs", logs(1000))];
}

/** Of every ten spans, one has an exception. */
function exceptionBatches() {
  return spansBatches().map((batch) => {
    const tree = /** @type {any} */ (decodeTree(batch));
    for (const { scopeSpans } of tree.resourceSpans) {
      for (const { spans } of scopeSpans) {
        for (let i = 0; i < spans.length; i += 10) spans[i].events = [exception(i)];
      }
    }
    return encodeTree("traces", tree);
  });
}

function exception(/** @type {number} */ i) {
  const text = (/** @type {string} */ key, /** @type {string} */ stringValue) => ({ key, value: { stringValue } });
  const attributes = [
    text("exception.type", "TimeoutError"),
    text("exception.message", `no answer from node-${i % 50}`),
  ];
  return { name: "exception", timeUnixNano: 1_700_000_000_000_000_000n, attributes };
}
