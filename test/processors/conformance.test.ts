import { describe, it } from "vitest";
import { type ProcessorFactory, SIGNALS } from "../../src/plugin.js";
import { logs, type ProcessorConformanceOptions, processorConformance } from "../../src/testing.js";
import { builtins } from "../support/builtins.js";
import { CONDITION_LIMIT_MS } from "../support/limits.js";

const processors = new Map(
  builtins.flatMap((factory) => (factory.kind === "processor" ? [[factory.type, factory as ProcessorFactory]] : [])),
);

/** Attributes that some configs below look for, on some of the records. */
const attributes: ProcessorConformanceOptions["attributes"] = (_id, random) =>
  random.chance(0.5)
    ? {
        region: random.pick(["eu", "us"]),
        secret: "s3cret",
        mail: "ann@example.org",
        "event.name": "order.paid",
        sum: random.below(50),
      }
    : {};

const events = {
  "order.paid": { current: 2, upcasts: [{ from: 1, to: 2, rename: { sum: "amount" } }] },
};
const ottl = 'attributes["region"] == "eu"';

/** Spans leave by trace, whatever batches they came in, so no batch can stay the same object. */
const REASSEMBLES = ["passes on as the same bytes what it does not change"];

/** A name, its config, and the expected effect on records. */
const TABLE: Readonly<Record<string, readonly [string, ProcessorConformanceOptions][]>> = {
  batch: [
    ["merges", {}],
    ["merges and cuts", { config: { send_batch_size: 7, send_batch_max_size: 10, timeout: "10ms" } }],
    ["passes at once", { config: { send_batch_size: 0 } }],
  ],
  memory_limiter: [["has room", { config: { limit_mib: 100_000 } }]],
  rate_limit: [
    ["within its limit", { config: { limit: 1_000_000, global: false } }],
    ["drops what is over it", { config: { limit: 20, on_excess: "drop" }, records: "drops" }],
    ["dead-letters it", { config: { limit: 20, key: ["attributes.region"], on_excess: "dead_letter" } }],
    ["refuses", { config: { limit: 20, on_excess: "refuse" } }],
  ],
  probabilistic_sampler: [
    ["keeps half", { config: { sampling_percentage: 50, fail_closed: false }, records: "drops" }],
    ["marks what it keeps", { config: { sampling_percentage: 50, mode: "proportional" }, records: "drops" }],
  ],
  adaptive_sampling: [["with its defaults", { config: {}, records: "drops" }]],
  filter: [
    ["drops some", { config: each((context) => ({ [context.long]: [ottl] })), records: "drops" }],
    ["drops nothing", { config: {} }],
  ],
  transform: [
    ["edits some", { config: statements(`set(attributes["region"], "EU") where ${ottl}`) }],
    [
      "fails on some",
      {
        signals: ["logs"],
        config: {
          error_mode: "propagate",
          log_statements: ['set(attributes["n"], Int(ParseJSON(body)["n"])) where body == "{"'],
        },
        poison: () => logs("{"),
      },
    ],
  ],
  versioning: [
    ["brings events up to date", { config: { events } }],
    ["takes out what it does not know", { config: { events: { other: { current: 1 } }, unknown: "dead_letter" } }],
  ],
  attributes: [
    [
      "edits",
      {
        config: {
          actions: [
            { key: "secret", action: "delete" },
            { key: "region", action: "hash" },
            { key: "new", value: 1, action: "insert" },
          ],
        },
      },
    ],
    ["finds nothing to do", { config: { actions: [{ key: "absent", action: "delete" }] } }],
  ],
  resource: [["edits", { config: { attributes: [{ key: "service.name", value: "x", action: "upsert" }] } }]],
  span: [
    ["renames", { config: { name: { from_attributes: ["region"] } } }],
    ["finds nothing to do", { config: { name: { from_attributes: ["absent"] } } }],
  ],
  cumulative_to_delta: [["leaves first points out", { config: {}, records: "drops" }]],
  delta_to_cumulative: [["adds up", { config: {}, records: "drops" }]],
  metric_start_time: [
    ["keeps values", { config: {} }],
    ["subtracts", { config: { strategy: "subtract_initial_point" }, records: "drops" }],
    ["looks for a metric", { config: { strategy: "start_time_metric", start_time_metric_regex: "start" } }],
  ],
  delta_to_rate: [
    ["converts", { config: { metrics: ["sample", "requests"] } }],
    ["finds nothing to do", { config: { metrics: ["absent"] } }],
  ],
  metrics_transform: [
    [
      "labels",
      {
        config: {
          transforms: [
            {
              include: ".*",
              match_type: "regexp",
              action: "update",
              operations: [{ action: "add_label", new_label: "a", new_value: "b" }],
            },
          ],
        },
      },
    ],
    ["finds nothing to do", { config: { transforms: [{ include: "absent", action: "update", new_name: "x" }] } }],
  ],
  spanmetrics: [["passes all on", { config: { metrics_exporter: "debug" } }]],
  resource_detection: [
    ["knows the system", { config: { detectors: ["system"], system: { hostname_sources: ["os"] } } }],
    ["finds nothing", { config: { detectors: ["heroku"], override: false } }],
  ],
  k8s_attributes: [
    ["adds the client's address", { config: { passthrough: true } }],
    [
      "knows no pods",
      { config: { api_server: "http://127.0.0.1:9", wait_for_metadata_timeout: "10ms", pod_association: [] } },
    ],
  ],
  pii: [
    ["masks", { config: {} }],
    ["hashes and redacts", { config: { strategy: "hash", hash_key: "k".repeat(32), fields: { secret: "redact" } } }],
  ],
  redaction: [
    ["masks values", { config: { allow_all_keys: true, blocked_values: ["s3\\w+"], summary: "debug" } }],
    ["keeps only some keys", { config: { allowed_keys: ["sample.id", "region", "service.name"] } }],
  ],
  log_dedup: [
    ["counts", { config: { interval: "1s" }, skip: REASSEMBLES }],
    ["counts some", { config: { interval: "1s", conditions: [ottl] }, skip: REASSEMBLES }],
  ],
  interval: [
    ["keeps last points", { config: { interval: "1s" }, records: "drops", skip: REASSEMBLES }],
    [
      "passes gauges",
      { config: { interval: "1s", pass_through: { gauge: true } }, records: "drops", skip: REASSEMBLES },
    ],
  ],
  metrics_generation: [
    [
      "finds nothing to do",
      { config: { rules: [{ name: "n", type: "scale", metric1: "absent", scale_by: 2, operation: "multiply" }] } },
    ],
  ],
  groupbytrace: [["waits", { config: { wait_duration: "1s" }, skip: REASSEMBLES }]],
  tail_sampling: [
    [
      "keeps some",
      {
        config: {
          decision_wait: "1s",
          policies: [
            { name: "eu", type: "string_attribute", string_attribute: { key: "region", values: ["eu"] } },
            { name: "some", type: "probabilistic", probabilistic: { sampling_percentage: 30 } },
          ],
        },
        records: "drops",
        skip: REASSEMBLES,
      },
    ],
    [
      "keeps all",
      { config: { decision_wait: "1s", policies: [{ name: "all", type: "always_sample" }] }, skip: REASSEMBLES },
    ],
  ],
  groupbyattrs: [
    ["moves", { config: { keys: ["region"] } }],
    ["merges what is alike", { config: {} }],
  ],
};

function each(make: (context: { long: string }) => object): object {
  const contexts = { logs: { long: "log_record" }, traces: { long: "span" }, metrics: { long: "datapoint" } };
  return Object.fromEntries(SIGNALS.map((signal) => [signal, make(contexts[signal])]));
}

function statements(statement: string): object {
  return {
    log_statements: [{ context: "log", statements: [statement] }],
    trace_statements: [{ context: "span", statements: [statement] }],
    metric_statements: [{ context: "datapoint", statements: [statement] }],
  };
}

const suite = (factory: ProcessorFactory, options: ProcessorConformanceOptions) =>
  processorConformance(factory, { attributes: attributes!, patienceMs: CONDITION_LIMIT_MS, ...options });

describe.each([...processors])("processor %s", (type, factory) => {
  describe.each(TABLE[type] ?? [])("that %s", (_name, options) => {
    for (const { name, run } of suite(factory, options)) it(name, run);
  });

  it("is in the table", ({ expect }) => {
    expect(TABLE).toHaveProperty(type);
  });
});
