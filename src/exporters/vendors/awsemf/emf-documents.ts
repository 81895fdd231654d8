import type { PointReader } from "#metrics";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { EXPONENTIAL_HISTOGRAM_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import { compilePattern } from "#text/patterns";
import { groupNameFor, type LogEvent, streamNameFor } from "../cloudwatch-logs.js";
import { DeltaMemory, extremesOf, SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { SkippedPoints, SkipReason } from "../vendor-exporter.js";
import type { AwsEmfConfig } from "./config.js";

/** The events of one log stream. */
interface StreamEvents {
  readonly group: string;
  readonly stream: string;
  readonly events: LogEvent[];
}

/** The parts of a series that are the same in all of its documents. */
interface EmfSeries {
  /** Where its documents go. Series with the same place, labels and time share a document. */
  readonly place: DocumentPlace;
  /** The sets of dimensions as JSON; undefined if no declaration wants the metric. */
  readonly dimensions: string | undefined;
  /** The metric in a directive, as JSON. */
  readonly definition: string;
  readonly name: string;
  readonly memory: DeltaMemory;
}

interface DocumentPlace {
  readonly id: number;
  readonly group: string;
  readonly stream: string;
  readonly namespace: string;
  /** The labels as members of the document. */
  readonly labels: string;
}

/** A directive of the format has up to 100 metrics. */
const MAX_METRICS = 100;
const FORGET_MS = 3_600_000;
const MAX_PLACES = 100_000;

/** Makes documents of the embedded metric format of data points. */
export class EmfDocuments {
  private readonly config: AwsEmfConfig;
  private readonly declarations: readonly Declaration[];
  private readonly walk: SeriesWalk<EmfSeries>;
  private readonly places = new Map<string, DocumentPlace>();
  private open = new Map<string, EmfDocument>();
  private documents: EmfDocument[] = [];

  constructor(config: AwsEmfConfig) {
    this.config = config;
    this.declarations = (config.metric_declarations ?? []).map((each) => new Declaration(each));
    this.walk = new SeriesWalk<EmfSeries>(
      {
        create: (metric, attributes) => this.create(metric, attributes),
        visit: (...args) => this.visit(...args),
      },
      FORGET_MS,
    );
  }

  /** Returns the documents of a batch as events, by log stream, and how many points are in none. */
  of(bytes: Uint8Array, now: number): { readonly streams: StreamEvents[]; readonly skipped: SkippedPoints[] } {
    this.open = new Map();
    this.documents = [];
    const skipped = this.walk.walk(bytes, now);
    const streams = new Map<string, StreamEvents>();
    for (const document of this.documents) {
      const { group, stream } = document.place;
      const key = `${group}\n${stream}`;
      let events = streams.get(key);
      if (events === undefined) streams.set(key, (events = { group, stream, events: [] }));
      events.events.push(document.event(now));
    }
    return { streams: [...streams.values()], skipped };
  }

  private create(metric: VendorMetric, attributes: PlainAttributes): EmfSeries {
    const { config } = this;
    const { enabled, exclude_service_attributes: isServiceExcluded } = config.resource_to_telemetry_conversion;
    const labels = new Map<string, string>();
    for (const [key, value] of Object.entries(enabled ? metric.resource : {}))
      if (!isServiceExcluded || !key.startsWith("service.")) labels.set(key, plainValueText(value));
    for (const [key, value] of Object.entries(attributes)) labels.set(key, plainValueText(value));
    if (metric.scopeName !== "") labels.set(SCOPE_LABEL, metric.scopeName);
    const namespace = config.namespace || namespaceOf(metric.resource);
    const group = groupNameFor(config.log_group_name || `/metrics/${namespace}`, metric.resource);
    const stream = streamNameFor(config.log_stream_name, metric.resource);
    const sets = this.dimensionsOf(metric.name, new Map([...labels].filter(isDimension)));
    const unit = unitOf(metric, config);
    return {
      place: this.placeOf(group, stream, namespace, labels),
      dimensions: sets === undefined ? undefined : JSON.stringify(sets),
      definition: JSON.stringify({ Name: metric.name, ...(unit !== "" && { Unit: unit }) }),
      name: JSON.stringify(metric.name),
      memory: new DeltaMemory(),
    };
  }

  private placeOf(
    group: string,
    stream: string,
    namespace: string,
    labels: ReadonlyMap<string, string>,
  ): DocumentPlace {
    const members = [...labels].map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`).join("");
    const key = JSON.stringify([group, stream, namespace, members]);
    let place = this.places.get(key);
    if (place === undefined) {
      if (this.places.size >= MAX_PLACES) this.places.clear();
      place = { id: ++lastPlace, group, stream, namespace, labels: members };
      this.places.set(key, place);
    }
    return place;
  }

  private dimensionsOf(name: string, labels: ReadonlyMap<string, string>): string[][] | undefined {
    const { dimension_rollup_option: rollup } = this.config;
    if (this.declarations.length > 0) {
      const sets = this.declarations.flatMap((each) => each.dimensionsFor(name, labels));
      return sets.length === 0 ? undefined : distinct(sets);
    }
    const all = [...labels.keys()].slice(0, MAX_DIMENSIONS);
    const scope = labels.has(SCOPE_LABEL) ? [SCOPE_LABEL] : [];
    const own = all.filter((label) => label !== SCOPE_LABEL);
    const single = rollup === "NoDimensionRollup" ? [] : own.map((label) => [...scope, label]);
    return distinct([all, ...(rollup === "ZeroAndSingleDimensionRollup" ? [scope] : []), ...single]);
  }

  private visit(
    series: EmfSeries,
    metric: VendorMetric,
    point: PointReader,
    record: number,
    b: Uint8Array,
    start: number,
    end: number,
  ): SkipReason | undefined {
    const value = this.valueOf(series, metric, point, b, start, end);
    if (value === undefined) return Number.isFinite(point.value + point.sum) ? "no_increase" : "not_finite";
    const { place } = series;
    const key = `${place.id} ${point.timeMs}`;
    let document = this.open.get(key);
    if (document === undefined || document.count >= MAX_METRICS || document.has(series.name)) {
      document = new EmfDocument(place, point.timeMs);
      this.open.set(key, document);
      this.documents.push(document);
    }
    document.add(series, value, record);
    return undefined;
  }

  /** Returns the value as JSON; undefined if there is none to send. */
  private valueOf(
    series: EmfSeries,
    metric: VendorMetric,
    point: PointReader,
    b: Uint8Array,
    start: number,
    end: number,
  ): string | undefined {
    const isKept = this.config.retain_initial_value_of_delta_metric;
    const { dataTag, isDelta } = metric;
    if (dataTag === HISTOGRAM_TAG || dataTag === EXPONENTIAL_HISTOGRAM_TAG || dataTag === SUMMARY_TAG) {
      const values = [point.count, point.sum];
      const increase = isDelta ? values : series.memory.increase(point.timeMs, values, isKept);
      if (increase === undefined) return undefined;
      const [min = 0, max = 0] = dataTag === SUMMARY_TAG ? quantileEnds(point) : extremesOf(dataTag, b, start, end);
      return statistics(min, max, increase[0]!, increase[1]!);
    }
    let { value } = point;
    if (dataTag === SUM_TAG && metric.isMonotonic && !isDelta) {
      const increase = series.memory.increase(point.timeMs, [value], isKept);
      if (increase === undefined) return undefined;
      value = increase[0]!;
    }
    return Number.isFinite(value) ? String(value) : undefined;
  }
}

let lastPlace = 0;
const SCOPE_LABEL = "OTelLib";
const MAX_DIMENSIONS = 30;

/** An event under construction: metrics with the same labels and time. */
class EmfDocument {
  readonly place: DocumentPlace;
  count = 0;
  private readonly timeMs: number;
  private readonly records: number[] = [];
  private readonly names = new Set<string>();
  /** Definitions of metrics by their sets of dimensions. */
  private readonly directives = new Map<string, string>();
  private values = "";

  constructor(place: DocumentPlace, timeMs: number) {
    this.place = place;
    this.timeMs = timeMs;
  }

  has(name: string): boolean {
    return this.names.has(name);
  }

  add({ dimensions, definition, name }: EmfSeries, value: string, record: number): void {
    this.count++;
    this.names.add(name);
    this.records.push(record);
    this.values += `,${name}:${value}`;
    if (dimensions === undefined) return;
    const known = this.directives.get(dimensions);
    this.directives.set(dimensions, known === undefined ? definition : `${known},${definition}`);
  }

  event(now: number): LogEvent {
    const timeMs = this.timeMs || now;
    const { namespace, labels } = this.place;
    const directives = [...this.directives].map(
      ([dimensions, metrics]) =>
        `{"Namespace":${JSON.stringify(namespace)},"Dimensions":${dimensions},"Metrics":[${metrics}]}`,
    );
    const head = `{"_aws":{"Timestamp":${timeMs},"CloudWatchMetrics":[${directives.join(",")}]}`;
    return { timeMs, message: JSON.stringify(`${head}${labels}${this.values}}`), records: this.records };
  }
}

/** One of `metric_declarations`. */
class Declaration {
  private readonly dimensions: readonly (readonly string[])[];
  private readonly names: readonly ReturnType<typeof compilePattern>[];
  private readonly matchers: readonly ((labels: ReadonlyMap<string, string>) => boolean)[];

  constructor(config: NonNullable<AwsEmfConfig["metric_declarations"]>[number]) {
    this.dimensions = config.dimensions;
    this.names = config.metric_name_selectors.map((text) => compilePattern(text));
    this.matchers = (config.label_matchers ?? []).map(({ label_names: names, separator, regex }) => {
      const pattern = compilePattern(regex);
      return (labels) => pattern.test(names.map((name) => labels.get(name) ?? "").join(separator));
    });
  }

  /** Returns the sets of dimensions for a metric; none if the declaration is not for it. */
  dimensionsFor(name: string, labels: ReadonlyMap<string, string>): string[][] {
    if (!this.names.some((pattern) => pattern.test(name))) return [];
    if (this.matchers.length > 0 && !this.matchers.some((matches) => matches(labels))) return [];
    return this.dimensions.filter((set) => set.every((label) => labels.has(label))).map((set) => [...set].sort());
  }
}

/** Whether CloudWatch takes a label as a dimension. With any other in a set it would make no metric at all. */
function isDimension([key, value]: readonly [string, string]): boolean {
  return key.length <= MAX_DIMENSION_NAME && value.trim() !== "" && value.length <= MAX_DIMENSION_VALUE;
}

const MAX_DIMENSION_NAME = 255;
const MAX_DIMENSION_VALUE = 1024;

function distinct(sets: readonly string[][]): string[][] {
  return [...new Map(sets.map((set) => [JSON.stringify(set), set])).values()];
}

function namespaceOf(resource: PlainAttributes): string {
  const names = [resource["service.namespace"], resource["service.name"]].map(plainValueText);
  return names.filter((name) => name !== "").join("/") || "default";
}

const UNITS: Readonly<Record<string, string>> = {
  ms: "Milliseconds",
  s: "Seconds",
  us: "Microseconds",
  By: "Bytes",
  Bi: "Bits",
  "%": "Percent",
};

/** CloudWatch's own names of units. It takes no others. */
const CLOUDWATCH_UNIT =
  /^(Seconds|Microseconds|Milliseconds|((Kilo|Mega|Giga|Tera)?(bytes|bits)|Bytes|Bits)(\/Second)?|Percent|Count(\/Second)?|None)$/;

function unitOf({ name, unit }: VendorMetric, { metric_descriptors: descriptors }: AwsEmfConfig): string {
  const written = descriptors?.find((each) => each.metric_name === name);
  if (written !== undefined && (written.overwrite || unit === "")) return written.unit;
  return UNITS[unit] ?? (CLOUDWATCH_UNIT.test(unit) ? unit : "");
}

/** Quantiles are in ascending order. */
function quantileEnds({ quantileValues }: PointReader): [number, number] {
  return [quantileValues[0] ?? 0, quantileValues.at(-1) ?? 0];
}

function statistics(min: number, max: number, count: number, sum: number): string | undefined {
  if (![min, max, count, sum].every(Number.isFinite)) return undefined;
  return `{"Max":${max},"Min":${min},"Count":${count},"Sum":${sum}}`;
}
