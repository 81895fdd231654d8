import type { Counter, Metrics } from "#contract";
import { SHAPES } from "#otlp/bytes";
import type { Signal } from "#otlp/signals";

/** How many records of one signal a receiver has taken, and has not. */
export interface ReceiverCounters {
  readonly accepted: Counter;
  readonly refused: Counter;
}

/** The Collector's counters of a receiver, under its names. */
export function receiverCounters(
  metrics: Metrics,
  signal: Signal,
  attributes: { readonly receiver: string; readonly transport: string },
): ReceiverCounters {
  const { metricNoun, itemNoun } = SHAPES[signal];
  const counter = (what: string) =>
    metrics.counter(
      `otelcol_receiver_${what}_${metricNoun}`,
      { description: `Number of ${itemNoun}s that were ${what}.`, unit: `{${metricNoun}}` },
      attributes,
    );
  return { accepted: counter("accepted"), refused: counter("refused") };
}

/** How much was recognised as taken before, by its idempotency key, and not taken again. */
export function duplicatesCounter(metrics: Metrics, receiver: string): Counter {
  const description =
    "Requests, entries of merged ones, or messages that had been taken before and were not taken again.";
  return metrics.counter("sluice_receiver_duplicates", { description }, { receiver });
}
