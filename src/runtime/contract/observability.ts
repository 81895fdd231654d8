/**
 * A component's own log, already bound to its id. Fields come first, then a sentence; never log a payload or a secret.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: Record<string, unknown>): Logger;
}

/** Names and values that distinguish instruments of the same name. */
export type MetricAttributes = Readonly<Record<string, string>>;

/** The description of an instrument. */
export interface MetricDescription {
  readonly description: string;
  readonly unit?: string;
}

/** A metric that only increases. */
export interface Counter {
  add(value: number): void;
}

/** A metric that counts values in buckets, which its `boundaries` define. */
export interface Histogram {
  record(value: number): void;
}

/**
 * A component's own metrics. Instruments are created once, with their attributes, and an update costs one addition.
 * Creating one again with the same name and attributes returns the existing one.
 */
export interface Metrics {
  counter(name: string, description: MetricDescription, attributes?: MetricAttributes): Counter;
  /** `read` is called when metrics are collected. The returned function removes the gauge. */
  gauge(name: string, description: MetricDescription, read: () => number, attributes?: MetricAttributes): () => void;
  histogram(
    name: string,
    description: MetricDescription & { readonly boundaries: readonly number[] },
    attributes?: MetricAttributes,
  ): Histogram;
  /** @internal Returns the value of a counter; undefined if there is none with this name and these attributes. */
  read?(name: string, attributes: MetricAttributes): number | undefined;
}

/** Discards all messages, for embedders and tests. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/** Discards all metrics, for embedders and tests. */
export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge: () => () => {},
  histogram: () => ({ record() {} }),
};
