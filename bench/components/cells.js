import { COLLECTING_CELLS } from "./cells/collecting.js";
import { CONNECTOR_CELLS } from "./cells/connectors.js";
import { EXPORTER_CELLS } from "./cells/exporters.js";
import { LISTENING_CELLS } from "./cells/listening.js";
import { PROCESSOR_CELLS } from "./cells/processors.js";

/**
 * The components that are measured, each started in a process of its own (see roles/component.js), and what is measured
 * beside each, in turns and in the same process: `base` says what that is.
 *
 * `of` is its place in the list of components. A side is driven by its `turn`, which does some of its work and gives how
 * many records that were, or from outside over its port, by the `drive` of the cell, which may wait until so many records have `arrived`. `count` is how many records have come out:
 * as many as went in, unless `makesOthers`. `goal` is the most microseconds of CPU that a record may take, `goalBlockMs` how
 * long a turn of the event loop may take. `missing` says why it cannot be measured on this machine.
 *
 * @typedef {{ port?: number, turn?(): Promise<number>, count?(): number, until?(count: number): Promise<void> }} Side
 * @typedef {Side & { count(): number, bare?: Side, stop(): Promise<void> }} Running
 * @typedef {{ target: number, grpc: number[] }} CellSetting
 * @typedef {{ port: number, arrived(count: number): Promise<void> }} DrivenSide
 * @typedef {{ of: string, unit: string, base?: string, goal?: number, goalBlockMs?: number, makesOthers?: true,
 *   missing?(): string | undefined, drive?(at: DrivenSide): Promise<() => Promise<number>>,
 *   start(setting: CellSetting): Promise<Running> }} Cell
 * @type {Record<string, Cell>}
 */
export const CELLS = {
  ...COLLECTING_CELLS,
  ...LISTENING_CELLS,
  ...PROCESSOR_CELLS,
  ...CONNECTOR_CELLS,
  ...EXPORTER_CELLS,
};

/** Components that other files of the benchmark measure, in whole agents or beside bare clients of a server. */
export const MEASURED_ELSEWHERE = {
  "receiver/app": "scenarios/receivers/emit.js",
  "receiver/otlp": "lib/sluice-config.js",
  "receiver/kafka": "kafka.js",
  "receiver/rabbitmq": "lib/brokers/rabbitmq.js",
  "receiver/redis_stream": "lib/brokers/redis.js",
  "receiver/nats": "lib/brokers/nats.js",
  "receiver/outbox": "postgres.js",
  "receiver/file_log": "scenarios/receivers/file-log.js",
  "processor/batch": "lib/sluice-config.js",
  "processor/rate_limit": "scenarios/processors/rate-limit.js",
  "processor/probabilistic_sampler": "scenarios/processors/sampling.js",
  "processor/adaptive_sampling": "scenarios/processors/sampling.js",
  "processor/tail_sampling": "scenarios/processors/tail-sampling.js",
  "processor/filter": "scenarios/collector.js",
  "processor/transform": "scenarios/collector.js",
  "processor/versioning": "scenarios/processors/versioning.js",
  "processor/pii": "scenarios/processors/pii.js",
  "processor/redaction": "scenarios/collector.js",
  "exporter/otlp_http": "lib/sluice-config.js",
  "exporter/kafka": "kafka.js",
  "exporter/rabbitmq": "lib/brokers/rabbitmq.js",
  "exporter/redis_stream": "lib/brokers/redis.js",
  "exporter/nats": "lib/brokers/nats.js",
  "exporter/postgres": "postgres.js",
};
