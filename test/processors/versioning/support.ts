import {
  type Batch,
  batchFromJson,
  type Metrics,
  type ProcessorContext,
  type ProcessorFactory,
  readRecords,
  type Signal,
} from "../../../src/plugin.js";
import { versioning } from "../../../src/processors/versioning/component.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { noMetrics, silentLogger } from "../../../src/runtime/contract/observability.js";
import { feed, owed } from "../../support/deliveries.js";

export type Plain = Readonly<Record<string, unknown>>;

export function anyValue(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "bigint") return { intValue: String(value) };
  return typeof value === "number" ? { doubleValue: value } : {};
}

/** Numbers are doubles, bigints are integers. */
export function keyValues(values: Plain): object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }));
}

export function events(...list: readonly (readonly [name: string, attributes?: Plain])[]): Batch {
  const logRecords = list.map(([eventName, attributes = {}]) => ({ eventName, attributes: keyValues(attributes) }));
  return batchFromJson("logs", JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

export function contextFor(signal: Signal, metrics: Metrics = noMetrics): ProcessorContext {
  const own = { id: "versioning", kind: "processor", signal, pipeline: signal } as const;
  return { ...own, logger: silentLogger, metrics, clock: systemClock, random: Math.random };
}

/** Returns the outcome of a batch: the records that pass, and those set aside. */
export function run(config: object, batch: Batch, metrics?: Metrics, factory: ProcessorFactory = versioning) {
  const processor = factory.create(factory.schema.parse(config), contextFor(batch.signal, metrics));
  const { source, out } = feed(processor);
  const { delivery, outcomes } = owed(batch);
  source.next(delivery);
  const going = out.find(({ setback }) => setback === undefined)?.batch;
  return { going, aside: out.find(({ setback }) => setback !== undefined), outcome: outcomes[0] };
}

export function replay(config: object, batch: Batch): Batch {
  return versioning.replay!(versioning.schema.parse(config), contextFor(batch.signal))(batch);
}

/** Returns name and attributes of each record. */
export function seen(batch: Batch | undefined): [name: string, attributes: Plain][] {
  const found: [string, Plain][] = [];
  if (batch !== undefined) readRecords(batch, (one) => void found.push([one.name, { ...one.attributes.toObject() }]));
  return found;
}
