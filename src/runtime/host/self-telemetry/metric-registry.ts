import type { Counter, Histogram, MetricAttributes, MetricDescription, Metrics } from "#contract";
import { maskStrings } from "#text";

/**
 * The agent's own metrics. Incrementing a counter is one addition on a plain object. Values of attributes, such as
 * names of events, may come from outside, so they are masked. This file does not depend on OpenTelemetry, which reads
 * the families on collection.
 */
export interface CounterFamily extends MetricFamilyBase {
  readonly kind: "counter";
  readonly series: Map<string, { readonly attributes: MetricAttributes; read(): number }>;
}

export interface GaugeFamily extends MetricFamilyBase {
  readonly kind: "gauge";
  readonly series: Map<string, { readonly attributes: MetricAttributes; read(): number }>;
}

export interface HistogramFamily extends MetricFamilyBase {
  readonly kind: "histogram";
  readonly boundaries: readonly number[];
  readonly series: Map<string, BufferedHistogram>;
  /** Receives the values; set once the OpenTelemetry histogram exists. */
  sink: ((value: number, attributes: MetricAttributes) => void) | undefined;
}

export type MetricFamily = CounterFamily | GaugeFamily | HistogramFamily;

interface MetricFamilyBase {
  readonly name: string;
  readonly description: MetricDescription;
}

/** Values recorded before that are buffered, up to this many per series. */
const MAX_BUFFERED_VALUES = 1000;

export class MetricRegistry implements Metrics {
  private readonly families = new Map<string, MetricFamily>();
  private watcher: ((family: MetricFamily) => void) | undefined;

  counter(name: string, description: MetricDescription, attributes: MetricAttributes = {}): Counter {
    return seriesFor(
      this.family(name, "counter", description),
      attributes,
      (seriesAttributes) => new PlainCounter(seriesAttributes),
    );
  }

  /** A counter that is read by a callback; its value must never decrease. */
  observedCounter(name: string, description: MetricDescription, read: () => number): void {
    this.family(name, "counter", description).series.set("", { attributes: {}, read });
  }

  gauge(name: string, description: MetricDescription, read: () => number, attributes: MetricAttributes = {}) {
    const { series: all } = this.family(name, "gauge", description);
    const shown = maskStrings(attributes);
    const key = keyOf(shown);
    const one = { attributes: shown, read };
    all.set(key, one);
    return () => {
      if (all.get(key) === one) all.delete(key);
    };
  }

  histogram(
    name: string,
    description: MetricDescription & { readonly boundaries: readonly number[] },
    attributes: MetricAttributes = {},
  ): Histogram {
    const family = this.family(name, "histogram", description);
    return seriesFor(family, attributes, (seriesAttributes) => new BufferedHistogram(family, seriesAttributes));
  }

  read(name: string, attributes: MetricAttributes): number | undefined {
    const family = this.families.get(name);
    return family?.kind === "counter" ? family.series.get(keyOf(maskStrings(attributes)))?.read() : undefined;
  }

  /** All families. */
  all(): Iterable<MetricFamily> {
    return this.families.values();
  }

  /** Calls back for every present and future family. */
  watch(watcher: (family: MetricFamily) => void): void {
    this.watcher = watcher;
    for (const family of this.families.values()) watcher(family);
  }

  private family<Kind extends MetricFamily["kind"]>(
    name: string,
    kind: Kind,
    description: MetricDescription & { readonly boundaries?: readonly number[] },
  ): Extract<MetricFamily, { kind: Kind }> {
    const known = this.families.get(name);
    if (known !== undefined && known.kind !== kind) throw new TypeError(`${name} is a ${known.kind}, not a ${kind}`);
    const family = known ?? newFamily(name, kind, description);
    if (known === undefined) {
      this.families.set(name, family);
      this.watcher?.(family);
    }
    return family as Extract<MetricFamily, { kind: Kind }>;
  }
}

class PlainCounter implements Counter {
  readonly attributes: MetricAttributes;
  private value = 0;

  constructor(attributes: MetricAttributes) {
    this.attributes = attributes;
  }

  add(value: number): void {
    this.value += value;
  }

  read(): number {
    return this.value;
  }
}

class BufferedHistogram implements Histogram {
  readonly attributes: MetricAttributes;
  private readonly family: HistogramFamily;
  private buffered: number[] = [];
  /** Number of recorded values. */
  count = 0;
  sum = 0;

  constructor(family: HistogramFamily, attributes: MetricAttributes) {
    this.family = family;
    this.attributes = attributes;
  }

  record(value: number): void {
    this.count += 1;
    this.sum += value;
    if (this.family.sink) this.family.sink(value, this.attributes);
    else if (this.buffered.length < MAX_BUFFERED_VALUES) this.buffered.push(value);
  }

  /** Passes the buffered values to the OpenTelemetry histogram. */
  flush(): void {
    for (const value of this.buffered.splice(0)) this.family.sink?.(value, this.attributes);
  }
}

function newFamily(
  name: string,
  kind: MetricFamily["kind"],
  description: MetricDescription & { readonly boundaries?: readonly number[] },
): MetricFamily {
  if (kind !== "histogram") return { name, kind, description, series: new Map() };
  return { name, kind, description, boundaries: description.boundaries ?? [], series: new Map(), sink: undefined };
}

function seriesFor<S, Made extends S>(
  family: { readonly series: Map<string, S> },
  attributes: MetricAttributes,
  make: (attributes: MetricAttributes) => Made,
): Made {
  const shown = maskStrings(attributes);
  const key = keyOf(shown);
  const known = family.series.get(key);
  if (known !== undefined) return known as Made;
  const made = make(shown);
  family.series.set(key, made);
  return made;
}

function keyOf(attributes: MetricAttributes): string {
  const entries = Object.entries(attributes);
  return entries.length === 0 ? "" : JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
