import type { Batch } from "../telemetry/batch.js";
import { decodeText } from "../telemetry/decode.js";
import { type FieldVisitor, type Owner, rewriteFields, type TextField } from "../telemetry/field-walk.js";
import type { Rewriter } from "../telemetry/rewriter.js";
import { SummaryAttributes } from "../telemetry/summary-attributes.js";
import { after, findField, skip, varint } from "../telemetry/wire.js";
import { matches } from "./detect/match.js";
import { type Field, type FieldSettings, Fields } from "./fields.js";
import { treatJson } from "./json-text.js";
import { RecordBefore } from "./record-before.js";
import { STRATEGIES, type Strategy, type WholeTreatment, wholeTreatment } from "./strategies.js";
import { Tally } from "./tally.js";
import { type TextSettings, Texts } from "./texts.js";
import { leafText } from "./values.js";

/** What is treated, how, and what is said of it. */
export interface TreatmentSettings extends FieldSettings, TextSettings {
  /** False: count what would be treated, and change nothing. */
  readonly changes: boolean;
  /** Attributes that tell how many values were treated, or also which, on what they were treated in. */
  readonly summary: "silent" | "info" | "debug";
  /** Look into bodies that are JSON as into maps. */
  readonly jsonBodies: boolean;
}

export const SUMMARY_COUNT = "pii.treated.count";
export const SUMMARY_KEYS = "pii.treated.keys";

/**
 * Treats personal data and secrets in the fields of batches.
 *
 * A batch without any passes as the same object. Only values change, keys never do, and of a text only the bytes that
 * were found; ids, numbers, names of metrics and unknown fields are not looked at. Treating again changes nothing.
 *
 * Attribute, value, list, member and text call each other for every field, on one set of positions: they stay in one file.
 */
export class Treatment implements FieldVisitor {
  /** What was treated since the last `takeCounts`. */
  private readonly tally: Tally;
  private readonly settings: TreatmentSettings;
  private readonly fields: Fields;
  private readonly texts: Texts;
  private readonly wholes: Readonly<Record<Strategy, WholeTreatment>>;
  private readonly summary = new SummaryAttributes();
  private readonly hasSummary: boolean;
  private readonly before = new RecordBefore();
  private path = "";

  constructor(settings: TreatmentSettings) {
    this.settings = settings;
    this.fields = new Fields(settings);
    this.texts = new Texts(settings);
    this.tally = new Tally(this.texts.names.length, settings.summary === "debug");
    this.hasSummary = settings.changes && settings.summary !== "silent";
    this.wholes = Object.fromEntries(
      STRATEGIES.map((strategy) => [strategy, wholeTreatment(strategy, settings.hashKey)]),
    ) as Record<Strategy, WholeTreatment>;
  }

  /** Names of what is counted: detectors, users' patterns, `field` and `secret_key`. */
  get names(): readonly string[] {
    return [...this.texts.names, "field", "secret_key"];
  }

  /** Calls `take` with the number of each name that has been found since the last time. */
  takeCounts(take: (index: number, count: number) => void): void {
    const { counts } = this.tally;
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] === 0) continue;
      take(i, counts[i]!);
      counts[i] = 0;
    }
  }

  treat(batch: Batch): Batch {
    this.before.begin();
    return rewriteFields(batch, this);
  }

  open(owner: Owner): void {
    if (owner === "record") this.before.next();
    if (owner === "event" || owner === "link" || owner === "exemplar") return; // belong to their record
    this.tally.forget();
    if (this.hasSummary) this.summary.begin();
  }

  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    if (this.before.isSame(b, start, end)) return;
    const keySize = b[start + 1]!;
    const keyEnd = start + 2 + keySize;
    if (b[start] !== KEY || keySize > 127 || b[keyEnd] !== VALUE || keyEnd >= end) {
      this.oddAttribute(rewriter, at, lengthAt, start, end);
      return;
    }
    const valueAt = keyEnd + 1;
    let size = b[valueAt]!;
    let valueStart = valueAt + 1;
    if (size > 127) {
      size = varint(b, valueAt);
      valueStart = after;
    }
    const field = this.fields.attribute(b, start + 2, keyEnd);
    if (this.hasSummary && (field.path === SUMMARY_COUNT || field.path === SUMMARY_KEYS)) {
      if (this.texts.find(b, valueStart, valueStart + size, field.hints) === 0) {
        this.summary.see(rewriter, field.path, at, lengthAt, end);
        return;
      }
    }
    if (field.strategy === undefined && b[valueStart] === STRING && b[valueStart + 1]! === size - 2 && size < 130) {
      // The usual attribute is a short text with nothing in it.
      if (this.texts.find(b, valueStart + 2, valueStart + size, field.hints) === 0) return this.before.keep(start, end);
    } else if (field.strategy === undefined && HOLDS_NO_TEXT[b[valueStart]!] === 1) return this.before.keep(start, end);
    this.pair(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
  }

  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const field = this.fields.member(undefined, "body");
    if (field.strategy === "redact") this.removeField(rewriter, field, at, end);
    else if (!this.settings.jsonBodies || !this.jsonBody(rewriter, field, lengthAt, start, end))
      this.value(rewriter, field, field.strategy, lengthAt, start, end);
  }

  text(rewriter: Rewriter, name: TextField, lengthAt: number, start: number, end: number): void {
    const field = this.fields.member(undefined, name);
    this.string(rewriter, field, field.strategy, lengthAt, start, end);
  }

  close(rewriter: Rewriter, owner: Owner, end: number, attributesTag: number): void {
    const { tally, summary } = this;
    if (!this.hasSummary || tally.hits === 0 || (owner !== "record" && owner !== "resource" && owner !== "scope"))
      return;
    const before = summary.get(SUMMARY_COUNT);
    summary.put(rewriter, end, attributesTag, SUMMARY_COUNT, tally.hits + (typeof before === "number" ? before : 0));
    if (this.settings.summary !== "debug") return;
    const named = summary.get(SUMMARY_KEYS);
    const keys = new Set([...(typeof named === "string" && named !== "" ? named.split(",") : []), ...tally.keys]);
    summary.put(rewriter, end, attributesTag, SUMMARY_KEYS, [...keys].sort().join(","));
  }

  /** A KeyValue whose fields are not the usual two in the usual order. */
  private oddAttribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    const valueAt = findField(b, start, end, VALUE);
    if (valueAt < 0) return;
    const size = varint(b, valueAt);
    const valueStart = after;
    const field = this.fields.member(undefined, keyOf(b, start, end));
    this.pair(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
  }

  /** A KeyValue [start, end) with its value [valueStart, valueEnd). */
  private pair(
    rewriter: Rewriter,
    field: Field,
    at: number,
    lengthAt: number,
    start: number,
    end: number,
    valueAt: number,
    valueStart: number,
    valueEnd: number,
    strategy = field.strategy,
  ): void {
    if (strategy === "allow") return;
    if (strategy === "redact") {
      if (field.by === "field" || isConfidential(rewriter.bytes, valueStart, valueEnd))
        this.removeField(rewriter, field, at, end);
      return;
    }
    const outStart = rewriter.position(start);
    this.value(rewriter, field, strategy, valueAt, valueStart, valueEnd);
    rewriter.close(start, end, outStart, start - lengthAt);
  }

  private removeField(rewriter: Rewriter, field: Field, from: number, to: number): void {
    this.tally.byName(field, field.path);
    if (this.settings.changes) rewriter.remove(from, to);
  }

  /** The AnyValue [start, end), whose length is at `lengthAt`. */
  private value(
    rewriter: Rewriter,
    field: Field,
    strategy: Strategy | undefined,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    if (strategy === "allow") return;
    const b = rewriter.bytes;
    const outStart = rewriter.position(start);
    for (let p = start; p < end; ) {
      const tag = varint(b, p);
      const at = after;
      const next = skip(b, at, tag);
      if (tag === STRING) {
        varint(b, at);
        this.string(rewriter, field, strategy, at, after, next);
      } else if (tag === LIST || tag === MAP) {
        varint(b, at);
        const inner = after;
        const outInner = rewriter.position(inner);
        this.elements(rewriter, field, strategy, tag, inner, next);
        rewriter.close(inner, next, outInner, inner - at);
      } else if (strategy !== undefined) this.leaf(rewriter, field, strategy, tag, p, at, next);
      p = next;
    }
    rewriter.close(start, end, outStart, start - lengthAt);
  }

  private elements(
    rewriter: Rewriter,
    field: Field,
    strategy: Strategy | undefined,
    kind: number,
    p: number,
    end: number,
  ): void {
    const b = rewriter.bytes;
    while (p < end) {
      const at = p;
      const tag = varint(b, p);
      const lengthAt = after;
      p = skip(b, lengthAt, tag);
      if (tag !== ELEMENT) continue;
      varint(b, lengthAt);
      if (kind === LIST) this.value(rewriter, field, strategy, lengthAt, after, p);
      else this.member(rewriter, field, strategy, at, lengthAt, after, p);
    }
  }

  private member(
    rewriter: Rewriter,
    parent: Field,
    inherited: Strategy | undefined,
    at: number,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    const b = rewriter.bytes;
    const valueAt = findField(b, start, end, VALUE);
    if (valueAt < 0) return;
    const size = varint(b, valueAt);
    const valueStart = after;
    const field = this.fields.member(parent, keyOf(b, start, end));
    const own = inherited === undefined || field.by === "field" ? field.strategy : undefined;
    this.pair(
      rewriter,
      own === undefined && inherited !== undefined ? { ...field, by: parent.by } : field,
      at,
      lengthAt,
      start,
      end,
      valueAt,
      valueStart,
      valueStart + size,
      own ?? inherited,
    );
  }

  /** The string [start, end), whose length is at `lengthAt`. */
  private string(
    rewriter: Rewriter,
    field: Field,
    strategy: Strategy | undefined,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    if (strategy === undefined) {
      if (this.texts.find(rewriter.bytes, start, end, field.hints) === 0) return;
      this.path = field.path;
      if (!this.settings.changes) return this.countMatches();
      this.texts.write(rewriter, lengthAt, start, end, field.hints, this.countMatches);
      return;
    }
    if (start === end || strategy === "allow") return;
    const text = decodeText(rewriter.bytes, start, end);
    const treated = this.wholes[strategy](text);
    if (treated === text) return;
    this.tally.byName(field, field.path);
    if (!this.settings.changes) return;
    rewriter.copyTo(lengthAt).text(treated);
    rewriter.skipTo(end);
  }

  /** A number, a boolean or bytes that are to be treated as a whole: text stands in their place then. */
  private leaf(
    rewriter: Rewriter,
    field: Field,
    strategy: Strategy,
    tag: number,
    at: number,
    valueAt: number,
    end: number,
  ): void {
    const text = leafText(rewriter.bytes, tag, valueAt, end, field.by === "secret_key");
    if (text === undefined) return;
    this.tally.byName(field, field.path);
    if (!this.settings.changes) return;
    const out = rewriter.copyTo(at);
    out.byte(STRING);
    out.text(this.wholes[strategy](text));
    rewriter.skipTo(end);
  }

  /** True when the body was JSON, and is dealt with. */
  private jsonBody(rewriter: Rewriter, field: Field, lengthAt: number, start: number, end: number): boolean {
    const b = rewriter.bytes;
    if (field.strategy !== undefined || b[start] !== STRING) return false;
    const size = varint(b, start + 1);
    const textStart = after;
    if (textStart + size !== end || (b[textStart] !== BRACE && b[textStart] !== BRACKET)) return false;
    const text = decodeText(b, textStart, end);
    const treated = treatJson(text, field, {
      member: (parent, key) => this.fields.member(parent, key),
      treat: (value, of, strategy) => this.treatText(value, of, strategy),
      counts: (of) => this.tally.byName(of, of.path),
    });
    if (treated === undefined) return false;
    if (treated === text || !this.settings.changes) return true;
    const outStart = rewriter.position(start);
    rewriter.copyTo(start + 1).text(treated);
    rewriter.skipTo(end);
    rewriter.close(start, end, outStart, start - lengthAt);
    return true;
  }

  private treatText(text: string, field: Field, strategy: Strategy | undefined): string {
    if (strategy !== undefined) {
      const treated = text === "" ? text : this.wholes[strategy](text);
      if (treated !== text) this.tally.byName(field, field.path);
      return treated;
    }
    const b = Buffer.from(text, "utf8");
    if (this.texts.find(b, 0, b.length, field.hints) === 0) return text;
    this.path = field.path;
    if (this.settings.changes)
      return Buffer.from(this.texts.treated(b, 0, b.length, field.hints, this.countMatches)).toString();
    this.countMatches();
    return text;
  }

  /** Counts what was found last, in the text of the field whose path was noted. */
  private readonly countMatches = (): void => {
    const { count, detectors } = matches;
    for (let i = 0; i < count; i++) this.tally.detected(detectors[i]!, this.path);
  };
}

function keyOf(b: Uint8Array, start: number, end: number): string {
  const at = findField(b, start, end, KEY);
  if (at < 0) return "";
  const size = varint(b, at);
  return decodeText(b, after, after + size);
}

/** Not empty and not only a boolean, which tells of a secret that there is one, not which. */
function isConfidential(b: Uint8Array, start: number, end: number): boolean {
  return end > start && b[start] !== BOOL;
}

/** Tags of booleans, integers, doubles and bytes. */
const HOLDS_NO_TEXT = new Uint8Array(256);
for (const tag of [16, 24, 33, 58]) HOLDS_NO_TEXT[tag] = 1;

const KEY = 10;
const VALUE = 18;
const ELEMENT = 10;
const STRING = 10;
const BOOL = 16;
const LIST = 42;
const MAP = 50;
const BRACE = 123;
const BRACKET = 91;
