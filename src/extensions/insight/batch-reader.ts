import {
  after,
  bodyEnd,
  decodeText,
  fieldTag,
  hasKey,
  keyAt,
  keyEnd,
  nextBody,
  POINT_ATTRIBUTES_TAGS,
  stepOver,
  valueAt,
  varint,
} from "#otlp/bytes";
import { DATA_POINT_TAG, METRIC_DATA_TAGS, METRIC_NAME_TAG } from "#otlp/metric-tags";
import { SEVERITY_NUMBER_NAMES } from "#otlp/signals";
import {
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_TIME_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  RESOURCE_CONTAINER_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
  SCOPE_NAME_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_NAME_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import type { Batch } from "../../plugin.js";
import { hashBytes, hashHigh, hashLow, hashPair } from "./hash-bytes.js";
import type { InsightTables } from "./insight-tables.js";
import type { TopTable } from "./top-table.js";

/** Reads only some records of a larger batch, each for several, because the pipeline waits. */
const MAX_READ_RECORDS = 4096;
/** Longer names are cut, and so many attributes and bytes of one record are read. */
const MAX_NAME_BYTES = 128;
const MAX_ATTRIBUTES = 256;
const MAX_HASHED_BYTES = 8192;
const SERVICE_NAME = Buffer.from("service.name");
const MESSAGE_KEYS = [Buffer.from("message"), Buffer.from("msg")];

/** Tells apart what is hashed. The place is added to it. */
const SEED = {
  service: 1,
  severity: 2,
  scope: 3,
  resourceAttribute: 4,
  scopeAttribute: 5,
  attribute: 6,
  metric: 7,
  label: 8,
  span: 9,
  duplicate: 10,
  value: 11,
  body: 12,
} as const;
const SEEDS = 16;

/**
 * Reads one batch into the tables, on its bytes. Everything that is known about the current record is in fields, so no
 * object is made for it.
 */
export class BatchReader {
  private readonly tables: InsightTables;
  private b: Uint8Array = new Uint8Array();
  private place = 0;
  private seed = 0;
  /** Every so many-th record is read. */
  private stride = 1;
  private untilNext = 0;
  /** The number of records in the current resource and scope. */
  private records = 0;
  private serviceRow = 0;
  private service = "";
  private duplicateRow = 0;
  private resourceLow = 0;
  private resourceHigh = 0;

  constructor(tables: InsightTables) {
    this.tables = tables;
  }

  read(batch: Batch, place: number): void {
    const b = batch.bytes;
    this.b = b;
    this.place = place;
    this.seed = place * SEEDS;
    this.stride = Math.ceil(batch.count / MAX_READ_RECORDS) || 1;
    this.untilNext = batch.count % this.stride;
    for (let p = 0; (p = nextBody(b, p, b.length, RESOURCE_CONTAINER_TAG)) >= 0; ) {
      const start = p;
      p = bodyEnd;
      this.readResource(batch.signal, start, p);
    }
  }

  private readResource(signal: Batch["signal"], start: number, end: number): void {
    const { b } = this;
    const owner = nextBody(b, start, end, OWNER_TAG);
    const ownerEnd = owner < 0 ? start : bodyEnd;
    this.readOwner(owner < 0 ? start : owner, ownerEnd);
    const before = this.records;
    for (let p = start; (p = nextBody(b, p, end, SCOPE_CONTAINER_TAG)) >= 0; ) {
      const scope = p;
      p = bodyEnd;
      this.readScope(signal, scope, p);
    }
    this.tables.service.add(this.serviceRow, this.records - before, end - start);
  }

  /** Finds the service, and counts the resource's attributes. */
  private readOwner(start: number, end: number): void {
    const { b } = this;
    let [nameStart, nameEnd] = [0, 0];
    hashBytes(b, start, Math.min(end, start + MAX_HASHED_BYTES), SEED.value);
    this.resourceLow = hashLow;
    this.resourceHigh = hashHigh;
    for (let p = start; (p = nextBody(b, p, end, RESOURCE_ATTRIBUTES_TAG)) >= 0; ) {
      const at = p;
      p = bodyEnd;
      this.countAttribute(at, p, SEED.resourceAttribute, "resource", 0);
      if (!hasKey(b, at, p, SERVICE_NAME)) continue;
      const text = stringValue(b, at, p);
      if (text >= 0) [nameStart, nameEnd] = [text, bodyEnd];
    }
    hashBytes(b, nameStart, nameEnd, this.seed + SEED.service);
    const [low, high] = [hashLow, hashHigh];
    this.serviceRow = this.rowOf(this.tables.service, low, high, nameStart, nameEnd);
    this.service = this.tables.service.names[this.serviceRow]!.name;
    this.duplicateRow = this.rowOf(this.tables.duplicates, low, high, nameStart, nameEnd);
  }

  private readScope(signal: Batch["signal"], start: number, end: number): void {
    const { b } = this;
    const owner = nextBody(b, start, end, OWNER_TAG);
    const ownerEnd = owner < 0 ? start : bodyEnd;
    let [nameStart, nameEnd] = [0, 0];
    if (owner >= 0) {
      const name = nextBody(b, owner, ownerEnd, SCOPE_NAME_TAG);
      if (name >= 0) [nameStart, nameEnd] = [name, bodyEnd];
      for (let p = owner; (p = nextBody(b, p, ownerEnd, SCOPE_ATTRIBUTES_TAG)) >= 0; ) {
        const at = p;
        p = bodyEnd;
        this.countAttribute(at, p, SEED.scopeAttribute, "scope", 0);
      }
    }
    hashBytes(b, nameStart, nameEnd, this.seed + SEED.scope);
    const scopeRow = this.rowOf(this.tables.scope, hashLow, hashHigh, nameStart, nameEnd);
    const before = this.records;
    for (let p = start; (p = nextBody(b, p, end, SCOPE_ITEM_TAG)) >= 0; ) {
      const item = p;
      p = bodyEnd;
      if (signal === "metrics") this.readMetric(item, p);
      else {
        this.records++;
        if (!this.isRead()) continue;
        if (signal === "logs") this.readLog(item, p);
        else this.readSpan(item, p);
      }
    }
    this.tables.scope.add(scopeRow, this.records - before, end - start);
  }

  private isRead(): boolean {
    if (this.stride === 1) return true;
    if (this.untilNext-- > 0) return false;
    this.untilNext = this.stride - 1;
    return true;
  }

  private readLog(start: number, end: number): void {
    const { b, tables, stride } = this;
    let severity = 0;
    let [bodyAt, bodyStop] = [-1, -1];
    let [low, high] = [this.resourceLow, this.resourceHigh];
    let attributes = 0;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      const tag = fieldTag;
      const value = valueAt;
      if (tag === LOG_ATTRIBUTES_TAG) {
        if (attributes++ >= MAX_ATTRIBUTES) continue;
        let body = value + 1;
        if (b[value]! > 127) {
          varint(b, value);
          body = after;
        }
        this.countAttribute(body, p, SEED.attribute, "record", stride);
      } else if (tag === LOG_SEVERITY_NUMBER_TAG) severity = b[value]!;
      else if (tag === LOG_BODY_TAG) [bodyAt, bodyStop] = [value, p];
      if (tag === LOG_TIME_TAG || tag === LOG_OBSERVED_TIME_TAG) continue;
      hashBytes(b, at, Math.min(p, at + MAX_HASHED_BYTES), SEED.duplicate);
      low = Math.imul(low ^ hashLow, 0x9e3779b1) + hashHigh;
      high = Math.imul(high ^ hashHigh, 0x85ebca77) + hashLow;
    }
    const size = (end - start) * stride;
    this.countDuplicate(low >>> 0, high >>> 0, size);
    severity = severity < SEVERITY_NUMBER_NAMES.length ? severity : 0;
    hashPair(severity, this.place, SEED.severity);
    let row = tables.severity.find(hashLow, hashHigh);
    if (row < 0)
      row = tables.severity.insert(hashLow, hashHigh, {
        place: this.place,
        name: SEVERITY_NUMBER_NAMES[severity]!.toUpperCase(),
      });
    tables.severity.add(row, stride, size);
    if (bodyAt >= 0) varint(b, bodyAt);
    const pattern = this.patternRow(bodyAt < 0 ? -1 : after, bodyStop);
    tables.pattern.add(pattern, stride, size);
    tables.patternServices.note(pattern, this.service, stride);
  }

  /** The pattern of a body in [start, end), which is an AnyValue. A body that is a map has one in its message. */
  private patternRow(start: number, end: number): number {
    const { b, tables, place } = this;
    if (start < 0 || start === end) return this.namedPattern("(no body)");
    if (b[start] === STRING_VALUE_TAG) {
      varint(b, start + 1);
      return tables.miner.rowOf(b, after, end, place);
    }
    if (b[start] !== KVLIST_VALUE_TAG)
      return this.namedPattern(b[start] === INT_VALUE_TAG ? "(number)" : "(not a text)");
    varint(b, start + 1);
    for (let p = after; (p = nextBody(b, p, end, KEY_TAG)) >= 0; ) {
      const pair = p;
      p = bodyEnd;
      if (!MESSAGE_KEYS.some((key) => hasKey(b, pair, p, key))) continue;
      const text = stringValue(b, pair, p);
      if (text >= 0) return tables.miner.rowOf(b, text, bodyEnd, place);
    }
    return this.namedPattern("(map)");
  }

  private namedPattern(name: string): number {
    const text = Buffer.from(name);
    return this.tables.miner.rowOf(text, 0, text.length, this.place);
  }

  private readSpan(start: number, end: number): void {
    const { b, stride } = this;
    let [nameStart, nameEnd] = [0, 0];
    let attributes = 0;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      const tag = fieldTag;
      const value = valueAt;
      if (tag !== SPAN_ATTRIBUTES_TAG && tag !== SPAN_NAME_TAG) continue;
      let body = value + 1;
      if (b[value]! > 127) {
        varint(b, value);
        body = after;
      }
      if (tag === SPAN_NAME_TAG) [nameStart, nameEnd] = [body, p];
      else if (attributes++ < MAX_ATTRIBUTES) this.countAttribute(body, p, SEED.attribute, "record", stride);
    }
    const size = (end - start) * stride;
    hashBytes(b, start, Math.min(end, start + MAX_HASHED_BYTES), SEED.duplicate);
    this.countDuplicate(hashLow, hashHigh, size);
    hashBytes(b, nameStart, nameEnd, this.seed + SEED.span);
    const row = this.rowOf(this.tables.span, hashLow, hashHigh, nameStart, nameEnd);
    this.tables.span.add(row, stride, size);
    this.tables.spanServices.note(row, this.service, stride);
  }

  private readMetric(start: number, end: number): void {
    const { b, tables } = this;
    const name = nextBody(b, start, end, METRIC_NAME_TAG);
    const [nameStart, nameEnd] = name < 0 ? [0, 0] : [name, bodyEnd];
    hashBytes(b, nameStart, nameEnd, this.seed + SEED.metric);
    const [low, high] = [hashLow, hashHigh];
    const row = this.rowOf(tables.metric, low, high, nameStart, nameEnd);
    const before = this.records;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      const tag = fieldTag;
      const value = valueAt;
      if (!METRIC_DATA_TAGS.includes(tag)) continue;
      varint(b, value);
      this.readPoints(after, p, POINT_ATTRIBUTES_TAGS[tag]!, row, low, high);
    }
    tables.metric.add(row, this.records - before, end - start);
    tables.metricServices.note(row, this.service, this.records - before);
  }

  private readPoints(
    start: number,
    end: number,
    attributesTag: number,
    row: number,
    metricLow: number,
    metricHigh: number,
  ): void {
    const { b } = this;
    for (let p = start; (p = nextBody(b, p, end, DATA_POINT_TAG)) >= 0; ) {
      const point = p;
      p = bodyEnd;
      this.records++;
      if (this.isRead()) this.readPoint(point, p, attributesTag, row, metricLow, metricHigh);
    }
  }

  /** A series is the sum of the hashes of its attributes, so that the series without one of them is a difference. */
  private readPoint(
    start: number,
    end: number,
    attributesTag: number,
    row: number,
    metricLow: number,
    metricHigh: number,
  ): void {
    const { b, tables, stride } = this;
    let low = this.resourceLow;
    let high = this.resourceHigh;
    let count = 0;
    for (let p = start; count < MAX_LABELS && (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
      const at = p;
      p = bodyEnd;
      this.countAttribute(at, p, SEED.attribute, "record", stride);
      hashBytes(b, at, Math.min(p, at + MAX_HASHED_BYTES), SEED.value);
      labelLows[count] = hashLow;
      labelHighs[count] = hashHigh;
      low = (low + hashLow) >>> 0;
      high = (high + hashHigh) >>> 0;
      const keyStart = keyAt(b, at, p);
      hashBytes(b, keyStart, keyEnd, SEED.label);
      labelRows[count++] = this.labelRow(hashLow, hashHigh, metricLow, metricHigh, row, keyStart, keyEnd);
    }
    hashPair(low, high, SEED.value);
    tables.series.add(row, hashLow, hashHigh);
    for (let i = 0; i < count; i++)
      this.countLabel(labelRows[i]!, labelLows[i]!, labelHighs[i]!, low, high, (end - start) * stride);
    const resourceRow = this.labelRow(0, 0, metricLow, metricHigh, row, 0, 0);
    this.countLabel(resourceRow, this.resourceLow, this.resourceHigh, low, high, (end - start) * stride);
    hashBytes(b, start, Math.min(end, start + MAX_HASHED_BYTES), SEED.duplicate);
    this.countDuplicate(
      (hashLow ^ metricLow ^ this.resourceLow) >>> 0,
      (hashHigh ^ metricHigh ^ this.resourceHigh) >>> 0,
      (end - start) * stride,
    );
  }

  private countLabel(
    row: number,
    low: number,
    high: number,
    seriesLow: number,
    seriesHigh: number,
    bytes: number,
  ): void {
    const { tables } = this;
    tables.label.add(row, this.stride, bytes);
    hashPair(low, high, SEED.value);
    tables.labelValues.add(row, hashLow, hashHigh);
    hashPair((seriesLow - low) >>> 0, (seriesHigh - high) >>> 0, SEED.value);
    tables.seriesWithout.add(row, hashLow, hashHigh);
  }

  private labelRow(
    low: number,
    high: number,
    metricLow: number,
    metricHigh: number,
    metric: number,
    start: number,
    end: number,
  ): number {
    const { label, metric: metrics } = this.tables;
    hashPair(low ^ metricLow, high ^ metricHigh, SEED.label);
    const [ownLow, ownHigh] = [hashLow, hashHigh];
    const row = label.find(ownLow, ownHigh);
    if (row >= 0) return row;
    const { name } = metrics.names[metric]!;
    return label.insert(ownLow, ownHigh, { place: this.place, name, context: this.text(start, end) });
  }

  private countDuplicate(low: number, high: number, bytes: number): void {
    const { tables } = this;
    if (tables.seen.see(low, (high ^ this.place) >>> 0)) tables.duplicates.add(this.duplicateRow, this.stride, bytes);
  }

  /** Counts the KeyValue in [start, end). `records` is 0 for attributes of owners, which all their records share. */
  private countAttribute(start: number, end: number, kind: number, context: string, records: number): void {
    const { b } = this;
    const { attribute } = this.tables;
    const from = keyAt(b, start, end);
    const to = keyEnd;
    hashBytes(b, from, to, this.seed + kind);
    let row = attribute.find(hashLow, hashHigh);
    if (row < 0) row = attribute.insert(hashLow, hashHigh, { place: this.place, name: this.text(from, to), context });
    attribute.add(row, records || 1, (end - start + 2) * (records || 1));
  }

  private rowOf(table: TopTable, low: number, high: number, start: number, end: number): number {
    const row = table.find(low, high);
    return row >= 0 ? row : table.insert(low, high, { place: this.place, name: this.text(start, end) });
  }

  private text(start: number, end: number): string {
    const text = decodeText(this.b, start, Math.min(end, start + MAX_NAME_BYTES));
    return end - start > MAX_NAME_BYTES ? `${text}…` : text;
  }
}

const MAX_LABELS = 64;
const labelRows = new Int32Array(MAX_LABELS);
const labelLows = new Uint32Array(MAX_LABELS);
const labelHighs = new Uint32Array(MAX_LABELS);

/** Returns where the text of a KeyValue in [start, end) starts, or -1 if its value is no text. It ends at `bodyEnd`. */
function stringValue(b: Uint8Array, start: number, end: number): number {
  const value = nextBody(b, start, end, VALUE_TAG);
  if (value < 0) return -1;
  return nextBody(b, value, bodyEnd, STRING_VALUE_TAG);
}
