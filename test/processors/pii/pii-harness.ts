import {
  type Batch,
  batchFromJson,
  batchToJson,
  type ProcessorContext,
  type ProcessorFactory,
  type Signal,
} from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { silentLogger } from "../../../src/runtime/contract/observability.js";
import { type CountedMetrics, countedMetrics } from "../../runtime/queue/counted-metrics.js";
import { feed, owed } from "../../support/deliveries.js";

export const contextOf = (signal: Signal, metrics: CountedMetrics = countedMetrics()): ProcessorContext => ({
  id: "p",
  kind: "processor",
  signal,
  pipeline: signal,
  logger: silentLogger,
  metrics,
  clock: systemClock,
  random: Math.random,
});

/** The resulting batch, or an error with the reason of the refusal. */
export function processed(factory: ProcessorFactory, config: unknown, batch: Batch, metrics?: CountedMetrics): Batch {
  const processor = factory.create(factory.schema.parse(config), contextOf(batch.signal, metrics));
  const { source, out } = feed(processor);
  const { delivery, outcomes } = owed(batch);
  source.next(delivery);
  const result = out[0]?.batch;
  if (result === undefined) throw new Error(JSON.stringify(outcomes));
  return result;
}

/** Any JSON value, to be inspected. */
export interface Json {
  readonly [key: string]: Json;
  readonly [index: number]: Json;
}

export function asJson(batch: Batch): Json {
  return JSON.parse(batchToJson(batch).toString()) as Json;
}

const any = (value: unknown): object => {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(any) } };
  return { kvlistValue: { values: pairs(value as object) } };
};
export const pairs = (object: object) => Object.entries(object).map(([key, value]) => ({ key, value: any(value) }));

/** One log record with this body and these attributes. */
export function logOf(body: unknown, attributes: object = {}, resource: object = {}): Batch {
  const record = {
    timeUnixNano: "1",
    ...(body === undefined ? {} : { body: any(body) }),
    attributes: pairs(attributes),
  };
  return batchFromJson(
    "logs",
    JSON.stringify({
      resourceLogs: [{ resource: { attributes: pairs(resource) }, scopeLogs: [{ logRecords: [record] }] }],
    }),
  );
}

function plain(value: Json): unknown {
  if (value === undefined) return undefined;
  const [kind, inner] = Object.entries(value)[0] ?? [];
  if (kind === "intValue") return Number(inner);
  if (kind === "arrayValue") return listOf(inner!["values"]).map(plain);
  if (kind === "kvlistValue") return unpaired(inner!["values"]);
  return inner;
}
export const listOf = (list: Json | undefined) => (list ?? []) as unknown as Json[];
export const unpaired = (list: Json | undefined): Record<string, unknown> =>
  Object.fromEntries(listOf(list).map(({ key, value }) => [String(key), plain(value!)]));

/** Body, attributes and resource of the only log record. */
export function readLog(batch: Batch): {
  body: unknown;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
} {
  const container = asJson(batch)["resourceLogs"]![0]!;
  const record = container["scopeLogs"]![0]!["logRecords"]![0]!;
  return {
    body: plain(record["body"]!),
    attributes: unpaired(record["attributes"]),
    resource: unpaired(container["resource"]?.["attributes"]),
  };
}
