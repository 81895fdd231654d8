import type { Random } from "../../../src/agent/testing/fakes.js";

/** The choices in which two configs of the oracle may differ. */
export interface Shape {
  readonly bodyMiB: number;
  readonly note: number;
  readonly fails: boolean;
  readonly order: "moody first" | "attributes first" | "moody alone";
  /** The processors of metrics. `delta_to_cumulative` has state, which must stay when others come before and behind it. */
  readonly metrics: (typeof METRICS)[number];
  readonly hasSecondExporter: boolean;
  readonly consumers: number;
  readonly path: number;
  readonly decisionWaitMs: number;
  readonly hasTail: boolean;
  readonly dimension: string;
  readonly hasTakenPort: boolean;
  readonly isBroken: boolean;
}

const METRICS = [
  "delta_to_cumulative",
  "filter/a, delta_to_cumulative",
  "delta_to_cumulative, filter/a",
  "filter/b, delta_to_cumulative, filter/a",
] as const;

export const FIRST: Shape = {
  ...{ bodyMiB: 1, note: 0, fails: false, order: "moody first", hasSecondExporter: false, consumers: 2, path: 1 },
  ...{ decisionWaitMs: 100, hasTail: true, dimension: "a", metrics: METRICS[0], hasTakenPort: false, isBroken: false },
};

/** The next config: one or two things change. Those that cannot run are not kept. */
export function changed(shape: Shape, random: Random, i: number): Shape {
  const changes: readonly (() => Partial<Shape>)[] = [
    () => ({ bodyMiB: i + 2 }),
    () => ({ note: i + 1 }),
    () => ({ fails: true, note: i + 1 }),
    () => ({ order: random.pick(["moody first", "attributes first", "moody alone"]) }),
    () => ({ metrics: random.pick(METRICS) }),
    () => ({ hasSecondExporter: !shape.hasSecondExporter }),
    () => ({ consumers: 1 + random.below(4) }),
    () => ({ path: i + 2 }),
    () => ({ decisionWaitMs: 50 + random.below(200) }),
    () => ({ hasTail: !shape.hasTail }),
    () => ({ dimension: random.pick(["a", "b", "c"]) }),
    () => ({ hasTakenPort: true, bodyMiB: i + 2 }),
    () => ({ isBroken: true }),
  ];
  const more = random.chance(0.3) ? random.pick(changes)() : {};
  return { ...shape, ...more, ...random.pick(changes)() };
}

/** The parts that stay of a config that could not run. */
export function withoutFaults(shape: Shape): Shape {
  return { ...shape, fails: false, hasTakenPort: false, isBroken: false };
}

export interface Ports {
  readonly otlp: number;
  readonly admin: number;
  readonly backend: number;
  readonly taken: number;
}

export function yamlOf(shape: Shape, ports: Ports): string {
  const backend = (name: string) => `http://127.0.0.1:${ports.backend}/${name}/${shape.path}`;
  const common =
    "compression: none, encoding: json, retry_on_failure: {initial_interval: 10ms, max_interval: 50ms}, circuit_breaker: {reset_timeout: 300ms}";
  const queue = `sending_queue: {num_consumers: ${shape.consumers}}`;
  const orders = {
    "moody first": "moody, attributes",
    "attributes first": "attributes, moody",
    "moody alone": "moody",
  };
  const taken = shape.hasTakenPort ? `otlp/taken: {protocols: {http: {endpoint: "127.0.0.1:${ports.taken}"}}},` : "";
  return `
plugins: [./moody.mjs]
receivers:
  {${taken} otlp: {protocols: {http: {endpoint: "127.0.0.1:${ports.otlp}", max_request_body_size: ${shape.bodyMiB * 1048576}}}}}
processors:
  moody: {note: ${shape.note}, fails: ${shape.fails}}
  attributes: {actions: [{key: note, value: "${shape.note}", action: upsert}]}
  delta_to_cumulative: {max_stale: 1h}
  filter/a: {metrics: {metric: ['name == "none"']}}
  filter/b: {metrics: {metric: ['name == "none"']}}
  tail_sampling: {decision_wait: ${shape.decisionWaitMs}ms, policies: [{name: all, type: always_sample}]}
connectors:
  span_metrics: {metrics_flush_interval: 200ms, aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA, dimensions: [{name: ${shape.dimension}}]}
exporters:
  otlp_http/a: {endpoint: "${backend("a")}", ${common}, ${queue}}
  otlp_http/m: {endpoint: "${backend("m")}", ${common}}
  ${shape.hasSecondExporter ? `otlp_http/b: {endpoint: "${backend("b")}", ${common}}` : ""}
extensions:
  admin: {endpoint: "127.0.0.1:${ports.admin}", token_file: ./token}
  reliability: {directory: ./queue, durability: process, drain_removed: true}
service:
  extensions: [admin, reliability]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [otlp${shape.hasTakenPort ? ", otlp/taken" : ""}], processors: [${orders[shape.order]}], exporters: [otlp_http/a${shape.hasSecondExporter ? ", otlp_http/b" : ""}]}
    traces: {receivers: [otlp], processors: [${shape.hasTail ? "tail_sampling" : ""}], exporters: [otlp_http/a, span_metrics]}
    metrics: {receivers: [span_metrics], processors: [${shape.metrics}], exporters: [otlp_http/m]}
${shape.isBroken ? "  pipelnes: {}" : ""}
`;
}

/** A plugin whose source changes; \`isSound\` is false for a version that throws while it is loaded. */
export function pluginOf(version: number, isSound = true): string {
  return `
import { defineProcessor, eachBatch } from "sluice/plugin";
import { z } from "zod";
${isSound ? "" : 'throw new Error("this version does not load");'}
/* version ${version} */
export default defineProcessor({
  type: "moody",
  schema: z.strictObject({ fails: z.boolean().default(false), note: z.number().default(0) }),
  create({ fails }) {
    if (fails) throw new Error("this version does not start");
    return eachBatch((batch) => batch);
  },
});
`;
}
