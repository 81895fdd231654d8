/** The kinds of telemetry a pipeline can carry. */
export type Signal = "logs" | "traces" | "metrics";

/** The three signals, for components that take all of them. */
export const SIGNALS: readonly Signal[] = ["logs", "traces", "metrics"];

/**
 * Where the records of a signal lie in its OTLP request, and what they are called.
 *
 * `levels` are the tags (field << 3 | wire type) to descend through from the request to the message that holds the
 * records; `record` is the tag of a record in it. A metric's points lie in one of five containers, so the last
 * level of metrics accepts any of five tags.
 */
export interface SignalShape {
  readonly signal: Signal;
  readonly levels: readonly (readonly number[])[];
  readonly record: number;
  /** What one record is called in messages to people. */
  readonly itemNoun: string;
  /** Suffix of the Collector's metric names: otelcol_receiver_accepted_<metricNoun>. */
  readonly metricNoun: string;
}

const RESOURCE_CONTAINER = 10; // field 1, length-delimited
const SCOPE_CONTAINER = 18; // field 2
const RECORD = 18; // field 2: log_records, spans, metrics

/** Tags of a Metric's data containers: gauge, sum, histogram, exponential_histogram, summary. */
export const METRIC_DATA_TAGS: readonly number[] = [42, 58, 74, 82, 90];

/** The shape of each signal. */
export const SHAPES: Readonly<Record<Signal, SignalShape>> = {
  logs: {
    signal: "logs",
    levels: [[RESOURCE_CONTAINER], [SCOPE_CONTAINER]],
    record: RECORD,
    itemNoun: "log record",
    metricNoun: "log_records",
  },
  traces: {
    signal: "traces",
    levels: [[RESOURCE_CONTAINER], [SCOPE_CONTAINER]],
    record: RECORD,
    itemNoun: "span",
    metricNoun: "spans",
  },
  metrics: {
    signal: "metrics",
    levels: [[RESOURCE_CONTAINER], [SCOPE_CONTAINER], [RECORD], METRIC_DATA_TAGS],
    record: 10,
    itemNoun: "data point",
    metricNoun: "metric_points",
  },
};
