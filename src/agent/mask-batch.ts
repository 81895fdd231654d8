import type { ProcessorContext, ReplayStep } from "#contract";
import { noMetrics, silentLogger, systemClock } from "#contract";
import type { Batch } from "#otlp";
import { findBuiltin } from "./builtins.js";

let loading: Promise<ReplayStep> | undefined;

/**
 * A batch as people may see it who were not allowed to see what is in it: every detector of `pii` is on, and what they
 * find, also in bodies that are JSON, is masked. Rejects when it cannot be masked: then nothing of it may be shown.
 */
export async function maskBatch(batch: Batch): Promise<Batch> {
  return (await loadedMask())(batch);
}

/** The same at once, for whoever masks again and again; throws when a batch cannot be masked. */
export function loadedMask(): Promise<ReplayStep> {
  loading ??= loadMask();
  return loading;
}

/** Whoever sends decides where a text stands: names and keys are shown like bodies and values. */
const EVERYWHERE = ["names", "descriptions", "trace_state", "bytes", "keys"];

/** That of the processor with nothing but defaults, so that what is shown does not depend on how a pipeline is configured. */
async function loadMask(): Promise<ReplayStep> {
  const factory = await findBuiltin("processor", "pii")!.load();
  if (factory.kind !== "processor" || factory.replay === undefined) throw new TypeError("pii cannot mask");
  const context: ProcessorContext = {
    id: "pii",
    kind: "processor",
    logger: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    random: Math.random,
    signal: "logs",
    pipeline: "",
  };
  return factory.replay(factory.schema.parse({ json_bodies: true, look_into: EVERYWHERE }), context)!;
}
