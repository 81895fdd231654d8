import { COLLECTING_CELLS } from "./cells/collecting.js";
import { CONNECTOR_CELLS } from "./cells/connectors.js";
import { EXPORTER_CELLS } from "./cells/exporters.js";
import { EXTENSION_CELLS } from "./cells/extensions.js";
import { FILE_LOG_CELLS } from "./cells/file-log.js";
import { LISTENING_CELLS } from "./cells/listening.js";
import { PROCESSOR_CELLS } from "./cells/processors.js";

/**
 * The measured components, each in its own process (see roles/component.js). Each is compared with a bare counterpart,
 * described by `base`, in alternating rounds in the same process.
 *
 * `of` is the component's entry in the list of built-ins. A side is driven by its `turn`, which does some work and
 * returns the number of records, or from outside over its port by the cell's `drive`, which may wait until a number of
 * records has `arrived`. `count` is the number of records that came out: as many as went in, unless `makesOthers` is
 * set. `goal` is the maximum CPU time per record in microseconds, `goalBlockMs` the maximum length of a turn of the
 * event loop. `missing` says why a cell cannot be measured on this machine.
 *
 * @typedef {{ port?: number, turn?(): Promise<number>, count?(): number, until?(count: number): Promise<void> }} Side
 * @typedef {Side & { count(): number, bare?: Side, stop(): Promise<void> }} Running
 * @typedef {{ target: number, grpc: number[], scrapeSeconds?: number }} CellSetting
 * @typedef {{ port: number, arrived(count: number): Promise<void> }} DrivenSide
 * @typedef {{ of: string, unit: string, base?: string, goal?: number, goalBlockMs?: number, makesOthers?: true,
 *   missing?(): string | undefined, drive?(at: DrivenSide): Promise<() => Promise<number>>,
 *   start(setting: CellSetting): Promise<Running> }} Cell
 * @type {Record<string, Cell>}
 */
export const CELLS = {
  ...COLLECTING_CELLS,
  ...FILE_LOG_CELLS,
  ...LISTENING_CELLS,
  ...PROCESSOR_CELLS,
  ...CONNECTOR_CELLS,
  ...EXPORTER_CELLS,
  ...EXTENSION_CELLS,
};

/** Components that other files of the benchmark measure, in whole agents or against bare clients of a server. */
export const MEASURED_ELSEWHERE = {
  "receiver/app": "scenarios/receivers/emit.js",
  "receiver/otlp": "lib/sluice-config.js",
  "receiver/kafka": "kafka.js",
  "receiver/kafka_metrics": "kafka.js",
  "receiver/rabbitmq": "lib/brokers/rabbitmq.js",
  "receiver/redis_stream": "lib/brokers/redis.js",
  "receiver/nats": "lib/brokers/nats.js",
  "receiver/aws_sqs": "lib/brokers/sqs.js",
  "receiver/outbox": "postgres.js",
  "receiver/file": "scenarios/receivers/rehydrate.js",
  "receiver/aws_s3": "scenarios/receivers/rehydrate.js",
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
  "exporter/aws_sqs": "lib/brokers/sqs.js",
  "exporter/postgres": "postgres.js",
};
