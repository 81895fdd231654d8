/** The door for component tests. */
export { Debt, Delivery, Habitat } from "./runtime/contract/delivery.js";
export type { ConformanceCase, ConformanceOptions } from "./runtime/testing/conformance/case.js";
export { type ProcessorConformanceOptions, processorConformance } from "./runtime/testing/conformance/processor.js";
export { FakeClock } from "./runtime/testing/fake-clock.js";
export { type LogInput, logs, type PlainRecord, plainRecords } from "./runtime/testing/plain-records.js";
export { Random } from "./runtime/testing/random.js";
export { type RunPipelineOptions, runPipeline, type TestPipeline } from "./runtime/testing/run-pipeline.js";
