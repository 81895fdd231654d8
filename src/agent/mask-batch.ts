import type { ProcessorContext, ReplayStep } from "#contract";
import { noMetrics, silentLogger, systemClock } from "#contract";
import type { Batch } from "#otlp";
import { useTextMask } from "#text";
import { findBuiltin } from "./builtins/builtins.js";

let loading: Promise<ReplayStep> | undefined;

/**
 * What every agent masks with. Each agent needs the mask for texts before it logs a line; the one for batches is loaded
 * when a batch is shown for the first time.
 */
export const masks = { forTexts: loadTextMask, forBatches: loadedMask };

/**
 * Masks a batch for people who may not see its content: runs every detector of `pii`, also on bodies that are JSON, and
 * masks everything they find. Rejects when the batch cannot be masked; nothing of it may be shown then.
 */
export async function maskBatch(batch: Batch): Promise<Batch> {
  return (await loadedMask())(batch);
}

/** Loads and installs the mask for texts. */
export async function loadTextMask(): Promise<void> {
  useTextMask((await import("../processors/pii/mask-text.js")).maskText);
}

/**
 * Loads the masking function for repeated use, and installs the mask for texts. The function is synchronous, and throws
 * when a batch cannot be masked.
 */
export function loadedMask(): Promise<ReplayStep> {
  loading ??= loadMask();
  return loading;
}

/** The sender decides where a text is put, so names and keys are masked like bodies and values. */
const EVERYWHERE = ["names", "descriptions", "trace_state", "schema_urls", "bytes", "keys"];

/** Uses the processor's defaults only, so that masking does not depend on the config of a pipeline. */
async function loadMask(): Promise<ReplayStep> {
  const [factory] = await Promise.all([findBuiltin("processor", "pii")!.load(), loadTextMask()]);
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
  const { schema, replay } = factory;
  let mask: ReplayStep | undefined;
  // The tables of the detectors take longer to make than to load, and most agents never show a batch.
  return (batch) => {
    mask ??= replay(schema.parse({ json_bodies: true, look_into: EVERYWHERE }), context)!;
    return mask(batch);
  };
}
