import { AttributeKey, SeriesTable } from "#metrics";
import { after, encodedKey, fieldTag, hasKey, stepOver, valueAt, varint, WireWriter, writeKeyValue } from "#otlp/bytes";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_BODY_TAG,
  LOG_OBSERVED_TIME_TAG,
  LOG_SEVERITY_NUMBER_TAG,
  LOG_SEVERITY_TEXT_TAG,
  LOG_TIME_TAG,
  SCOPE_ITEM_TAG,
} from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Steps } from "#work";
import type { Batch } from "../../../plugin.js";
import { type CollectedFrame, CollectedFrames, piecesOf } from "../collected-frames.js";
import type { NeededRecords, RecordCollection } from "../interval-processor.js";
import type { LogDedupConfig } from "./config.js";
import { type FieldPath, FieldRemover, fieldText } from "./record-fields.js";

const FIRST_SEEN = "first_observed_timestamp";
const LAST_SEEN = "last_observed_timestamp";

/** More kinds of records than this are passed on early: small records need more memory than their bytes. */
const MAX_KINDS = 200_000;

/** A log record, and how often it was seen. Times are in milliseconds. */
interface CountedRecord {
  readonly bytes: Uint8Array;
  readonly first: number;
  last: number;
  count: number;
}

/**
 * Counts log records that are equal: their resource, scope, attributes, body and severity are the same, whatever their
 * times and traces. With `include_fields` only these fields count, for records that have any of them.
 */
export class LogCollection implements RecordCollection, RecordVisitor {
  private readonly config: LogDedupConfig;
  private readonly remover: FieldRemover | undefined;
  private readonly frames = new CollectedFrames<CountedRecord>();
  private readonly records = new SeriesTable<CountedRecord>({ maxSeries: Number.MAX_SAFE_INTEGER, expireAfterMs: 0 });
  private readonly attributes = new AttributeKey();
  private readonly key = new WireWriter(1024);
  private scope: CollectedFrame<CountedRecord> | undefined;
  private scopeSerial = 0;
  private hold: NeededRecords | undefined;
  private now = 0;

  constructor(config: LogDedupConfig) {
    this.config = config;
    this.remover = config.excluded.length === 0 ? undefined : new FieldRemover(config.excluded);
  }

  get isFull(): boolean {
    return this.records.size > MAX_KINDS;
  }

  add(batch: Batch, hold: NeededRecords, now: number): void {
    this.scopeSerial = 0;
    this.hold = hold;
    this.now = now;
    new RecordWalk(batch).run(this);
    this.hold = undefined;
  }

  pieces(now: number): Steps<readonly Batch[]> {
    const write = (record: CountedRecord, out: WireWriter) => this.write(record, out, now);
    return piecesOf(this.frames.resources, { signal: "logs", tag: SCOPE_ITEM_TAG, write });
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[1] !== this.scopeSerial) {
      this.scopeSerial = walk.serials[1]!;
      this.scope = this.frames.scopeOf(walk);
    }
    this.hold!.need();
    const { remover } = this;
    if (remover === undefined) this.count(walk.bytes, start, end);
    else {
      remover.remove(walk.bytes, start, end);
      this.count(remover.out.bytes, 0, remover.out.length);
    }
    return KEEP;
  }

  private count(b: Uint8Array, start: number, end: number): void {
    this.setKey(b, start, end);
    const { key, now } = this;
    const scope = this.scope!;
    const known = this.records.find(scope.id, key.bytes, 0, key.length, now);
    if (known !== undefined) {
      known.count++;
      known.last = now;
      return;
    }
    const record = { bytes: Uint8Array.from(b.subarray(start, end)), first: now, last: now, count: 1 };
    scope.items.push(record);
    this.records.add(scope.id, key.bytes, 0, key.length, now, record);
  }

  private setKey(b: Uint8Array, start: number, end: number): void {
    const { key, config } = this;
    key.clear();
    if (config.included.length > 0 && this.setKeyOfFields(b, start, end, config.included)) return;
    const { attributes } = this;
    attributes.begin(b);
    let bodyAt = 0;
    let bodyEnd = 0;
    let textAt = 0;
    let textEnd = 0;
    let severity = 0;
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      if (fieldTag === LOG_ATTRIBUTES_TAG) {
        varint(b, valueAt);
        attributes.add(at, after, p);
      } else if (fieldTag === LOG_BODY_TAG) [bodyAt, bodyEnd] = [at, p];
      else if (fieldTag === LOG_SEVERITY_NUMBER_TAG) severity = varint(b, valueAt);
      else if (fieldTag === LOG_SEVERITY_TEXT_TAG) [textAt, textEnd] = [at, p];
    }
    attributes.finish();
    key.copy(attributes.bytes, attributes.start, attributes.end);
    if (bodyEnd - bodyAt > EMPTY_FIELD) key.copy(b, bodyAt, bodyEnd);
    if (textEnd - textAt > EMPTY_FIELD) key.copy(b, textAt, textEnd);
    key.byte(LOG_SEVERITY_NUMBER_TAG);
    key.varint(severity);
  }

  /** Returns false if the record has none of the fields. */
  private setKeyOfFields(b: Uint8Array, start: number, end: number, fields: readonly FieldPath[]): boolean {
    const { key } = this;
    for (const field of fields) {
      const text = fieldText(b, start, end, field);
      if (text === undefined) continue;
      key.byte(FIELD_MARK);
      key.text(text);
    }
    return key.length > 0;
  }

  private write({ bytes, first, last, count }: CountedRecord, out: WireWriter, now: number): void {
    const { countAttribute, timeZone } = this.config;
    copyRecord(out, bytes, [countAttribute, FIRST_SEEN, LAST_SEEN].map(encodedKey));
    out.byte(LOG_TIME_TAG);
    out.fixed64(BigInt(now) * 1_000_000n);
    out.byte(LOG_OBSERVED_TIME_TAG);
    out.fixed64(BigInt(first) * 1_000_000n);
    if (countAttribute !== FIRST_SEEN && countAttribute !== LAST_SEEN) writeAttribute(out, countAttribute, count);
    writeAttribute(out, FIRST_SEEN, timeText(first, timeZone));
    writeAttribute(out, LAST_SEEN, timeText(last, timeZone));
  }
}

/** The size of a field that is empty: a tag and a length. */
const EMPTY_FIELD = 2;
/** Begins the text of a field in a key. It is no tag of a record. */
const FIELD_MARK = 1;

/** Copies a record without its times and without these attributes. */
function copyRecord(out: WireWriter, b: Uint8Array, without: readonly Uint8Array[]): void {
  for (let p = 0; p < b.length; ) {
    const at = p;
    p = stepOver(b, p);
    if (fieldTag === LOG_TIME_TAG || fieldTag === LOG_OBSERVED_TIME_TAG) continue;
    if (fieldTag === LOG_ATTRIBUTES_TAG) {
      varint(b, valueAt);
      const body = after;
      const end = p;
      if (without.some((key) => hasKey(b, body, end, key))) continue;
    }
    out.copy(b, at, p);
  }
}

function writeAttribute(out: WireWriter, key: string, value: string | number): void {
  out.byte(LOG_ATTRIBUTES_TAG);
  out.begin();
  writeKeyValue(out, key, value);
  out.end();
}

const SECOND = 1000;

/** Texts of the last seconds that were asked for, by time zone: the records of a batch share them. */
const recent = new Map<string, string>();
const MAX_RECENT = 1000;

/** A time in RFC 3339 without a fraction, in a time zone. */
function timeText(ms: number, timeZone: string): string {
  const second = Math.floor(ms / SECOND) * SECOND;
  const key = `${second} ${timeZone}`;
  let text = recent.get(key);
  if (text === undefined) {
    if (recent.size >= MAX_RECENT) recent.clear();
    text = written(second, timeZone);
    recent.set(key, text);
  }
  return text;
}

function written(ms: number, timeZone: string): string {
  const minutes = timeZone === "UTC" ? 0 : offsetMinutes(ms, timeZone);
  const text = new Date(ms + minutes * 60 * SECOND).toISOString().slice(0, -".000Z".length);
  if (minutes === 0) return `${text}Z`;
  const two = (n: number) => String(Math.trunc(n)).padStart(2, "0");
  const size = Math.abs(minutes);
  return `${text}${minutes < 0 ? "-" : "+"}${two(size / 60)}:${two(size % 60)}`;
}

function offsetMinutes(ms: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" }).formatToParts(ms);
  const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign, hours, minutes] = /^GMT([+-])(\d+):(\d+)$/.exec(name) ?? [];
  return sign === undefined ? 0 : (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}
