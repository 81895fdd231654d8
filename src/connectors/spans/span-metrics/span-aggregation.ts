import { nextOwnerId, OwnerTable } from "#metrics";
import { message, WireWriter } from "#otlp/bytes";
import { EXEMPLAR_SPAN_ID_TAG, EXEMPLAR_TIME_TAG, EXEMPLAR_TRACE_ID_TAG } from "#otlp/metric-tags";
import { SPAN_KIND_SYMBOLS, STATUS_CODES } from "#otlp/signals";
import { OWNER_TAG, SCOPE_NAME_TAG, SCOPE_VERSION_TAG, SPAN_EVENT_ATTRIBUTES_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
import type { MetricAggregation, SeriesStarts } from "../aggregating-processor.js";
import { MetricWriter, type Nanos, nanosOf, PointAttributes, TRUE_VALUE, textValue } from "../metric-writer.js";
import { MeasuredSpan, WantedAttributes } from "../span-fields.js";
import type { Dimension, SpanMetricsConfig } from "./config.js";
import { type ResourceState, Resources } from "./resources.js";
import { SeriesGroup, type SpanSeries } from "./series-group.js";

const SCOPE = "spanmetricsconnector";
/** Series written between two checks of the batch size. */
const CHUNK_SERIES = 500;
const PIECE_BYTES = 1024 * 1024;
/** Limit for the bytes of all keys, because dimensions may be as long as a request. */
const MAX_KEY_BYTES = 128 * 1024 * 1024;
const KIND_VALUES = SPAN_KIND_SYMBOLS.map(textValue);
const STATUS_VALUES = STATUS_CODES.map((code) => textValue(`STATUS_CODE_${code.toUpperCase()}`));

/** A scope whose name is a dimension. */
interface ScopeDimension {
  readonly id: number;
  readonly attributes: ReadonlyMap<string, Uint8Array>;
}

/**
 * Aggregates spans into series. A span is looked up by the bytes of its dimensions below its resource, so nothing is
 * decoded or allocated unless it is the first of its series. If the maximum number of series is reached, spans of new
 * series are counted in one series for the rest of their resource, with the attribute `otel.metric.overflow`: no span
 * goes uncounted.
 */
export class SpanAggregation implements MetricAggregation, RecordVisitor {
  isChanged = false;
  private readonly config: SpanMetricsConfig;
  private readonly instance: Uint8Array;
  private readonly dimensions: readonly Dimension[];
  private readonly spanGroups: readonly SeriesGroup[];
  private readonly eventGroup: SeriesGroup | undefined;
  private readonly groups: readonly SeriesGroup[];
  private readonly resources: Resources;
  private readonly scopes = new OwnerTable<ScopeDimension>();
  private readonly wanted: WantedAttributes;
  private readonly wantedOfEvent: WantedAttributes;
  private readonly fields: MeasuredSpan;
  private readonly key = new WireWriter(1024);
  private readonly writer = new MetricWriter(SCOPE);
  private readonly zeroWriter = new MetricWriter(SCOPE);
  private readonly countWriter = new MetricWriter(SCOPE);
  private starts: { readonly zeros: Batch[]; readonly counts: Batch[] } = { zeros: [], counts: [] };
  private readonly nanosPerUnit: number;
  private readonly hasName: boolean;
  private readonly hasKind: boolean;
  private readonly hasStatus: boolean;
  // The position in the batch that is being read.
  private now = 0;
  private start: Nanos = nanosOf(0);
  private resource: ResourceState | undefined;
  private scope: ScopeDimension | undefined;
  private resourceSerial = 0;
  private scopeSerial = 0;

  constructor(config: SpanMetricsConfig, instance: string) {
    this.config = config;
    this.instance = textValue(instance);
    const { dimensions, callsDimensions, durationDimensions, eventDimensions = [] } = config;
    this.dimensions = [...dimensions, ...callsDimensions, ...durationDimensions, ...eventDimensions];
    const names = this.dimensions.map(({ name }) => name);
    this.wanted = new WantedAttributes(names);
    this.wantedOfEvent = new WantedAttributes(names);
    this.fields = new MeasuredSpan(this.wanted, config.eventDimensions !== undefined);
    this.spanGroups = spanGroups(config);
    const eventsFrom = this.dimensions.length - eventDimensions.length;
    const events = {
      sum: { name: config.eventsName, isDelta: config.isDelta },
      histogram: undefined,
      durations: undefined,
    };
    const places = [...range(0, dimensions.length), ...range(eventsFrom, this.dimensions.length)];
    this.eventGroup =
      config.eventDimensions === undefined
        ? undefined
        : new SeriesGroup(this.spanGroups.length, places, events, config.seriesExpirationMs);
    this.groups = this.eventGroup === undefined ? this.spanGroups : [...this.spanGroups, this.eventGroup];
    this.resources = new Resources(this.dimensions, config.resourceKeys, this.groups.length, config.maxSeries);
    this.nanosPerUnit = config.unit === "s" ? 1e9 : 1e6;
    this.hasName = !config.excluded.has(config.nameAttribute);
    this.hasKind = !config.excluded.has("span.kind");
    this.hasStatus = !config.excluded.has("status.code");
  }

  add(batch: Batch, now: number): void {
    if (now !== this.now) this.start = nanosOf(now);
    this.now = now;
    this.resourceSerial = this.scopeSerial = 0;
    this.isChanged = true;
    new RecordWalk(batch).run(this);
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[0] !== this.resourceSerial) this.enterResource(walk);
    if (this.config.scopes.size > 0 && walk.serials[1] !== this.scopeSerial) this.enterScope(walk);
    const { fields } = this;
    const b = walk.bytes;
    fields.read(b, start, end);
    const duration = fields.durationNanos(b) / this.nanosPerUnit;
    for (const group of this.spanGroups) this.count(this.seriesOf(group, b, undefined), b, duration);
    if (this.eventGroup === undefined) return KEEP;
    for (let i = 0; i < fields.eventStarts.length; i++) {
      this.wantedOfEvent.clear();
      this.wantedOfEvent.collectAll(b, fields.eventStarts[i]!, fields.eventEnds[i]!, SPAN_EVENT_ATTRIBUTES_TAG);
      this.count(this.seriesOf(this.eventGroup, b, this.wantedOfEvent), b, duration);
    }
    return KEEP;
  }

  *pieces(now: number): Generator<Batch> {
    this.isChanged = false;
    const time = nanosOf(now);
    const { writer } = this;
    for (const resource of [...this.resources.active.values()]) {
      for (const group of this.groups) {
        const series = this.seriesToWrite(resource, group);
        for (let i = 0; i < series.length; i += CHUNK_SERIES) {
          const chunk = series.slice(i, i + CHUNK_SERIES);
          this.writeStarts(group, resource.body, chunk, time);
          group.write(writer, resource.body, chunk, time);
          if (writer.byteLength > PIECE_BYTES) yield writer.take();
        }
      }
    }
    if (writer.byteLength > 0) yield writer.take();
  }

  takeStarts(): SeriesStarts {
    this.endStarts();
    const { starts } = this;
    this.starts = { zeros: [], counts: [] };
    return starts;
  }

  private writeStarts(group: SeriesGroup, body: Uint8Array, series: readonly SpanSeries[], time: Nanos): void {
    if (!group.writeStarts(this.zeroWriter, this.countWriter, body, series, time)) return;
    if (this.countWriter.byteLength > PIECE_BYTES) this.endStarts();
  }

  private endStarts(): void {
    if (this.countWriter.byteLength === 0) return;
    this.starts.zeros.push(this.zeroWriter.take());
    this.starts.counts.push(this.countWriter.take());
  }

  /**
   * Removes expired series, now that they have been passed on. With deltas, also removes series that have counted
   * nothing since the last flush.
   */
  flushed(now: number): void {
    const { isDelta, resourceExpirationMs } = this.config;
    const resources = [...this.resources.active.values()];
    if (resourceExpirationMs > 0) {
      const expired = resources.filter(({ lastSeen }) => now - lastSeen >= resourceExpirationMs);
      this.forgetSeries(expired);
    }
    for (const { table } of this.groups) {
      table.sweep(now);
      if (isDelta) table.removeWhere(({ isIdle, count }) => isIdle && count === 0);
    }
    for (const resource of resources) {
      for (const [i, series] of resource.series.entries()) {
        if (series.some(({ isForgotten }) => isForgotten)) resource.series[i] = series.filter((s) => !s.isForgotten);
      }
      const isEmpty = resource.series.every(({ length }) => length === 0) && resource.overflow.length === 0;
      if (isEmpty) this.resources.forget(resource);
    }
  }

  private forgetSeries(resources: readonly ResourceState[]): void {
    if (resources.length === 0) return;
    const gone = new Set(resources.flatMap(({ series }) => series.flat()));
    for (const { table } of this.groups) table.removeWhere((series) => gone.has(series));
    for (const { overflow } of resources) overflow.length = 0;
  }

  /** Returns the series of a resource that must be written. */
  private seriesToWrite(resource: ResourceState, group: SeriesGroup): readonly SpanSeries[] {
    const overflow = resource.overflow[group.index];
    const all = resource.series[group.index]!;
    const series = overflow === undefined ? all : [...all, overflow];
    if (!this.config.isDelta) return series;
    for (const one of series) one.isIdle = one.count === 0;
    return series.filter(({ isIdle }) => !isIdle);
  }

  private enterResource({ bytes, frames, serials }: RecordWalk): void {
    const { start, end } = frames[0]!;
    const [from, to] = message(bytes, start, end, OWNER_TAG);
    this.resource = this.resources.get(bytes, from, to, this.now);
    this.resourceSerial = serials[0]!;
  }

  private enterScope({ bytes, frames, serials }: RecordWalk): void {
    const { start, end } = frames[1]!;
    const [from, to] = message(bytes, start, end, OWNER_TAG);
    const { id } = this.resource!;
    this.scope =
      this.scopes.find(id, bytes, from, to) ?? this.scopes.add(id, bytes, from, to, this.readScope(bytes, from, to));
    this.scopeSerial = serials[1]!;
  }

  private readScope(b: Uint8Array, start: number, end: number): ScopeDimension {
    const text = (tag: number) => Buffer.from(b.slice(...message(b, start, end, tag))).toString();
    const [name, version] = [text(SCOPE_NAME_TAG), text(SCOPE_VERSION_TAG)];
    const attributes = new Map<string, Uint8Array>();
    if (name === "" || !this.config.scopes.has(name)) return { id: this.resource!.id, attributes };
    attributes.set("span.instrumentation.scope.name", textValue(name));
    if (version !== "") attributes.set("span.instrumentation.scope.version", textValue(version));
    return { id: nextOwnerId(), attributes };
  }

  private seriesOf(group: SeriesGroup, b: Uint8Array, event: WantedAttributes | undefined): SpanSeries {
    const { key, fields, wanted, resource } = this;
    key.clear();
    if (this.hasKind) key.byte(fields.kind & 127);
    if (this.hasStatus) key.byte(fields.statusCode & 127);
    if (this.hasName) {
      key.varint(fields.nameEnd - fields.nameStart);
      key.copy(b, fields.nameStart, fields.nameEnd);
    }
    for (const i of group.dimensions) {
      const from = wanted.starts[i]! >= 0 ? wanted : event;
      const start = from === undefined ? -1 : from.starts[i]!;
      if (start >= 0) {
        const end = from!.ends[i]!;
        key.varint(end - start + 1);
        key.copy(b, start, end);
        continue;
      }
      const fallback = resource!.fallbacks[i];
      key.varint(fallback === undefined ? 0 : fallback.length + 1);
      if (fallback !== undefined) key.copy(fallback, 0, fallback.length);
    }
    const owner = this.scope?.id ?? resource!.id;
    return group.find(owner, key, this.now) ?? this.createSeries(group, owner, b, event);
  }

  private createSeries(
    group: SeriesGroup,
    owner: number,
    b: Uint8Array,
    event: WantedAttributes | undefined,
  ): SpanSeries {
    const resource = this.resource!;
    const { maxSeriesPerResource, maxSeries } = this.config;
    const total = this.groups.reduce((sum, { table }) => sum + table.size, 0);
    const hasRoom = total < maxSeries && group.table.byteLength < MAX_KEY_BYTES && !resource.isOverflow;
    if (resource.series[group.index]!.length >= maxSeriesPerResource || !hasRoom) {
      const attributes = () => new PointAttributes(new Map([["otel.metric.overflow", TRUE_VALUE]]));
      return (resource.overflow[group.index] ??= group.createSeries(attributes(), this.start));
    }
    const series = group.createSeries(this.attributesOf(group, b, event), this.start);
    return group.add(owner, this.key, this.now, series, resource);
  }

  private attributesOf(group: SeriesGroup, b: Uint8Array, event: WantedAttributes | undefined): PointAttributes {
    const { fields, wanted, resource, config } = this;
    const values = new Map<string, Uint8Array>(this.scope?.attributes ?? []);
    const put = (name: string, value: Uint8Array | undefined) => {
      if (value !== undefined && !config.excluded.has(name)) values.set(name, value);
    };
    put("service.name", resource!.service);
    put(config.nameAttribute, textValue(Buffer.from(b.subarray(fields.nameStart, fields.nameEnd)).toString()));
    put("span.kind", KIND_VALUES[fields.kind] ?? KIND_VALUES[0]);
    put("status.code", STATUS_VALUES[fields.statusCode] ?? STATUS_VALUES[0]);
    put("collector.instance.id", this.instance);
    for (const i of group.dimensions) {
      const from = wanted.starts[i]! >= 0 ? wanted : event;
      const isFound = from !== undefined && from.starts[i]! >= 0;
      const value = isFound ? b.slice(from.starts[i], from.ends[i]) : resource!.fallbacks[i];
      if (value !== undefined) values.set(this.dimensions[i]!.name, value);
    }
    return new PointAttributes(values);
  }

  private count(series: SpanSeries, b: Uint8Array, duration: number): void {
    series.count++;
    series.durations?.observe(duration, 1);
    if (series.exemplars.length >= this.config.maxExemplars) return;
    const { traceIdStart, traceIdEnd, spanIdStart, spanIdEnd, endTimeAt } = this.fields;
    if (traceIdEnd === traceIdStart) return;
    const out = new WireWriter(64);
    out.byte(EXEMPLAR_TIME_TAG);
    if (endTimeAt < 0) out.copy(this.start, 0, 8);
    else out.copy(b, endTimeAt, endTimeAt + 8);
    out.byte(EXEMPLAR_SPAN_ID_TAG);
    out.varint(spanIdEnd - spanIdStart);
    out.copy(b, spanIdStart, spanIdEnd);
    out.byte(EXEMPLAR_TRACE_ID_TAG);
    out.varint(traceIdEnd - traceIdStart);
    out.copy(b, traceIdStart, traceIdEnd);
    series.exemplars.push({ value: duration, fields: out.written() });
  }
}

/** Returns one group for calls and durations if both have the same dimensions, which saves a lookup per span. */
function spanGroups(config: SpanMetricsConfig): SeriesGroup[] {
  const { dimensions, callsDimensions, durationDimensions, durations, isDelta, seriesExpirationMs } = config;
  const sum = { name: config.callsName, isDelta };
  const histogram = { name: config.durationName, unit: config.unit, isDelta };
  const common = range(0, dimensions.length);
  const callsEnd = dimensions.length + callsDimensions.length;
  const calls = [...common, ...range(dimensions.length, callsEnd)];
  const nothing = { sum: undefined, histogram: undefined, durations: undefined };
  if (durations === undefined) return [new SeriesGroup(0, calls, { ...nothing, sum }, seriesExpirationMs)];
  const isSame = JSON.stringify(callsDimensions) === JSON.stringify(durationDimensions);
  if (isSame) return [new SeriesGroup(0, calls, { sum, histogram, durations }, seriesExpirationMs)];
  const durationIndexes = [...common, ...range(callsEnd, callsEnd + durationDimensions.length)];
  return [
    new SeriesGroup(0, calls, { ...nothing, sum }, seriesExpirationMs),
    new SeriesGroup(1, durationIndexes, { ...nothing, histogram, durations }, seriesExpirationMs),
  ];
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
