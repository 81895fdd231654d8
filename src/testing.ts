/** The door for component tests. */
export { Debt, Delivery, Habitat } from "./runtime/contract/delivery.js";
export { type LogInput, logs, type PlainRecord, plainRecords } from "./runtime/testing/plain-records.js";
export { type RunPipelineOptions, runPipeline, type TestPipeline } from "./runtime/testing/run-pipeline.js";
