/** For tests of components: pipelines in memory, test doubles, and conformance suites. */

// Pipelines in memory.

export type { ClientAnswer, ReceiverConformanceOptions } from "./agent/testing/conformance/receiver-harness.js";
export { type HandlerHarness, handlerHarness } from "./agent/testing/handler-harness.js";
export { logs, type PlainRecord, plainRecords, type TestLogInput } from "./agent/testing/plain-records.js";
export {
  type RunPipelineOptions,
  runPipeline,
  type TestDeadLetter,
  type TestPipeline,
} from "./agent/testing/run-pipeline.js";

// Expectations: checking the output.

export {
  type ExpectedRecord,
  expectRecords,
  type RecordExpectations,
  type RecordSource,
} from "./agent/testing/expect-records.js";

// Test doubles: clock, random numbers, an intake, deliveries, a faulty backend.

export { schedulerClock, type TestDelivery, TestIntake, testDelivery } from "./agent/testing/component-inputs.js";
export { FakeClock, flushPromises, Random } from "./agent/testing/fakes.js";
export { type Faults, type FaultyExporter, faultyExporter } from "./agent/testing/faulty-exporter.js";
export { Debt } from "./runtime/contract/debt.js";
export { Delivery } from "./runtime/contract/delivery.js";

// Conformance: suites that check a component against its contract.

export type { ConformanceCase, ConformanceOptions } from "./agent/testing/conformance/case.js";
export { type ExporterConformanceOptions, exporterConformance } from "./agent/testing/conformance/exporter.js";
export type { BackendAnswer, TestBackend } from "./agent/testing/conformance/exporter-harness.js";
export { type ProcessorConformanceOptions, processorConformance } from "./agent/testing/conformance/processor.js";
export { receiverConformance } from "./agent/testing/conformance/receiver.js";
export { storageConformance } from "./agent/testing/conformance/storage.js";
export type { TestStorage } from "./agent/testing/conformance/storage-harness.js";

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
} from "./agent/testing/component-inputs.js";
