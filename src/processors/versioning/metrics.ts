import type { Counter, ProcessorContext } from "#contract";
import type { VersioningConfig } from "./config.js";
import type { VersionObserver } from "./event-upcaster.js";
import type { SchemaCounts } from "./schema-translator.js";

interface VersioningMetrics extends VersionObserver {
  translated(counts: SchemaCounts): void;
}

/** Counts events by version. Events and versions come from the config, so the number of series is bounded. */
export function versioningMetrics(config: VersioningConfig, context: ProcessorContext): VersioningMetrics {
  const commonLabels = { processor: context.id, pipeline: context.pipeline };
  const counter = (name: string, description: string, attributes = {}) =>
    context.metrics.counter(name, { description }, { ...commonLabels, ...attributes });
  const byEvent = (name: string, description: string, attributes = {}) =>
    new Map([...config.events.keys()].map((event) => [event, counter(name, description, { ...attributes, event })]));
  const unknown = byEvent(
    "sluice_versioning_unknown_items",
    "Events of a version that is newer than the current one or has no upcast.",
    { unknown: config.unknown },
  );
  const failed = byEvent("sluice_versioning_failed_items", "Events whose upcast failed.");
  const deprecated = new Map<string, Counter>();
  for (const [event, { steps }] of config.events)
    for (const from of steps.keys()) {
      const labels = { event, version: String(from) };
      deprecated.set(`${from} ${event}`, counter("sluice_versioning_deprecated_items", DEPRECATED, labels));
    }
  const translated = counter(
    "sluice_versioning_translated_items",
    "Records that were updated to the target schema version.",
  );
  const untranslated = counter(
    "sluice_versioning_untranslated_items",
    "Records of a schema version that the schema file cannot translate from.",
  );
  return {
    deprecated: (event, version) => deprecated.get(`${version} ${event}`)?.add(1),
    unknown: (event) => unknown.get(event)?.add(1),
    failed: (event) => failed.get(event)?.add(1),
    translated(counts) {
      if (counts.translated > 0) translated.add(counts.translated);
      if (counts.untranslated > 0) untranslated.add(counts.untranslated);
    },
  };
}

const DEPRECATED = "Events that arrived in an older version and were upcast to the current one.";
