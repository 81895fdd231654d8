/** A component's own log, already bound to its id. Fields first, then a sentence; never a payload or a secret. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: Record<string, unknown>): Logger;
}

/** Names and values that tell instruments of one name apart. */
export type MetricAttributes = Readonly<Record<string, string>>;

/** What is said of an instrument. */
export interface MetricDescription {
  readonly description: string;
  readonly unit?: string;
}

/** A metric that only goes up. */
export interface Counter {
  add(value: number): void;
}

/** A metric that counts values by size, in the buckets that its `boundaries` make. */
export interface Histogram {
  record(value: number): void;
}

/**
 * A component's own metrics. Instruments are made once, with their attributes, and cost an addition to update. Making
 * the same one again (same name and attributes) gives the same one back.
 */
export interface Metrics {
  counter(name: string, description: MetricDescription, attributes?: MetricAttributes): Counter;
  /** `read` is called when metrics are collected; the returned function takes the gauge away again. */
  gauge(name: string, description: MetricDescription, read: () => number, attributes?: MetricAttributes): () => void;
  histogram(
    name: string,
    description: MetricDescription & { readonly boundaries: readonly number[] },
    attributes?: MetricAttributes,
  ): Histogram;
  /** @internal What a counter has come to; undefined where there is none of that name and these attributes. */
  read?(name: string, attributes: MetricAttributes): number | undefined;
}

/** For embedders and tests that want none of it. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};

/** For embedders and tests that want none of it. */
export const noMetrics: Metrics = {
  counter: () => ({ add() {} }),
  gauge: () => () => {},
  histogram: () => ({ record() {} }),
};
