import type { ProcessorContext, ProcessorFactory } from "#contract";
import { deadLetter } from "#contract";
import { defineBuiltInProcessor } from "#contract/built-in";
import { Refusal } from "#contract/errors";
import { type BatchResult, eachBatch } from "#contract/operators";
import type { Batch } from "#otlp";
import { partitionByMarks } from "#otlp/edit";
import { SIGNALS } from "#otlp/signals";
import { type VersioningConfig, versioningSchema } from "./config.js";
import { EventUpcaster, type UpcastResult } from "./event-upcaster.js";
import { versioningMetrics } from "./metrics.js";
import { SchemaTranslator } from "./schema-translator.js";
import type { Upcaster } from "./upcast.js";

/** A versioning processor with upcasts in code. */
export interface VersioningDefinition {
  /** The name in the config. */
  readonly type: string;
  readonly summary: string;
  /** Upcasters in code, by the name that `use` refers to in the config. */
  readonly upcasters?: Readonly<Record<string, Upcaster>>;
}

/**
 * A processor that brings events to their current versions and telemetry to a schema version. All versions are in the
 * config; a plugin adds the upcasts that need code. Dead letters that are sent again pass through it too.
 *
 * @example
 * const orders = defineVersioning({
 *   type: "order_versions",
 *   summary: "Brings orders up to date.",
 *   upcasters: { split_name: (event) => void event.attributes.delete("name") },
 * });
 */
export function defineVersioning({ type, summary, upcasters = {} }: VersioningDefinition): ProcessorFactory {
  return defineBuiltInProcessor<VersioningConfig>({
    type,
    summary,
    signals: SIGNALS,
    takesSinglePoints: true,
    zone: "versioning",
    schema: versioningSchema(upcasters),
    create: (config, context) => {
      const update = createUpdater(config, context);
      return eachBatch((batch) => splitOffUnfit(update(batch), config.unknown));
    },
    replay: (config, context) => {
      const update = createUpdater(config, context);
      return (batch) => {
        const { batch: updated, setback } = update(batch);
        if (config.unknown !== "pass" && setback !== undefined)
          throw new Refusal("permanent", setback.message, { code: setback.code, category: "schema" });
        return updated;
      };
    },
  });
}

/** Brings events to their current versions, and telemetry to a version of its schema. */
export const versioning = defineVersioning({
  type: "versioning",
  summary: "Updates events to their current versions, and telemetry to a schema version.",
});

/** Translates the schema first, so that upcasts see attributes under the names of the target schema. */
function createUpdater(config: VersioningConfig, context: ProcessorContext): (batch: Batch) => UpcastResult {
  const metrics = versioningMetrics(config, context);
  const upcaster = new EventUpcaster(config, metrics);
  const translator = config.schemas.size === 0 ? undefined : new SchemaTranslator(config.schemas);
  return (batch) => {
    if (translator === undefined) return upcaster.upcast(batch);
    const { batch: translated, counts } = translator.translate(batch);
    metrics.translated(counts);
    return upcaster.upcast(translated);
  };
}

function splitOffUnfit({ batch, marks, setback }: UpcastResult, unknown: VersioningConfig["unknown"]): BatchResult {
  if (marks === undefined) return batch;
  const [fit, unfit] = partitionByMarks(batch, marks);
  const kept = fit === undefined ? [] : [fit];
  return unknown === "drop" ? kept : [...kept, deadLetter(unfit!, setback!)];
}
