import type { Counter, Metrics } from "#contract";
import { SHAPES } from "#otlp/bytes";
import type { Signal } from "#otlp/signals";

/** Number of accepted and refused records of one signal. */
export interface ReceiverCounters {
  readonly accepted: Counter;
  readonly refused: Counter;
}

/** The Collector's receiver counters, under its names. */
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

/** Counts entries that were recognised by their idempotency key and not accepted again. */
export function duplicatesCounter(metrics: Metrics, receiver: string): Counter {
  const description = "Requests, entries of merged requests, or messages that were recognised as duplicates.";
  return metrics.counter("sluice_receiver_duplicates", { description }, { receiver });
}
