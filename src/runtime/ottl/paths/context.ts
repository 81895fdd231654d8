import { dataPointMessage, SHAPES } from "#otlp/bytes";
import { METRIC_DATA_TAGS } from "#otlp/metric-tags";
import { SIGNALS, type Signal } from "#otlp/signals";
import { RESOURCE_CONTAINER_TAG, SCOPE_CONTAINER_TAG, SCOPE_ITEM_TAG, SPAN_EVENTS_TAG } from "#otlp/tags";
import type { WalkShape } from "#otlp/views";

/** The thing that a condition or statement is about, one at a time. */
export type ContextName = "resource" | "scope" | "log" | "span" | "spanevent" | "metric" | "datapoint" | "exemplar";

/** The contexts of a signal, from the outermost to the innermost. */
export const SIGNAL_CONTEXTS: Readonly<Record<Signal, readonly ContextName[]>> = {
  logs: ["resource", "scope", "log"],
  traces: ["resource", "scope", "span", "spanevent"],
  metrics: ["resource", "scope", "metric", "datapoint", "exemplar"],
};

/** All contexts, from the outermost to the innermost. */
export const CONTEXTS: readonly ContextName[] = [...new Set(SIGNALS.flatMap((signal) => SIGNAL_CONTEXTS[signal]))];

/** The signals that have this context. */
export const CONTEXT_SIGNALS: Readonly<Record<ContextName, readonly Signal[]>> = {
  resource: signalsWith("resource"),
  scope: signalsWith("scope"),
  log: signalsWith("log"),
  span: signalsWith("span"),
  spanevent: signalsWith("spanevent"),
  metric: signalsWith("metric"),
  datapoint: signalsWith("datapoint"),
  exemplar: signalsWith("exemplar"),
};

function signalsWith(context: ContextName): readonly Signal[] {
  return SIGNALS.filter((signal) => SIGNAL_CONTEXTS[signal].includes(context));
}

/** The context of a signal's records, for which most conditions are written. */
export const RECORD_CONTEXTS: Readonly<Record<Signal, ContextName>> = {
  logs: "log",
  traces: "span",
  metrics: "datapoint",
};

/** How to walk over the items of a context. */
export const CONTEXT_SHAPES: Readonly<Record<ContextName, WalkShape>> = {
  resource: { levels: [], record: RESOURCE_CONTAINER_TAG },
  scope: { levels: [[RESOURCE_CONTAINER_TAG]], record: SCOPE_CONTAINER_TAG },
  log: SHAPES.logs,
  span: SHAPES.traces,
  spanevent: {
    levels: [...SHAPES.traces.levels, [SHAPES.traces.record]],
    record: SPAN_EVENTS_TAG,
    keepEmptyFrom: 2,
  },
  metric: { levels: SHAPES.metrics.levels.slice(0, 2), record: SCOPE_ITEM_TAG },
  datapoint: SHAPES.metrics,
  exemplar: {
    levels: [...SHAPES.metrics.levels, [SHAPES.metrics.record]],
    record: 0, // each kind of point has its exemplars in another field
    recordsByData: Object.fromEntries(
      METRIC_DATA_TAGS.map((tag) => [tag, dataPointMessage(tag).byName.get("exemplars")?.tag ?? 0]),
    ),
    keepEmptyFrom: 4,
  },
};

/** Contexts inside the signal's records: dropping one of their items drops no record. */
export const CONTEXTS_INSIDE_RECORDS: ReadonlySet<ContextName> = new Set(["spanevent", "exemplar"]);

/** Contexts whose items are the signal's records: dropping one keeps the walk's count correct. */
export const CONTEXTS_OF_RECORDS: ReadonlySet<ContextName> = new Set(Object.values(RECORD_CONTEXTS));

/** The context of a signal with this name, in any case; undefined if there is none. */
export function contextNamed(signal: Signal, name: string): ContextName | undefined {
  return SIGNAL_CONTEXTS[signal].find((known) => known === name.toLowerCase());
}
