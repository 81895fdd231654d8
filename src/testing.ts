/** For tests of components: pipelines in memory, what stands in for the world, and what every component must do. */

// Pipelines in memory.

export { logs, type PlainRecord, plainRecords, type TestLogInput } from "./runtime/testing/plain-records.js";
export {
  type RunPipelineOptions,
  runPipeline,
  type TestDeadLetter,
  type TestPipeline,
} from "./runtime/testing/run-pipeline.js";

// Expectations: what came out.

export {
  type ExpectedRecord,
  expectRecords,
  type RecordExpectations,
  type RecordSource,
} from "./runtime/testing/expect-records.js";

// Stand-ins: time, chance, an intake, deliveries, a backend that fails as told.

export { Debt } from "./runtime/contract/debt.js";
export { Delivery } from "./runtime/contract/delivery.js";
export { FakeClock, flushPromises } from "./runtime/testing/fake-clock.js";
export { type Faults, type FaultyExporter, faultyExporter } from "./runtime/testing/faulty-exporter.js";
export { schedulerClock, type TestDelivery, testDelivery } from "./runtime/testing/marbles.js";
export { Random } from "./runtime/testing/random.js";
export { TestIntake } from "./runtime/testing/test-intake.js";

// Conformance: suites that hold a component to its contract.

export type { ConformanceCase, ConformanceOptions } from "./runtime/testing/conformance/case.js";
export { type ExporterConformanceOptions, exporterConformance } from "./runtime/testing/conformance/exporter.js";
export type { BackendAnswer, TestBackend } from "./runtime/testing/conformance/exporter-harness.js";
export { type ProcessorConformanceOptions, processorConformance } from "./runtime/testing/conformance/processor.js";
export {
  type ClientAnswer,
  type ReceiverConformanceOptions,
  receiverConformance,
} from "./runtime/testing/conformance/receiver.js";
export { storageConformance } from "./runtime/testing/conformance/storage.js";
export type { TestStorage } from "./runtime/testing/conformance/storage-harness.js";

// Stores: where queues keep their entries.

export {
  type EntryRef,
  lastingStores,
  MemoryStore,
  type NewEntry,
  NoopStore,
  type OpenReport,
  type QueueStore,
  type StoredEntry,
  StoreError,
  type StoreStats,
  type TestQueue,
} from "./runtime/testing/stores.js";
