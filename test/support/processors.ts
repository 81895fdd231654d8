import type { ComponentFactory, Metrics, ProcessorFactory, Signal } from "../../src/plugin.js";
import type { BuiltInProcessorContext } from "../../src/runtime/contract/built-in/component.js";
import { noMetrics, silentLogger } from "../../src/runtime/contract/observability.js";
import type { EntrySettlement, JournalNote, JournalNotes } from "../../src/runtime/contract/operators/outlet.js";
import { feed } from "./deliveries.js";
import { FakeClock } from "./fake-clock.js";

/** A processor as a pipeline makes it, on a clock that stands still, between a hand-fed source and a list. */
export function processing(
  factory: ComponentFactory,
  config: object,
  signal: Signal,
  {
    metrics = noMetrics,
    random = Math.random,
    clock = new FakeClock(),
    ...more
  }: { metrics?: Metrics; random?: () => number; clock?: FakeClock } & Pick<BuiltInProcessorContext, "journal"> = {},
) {
  const context: BuiltInProcessorContext = {
    id: factory.type,
    kind: "processor",
    signal,
    pipeline: signal,
    logger: silentLogger,
    metrics,
    clock,
    random,
    ...more,
  };
  const processor = (factory as ProcessorFactory).create(factory.schema.parse(config), context);
  return { clock, ...feed(processor) };
}

/** Counters that can be read: `name{key=value}` to what was added up, gauges and histograms left out. */
export function counting(): { readonly metrics: Metrics; readonly counts: Map<string, number> } {
  const counts = new Map<string, number>();
  const metrics: Metrics = {
    ...noMetrics,
    counter(name, _, attributes = {}) {
      const labels = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
      const id = labels.length === 0 ? name : `${name}{${labels.join(",")}}`;
      return { add: (value) => void counts.set(id, (counts.get(id) ?? 0) + value) };
    },
  };
  return { metrics, counts };
}

/** Notes of a processor that outlive it, as those of a journal do. */
export function notesInMemory(): { open(): JournalNotes; readonly settlement: EntrySettlement | undefined } {
  const notes: JournalNote[] = [];
  let settlement: EntrySettlement | undefined;
  const journal: JournalNotes = {
    read: () => notes,
    write: (bytes) => void notes.push({ bytes, after: 0 }),
    firstPosition: 0,
    setSettlement(given) {
      settlement = given;
    },
    limitUnneededBytes() {},
  };
  return {
    open: () => journal,
    get settlement() {
      return settlement;
    },
  };
}
