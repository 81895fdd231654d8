import type { Batch } from "../../plugin.js";
import {
  ARRAY_VALUE_TAG,
  after,
  BYTES_VALUE_TAG,
  decodeText,
  ELEMENT_TAG,
  findField,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  type Rewriter,
  STRING_VALUE_TAG,
  skip,
  VALUE_TAG,
  varint,
} from "../../runtime/kit.js";
import { HOLDS_NO_TEXT, isConfidential, keyOf, leafText } from "./attribute-values.js";
import { TOO_COSTLY } from "./detect/scan.js";
import { OPEN_BRACE, OPEN_BRACKET } from "./detect/text/ascii.js";
import { matches } from "./detect/text/matches.js";
import { MASK } from "./detect/text/treated.js";
import { HASH_COST, PATTERN_COST, TooCostlyError, work } from "./detect/text/work.js";
import { type FieldRule, type FieldRuleSettings, FieldRules } from "./field-rules.js";
import { PreviousRecord } from "./previous-record.js";
import {
  type AttributeOwner,
  type ExtraPlace,
  type FieldVisitor,
  rewriteFields,
  rewriteFieldsInTurns,
  type TextField,
  type WalkSettings,
} from "./rewrite-fields.js";
import { STRATEGIES, type Strategy, type WholeTreatment, wholeTreatment } from "./strategies.js";
import { SummaryAttributes } from "./summary-attributes.js";
import { TextTreatment, type TextTreatmentSettings } from "./text-treatment.js";
import { treatJson } from "./treat-json.js";
import { TreatmentCounts } from "./treatment-counts.js";

/** What is treated, how, and what is said of it. */
export interface PiiTreatmentSettings extends FieldRuleSettings, TextTreatmentSettings {
  /** False: count what would be treated, and change nothing. */
  readonly isEnforced: boolean;
  /** Attributes that tell how many values were treated, or also which, on what they were treated in. */
  readonly summary: "silent" | "info" | "debug";
  /** Look into bodies that are JSON as into maps. */
  readonly jsonBodies: boolean;
  /** More places to look into; none, if it is left out. */
  readonly lookInto?: readonly ExtraPlace[] | undefined;
}

/** What a batch may cost for each of its bytes, without hashes and patterns. */
const UNITS_PER_BYTE = 48;
/** An attribute or a body is treated in one go: everybody waits meanwhile. */
const MAX_UNITS_PER_FIELD = 64_000_000;
const UNITS_PER_ELEMENT = 10;
/** JSON is built to be looked into. A larger text is masked. */
const MAX_JSON_BYTES = 1 << 20;
const JSON_UNITS_PER_BYTE = 16;

const SUMMARY_COUNT = "pii.treated.count";
const SUMMARY_KEYS = "pii.treated.keys";

/**
 * Treats personal data and secrets in the fields of batches.
 *
 * A batch without any passes as the same object. Only values change, keys never do, and of a text only the bytes that
 * were found; ids, numbers, names of metrics and unknown fields are not looked at. Treating again changes nothing.
 *
 * Attribute, value, list, member and text call each other for every field, on one set of positions: they stay in one file.
 */
export class PiiTreatment implements FieldVisitor {
  /** What was treated since the last `takeCounts`. */
  private readonly counts: TreatmentCounts;
  private readonly settings: PiiTreatmentSettings;
  private readonly fields: FieldRules;
  private readonly texts: TextTreatment;
  private readonly wholeTreatments: Readonly<Record<Strategy, WholeTreatment>>;
  private readonly summary = new SummaryAttributes();
  private readonly hasSummary: boolean;
  private readonly previousRecord = new PreviousRecord();
  private matchPath = "";
  /** What a batch may cost: hashes and patterns have their price. */
  private readonly walkSettings: WalkSettings;
  private readonly looksIntoBytes: boolean;
  private readonly looksIntoKeys: boolean;
  /** What the present attribute or body may cost altogether. */
  private maxWork = 0;

  constructor(settings: PiiTreatmentSettings) {
    this.settings = settings;
    this.fields = new FieldRules(settings);
    this.texts = new TextTreatment(settings);
    this.counts = new TreatmentCounts(this.texts.names.length, settings.summary === "debug");
    const unitsPerByte =
      UNITS_PER_BYTE +
      (settings.hashKey === undefined ? 0 : HASH_COST / 8) +
      settings.patterns.length * PATTERN_COST * 4;
    this.walkSettings = { unitsPerByte, extraPlaces: settings.lookInto ?? [] };
    this.looksIntoBytes = settings.lookInto?.includes("bytes") ?? false;
    this.looksIntoKeys = settings.lookInto?.includes("keys") ?? false;
    this.hasSummary = settings.isEnforced && settings.summary !== "silent";
    this.wholeTreatments = Object.fromEntries(
      STRATEGIES.map((strategy) => [strategy, wholeTreatment(strategy, settings.hashKey)]),
    ) as Record<Strategy, WholeTreatment>;
  }

  /** Names of what is counted: detectors, users' patterns, `field`, `secret_key` and `too_costly`. */
  get names(): readonly string[] {
    return [...this.texts.names, "field", "secret_key", "too_costly"];
  }

  /** Calls `take` with the number of each name that has been found since the last time. */
  takeCounts(take: (index: number, count: number) => void): void {
    this.counts.take(take);
  }

  treat(batch: Batch): Batch {
    this.previousRecord.startBatch();
    return rewriteFields(batch, this, this.walkSettings);
  }

  /** The same, but a batch that takes long comes later; until then no other one may be given. */
  treatInTurns(batch: Batch): Batch | Promise<Batch> {
    this.previousRecord.startBatch();
    return rewriteFieldsInTurns(batch, this, this.walkSettings);
  }

  open(owner: AttributeOwner): void {
    if (owner === "record") this.previousRecord.startRecord();
    if (owner === "event" || owner === "link" || owner === "exemplar") return; // belong to their record
    this.counts.startOwner();
    if (this.hasSummary) this.summary.clear();
  }

  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    if (this.previousRecord.isSame(b, start, end)) return;
    const keySize = b[start + 1]!;
    const keyEnd = start + 2 + keySize;
    if (b[start] !== KEY_TAG || keySize > 127 || b[keyEnd] !== VALUE_TAG || keyEnd >= end) {
      this.unusualAttribute(rewriter, at, lengthAt, start, end);
      return;
    }
    const valueAt = keyEnd + 1;
    let size = b[valueAt]!;
    let valueStart = valueAt + 1;
    if (size > 127) {
      size = varint(b, valueAt);
      valueStart = after;
    }
    const field = this.fields.ofAttribute(b, start + 2, keyEnd);
    if (this.hasSummary && (field.path === SUMMARY_COUNT || field.path === SUMMARY_KEYS)) {
      if (this.texts.find(b, valueStart, valueStart + size, field.hints) === 0) {
        this.summary.remember(rewriter, field.path, at, lengthAt, end);
        return;
      }
    }
    if (this.looksIntoKeys || this.looksIntoBytes) {
      this.maxWork = work.spent + MAX_UNITS_PER_FIELD;
      this.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
      return;
    }
    if (
      field.strategy === undefined &&
      b[valueStart] === STRING_VALUE_TAG &&
      b[valueStart + 1]! === size - 2 &&
      size < 130
    ) {
      // The usual attribute is a short text with nothing in it.
      if (this.texts.find(b, valueStart + 2, valueStart + size, field.hints) === 0)
        return this.previousRecord.rememberClean(start, end);
    } else if (field.strategy === undefined && HOLDS_NO_TEXT[b[valueStart]!] === 1)
      return this.previousRecord.rememberClean(start, end);
    this.maxWork = work.spent + MAX_UNITS_PER_FIELD;
    this.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
  }

  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const field = this.fields.ofMember(undefined, "body");
    this.maxWork = work.spent + MAX_UNITS_PER_FIELD;
    if (field.strategy === "redact") this.removeField(rewriter, field, at, end);
    else if (!this.settings.jsonBodies || !this.jsonBody(rewriter, field, lengthAt, start, end))
      this.value(rewriter, field, field.strategy, lengthAt, start, end);
  }

  text(rewriter: Rewriter, name: TextField, lengthAt: number, start: number, end: number): void {
    const field = this.fields.ofMember(undefined, name);
    this.string(rewriter, field, field.strategy, lengthAt, start, end);
  }

  close(rewriter: Rewriter, owner: AttributeOwner, end: number, attributesTag: number): void {
    const { counts, summary } = this;
    if (!this.hasSummary || counts.hits === 0 || (owner !== "record" && owner !== "resource" && owner !== "scope"))
      return;
    const before = summary.get(SUMMARY_COUNT);
    summary.put(rewriter, end, attributesTag, SUMMARY_COUNT, counts.hits + (typeof before === "number" ? before : 0));
    if (this.settings.summary !== "debug") return;
    const named = summary.get(SUMMARY_KEYS);
    const keys = new Set([...(typeof named === "string" && named !== "" ? named.split(",") : []), ...counts.keys]);
    summary.put(rewriter, end, attributesTag, SUMMARY_KEYS, [...keys].sort().join(","));
  }

  /** A KeyValue whose fields are not the usual two in the usual order. */
  private unusualAttribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    const valueAt = findField(b, start, end, VALUE_TAG);
    if (valueAt < 0) return;
    const size = varint(b, valueAt);
    const valueStart = after;
    const field = this.fields.ofMember(undefined, keyOf(b, start, end));
    this.maxWork = work.spent + MAX_UNITS_PER_FIELD;
    this.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
  }

  /** A KeyValue [start, end) with its value [valueStart, valueEnd). */
  private keyValue(
    rewriter: Rewriter,
    field: FieldRule,
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
      if (field.decidedBy === "field" || isConfidential(rewriter.bytes, valueStart, valueEnd))
        this.removeField(rewriter, field, at, end);
      return;
    }
    const outStart = rewriter.outputPosition(start);
    const isKeyPersonal = this.looksIntoKeys && this.isKeyPersonal(rewriter.bytes, start, end);
    const shown = isKeyPersonal ? { ...field, path: MASK } : field; // summaries name paths
    if (isKeyPersonal) this.key(rewriter, shown, start, valueAt);
    this.value(rewriter, shown, strategy, valueAt, valueStart, valueEnd);
    if (isKeyPersonal) this.key(rewriter, shown, valueEnd, end);
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
  }

  private isKeyPersonal(b: Uint8Array, start: number, end: number): boolean {
    const at = findField(b, start, end, KEY_TAG);
    if (at < 0) return false;
    const size = varint(b, at);
    return this.texts.find(b, after, after + size, 0) !== 0;
  }

  /** The key of a KeyValue, if it is in the part [from, to) of it, before or behind the value. */
  private key(rewriter: Rewriter, field: FieldRule, from: number, to: number): void {
    const at = findField(rewriter.bytes, from, to, KEY_TAG);
    if (at < 0) return;
    const size = varint(rewriter.bytes, at);
    this.string(rewriter, field, undefined, at, after, after + size);
  }

  private removeField(rewriter: Rewriter, field: FieldRule, from: number, to: number): void {
    this.counts.countField(field, field.path);
    if (this.settings.isEnforced) rewriter.remove(from, to);
  }

  /** The AnyValue [start, end), whose length is at `lengthAt`. */
  private value(
    rewriter: Rewriter,
    field: FieldRule,
    strategy: Strategy | undefined,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    if (strategy === "allow") return;
    const b = rewriter.bytes;
    const outStart = rewriter.outputPosition(start);
    for (let p = start; p < end; ) {
      const tag = varint(b, p);
      const at = after;
      const next = skip(b, at, tag);
      if (tag === STRING_VALUE_TAG) {
        varint(b, at);
        this.string(rewriter, field, strategy, at, after, next);
      } else if (tag === ARRAY_VALUE_TAG || tag === KVLIST_VALUE_TAG) {
        varint(b, at);
        const inner = after;
        const outInner = rewriter.outputPosition(inner);
        this.elements(rewriter, field, strategy, tag, inner, next);
        rewriter.closeMessage(inner, next, outInner, inner - at);
      } else if (tag === BYTES_VALUE_TAG && strategy === undefined && this.looksIntoBytes) {
        varint(b, at);
        this.string(rewriter, field, undefined, at, after, next);
      } else if (strategy !== undefined) this.leaf(rewriter, field, strategy, tag, p, at, next);
      p = next;
    }
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
  }

  private elements(
    rewriter: Rewriter,
    field: FieldRule,
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
      work.spent += UNITS_PER_ELEMENT;
      if (work.spent > this.maxWork) throw new TooCostlyError();
      if (tag !== ELEMENT_TAG) continue;
      varint(b, lengthAt);
      if (kind === ARRAY_VALUE_TAG) this.value(rewriter, field, strategy, lengthAt, after, p);
      else this.member(rewriter, field, strategy, at, lengthAt, after, p);
    }
  }

  private member(
    rewriter: Rewriter,
    parent: FieldRule,
    inherited: Strategy | undefined,
    at: number,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    const b = rewriter.bytes;
    const valueAt = findField(b, start, end, VALUE_TAG);
    if (valueAt < 0) return;
    const size = varint(b, valueAt);
    const valueStart = after;
    const field = this.fields.ofMember(parent, keyOf(b, start, end));
    const memberStrategy = inherited === undefined || field.decidedBy === "field" ? field.strategy : undefined;
    this.keyValue(
      rewriter,
      memberStrategy === undefined && inherited !== undefined ? { ...field, decidedBy: parent.decidedBy } : field,
      at,
      lengthAt,
      start,
      end,
      valueAt,
      valueStart,
      valueStart + size,
      memberStrategy ?? inherited,
    );
  }

  /** The string [start, end), whose length is at `lengthAt`. */
  private string(
    rewriter: Rewriter,
    field: FieldRule,
    strategy: Strategy | undefined,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    if (strategy === undefined) {
      const found = this.texts.find(rewriter.bytes, start, end, field.hints);
      if (found === 0) return;
      this.matchPath = field.path;
      if (found === TOO_COSTLY) return this.maskText(rewriter, field, lengthAt, end);
      if (!this.settings.isEnforced) return this.countMatches();
      this.texts.write(rewriter, lengthAt, start, end, field.hints, this.countMatches);
      return;
    }
    if (start === end || strategy === "allow") return;
    const text = decodeText(rewriter.bytes, start, end);
    const treated = this.wholeTreatments[strategy](text);
    if (treated === text) return;
    this.counts.countField(field, field.path);
    if (!this.settings.isEnforced) return;
    rewriter.copyTo(lengthAt).text(treated);
    rewriter.skipTo(end);
  }

  /** Masks a text that would take too long to look for anything in it. */
  private maskText(rewriter: Rewriter, field: FieldRule, lengthAt: number, end: number): void {
    this.counts.countTooCostly(field.path);
    if (!this.settings.isEnforced) return;
    rewriter.copyTo(lengthAt).text(MASK);
    rewriter.skipTo(end);
  }

  /** A number, a boolean or bytes that are to be treated as a whole: text stands in their place then. */
  private leaf(
    rewriter: Rewriter,
    field: FieldRule,
    strategy: Strategy,
    tag: number,
    at: number,
    valueAt: number,
    end: number,
  ): void {
    const text = leafText(rewriter.bytes, tag, valueAt, end, field.decidedBy === "secret_key");
    if (text === undefined) return;
    this.counts.countField(field, field.path);
    if (!this.settings.isEnforced) return;
    const out = rewriter.copyTo(at);
    out.byte(STRING_VALUE_TAG);
    out.text(this.wholeTreatments[strategy](text));
    rewriter.skipTo(end);
  }

  /** True when the body was JSON, and is dealt with. */
  private jsonBody(rewriter: Rewriter, field: FieldRule, lengthAt: number, start: number, end: number): boolean {
    const b = rewriter.bytes;
    if (field.strategy !== undefined || b[start] !== STRING_VALUE_TAG) return false;
    const size = varint(b, start + 1);
    const textStart = after;
    if (textStart + size !== end || (b[textStart] !== OPEN_BRACE && b[textStart] !== OPEN_BRACKET)) return false;
    if (size > MAX_JSON_BYTES) {
      const outStart = rewriter.outputPosition(start);
      this.maskText(rewriter, field, start + 1, end);
      rewriter.closeMessage(start, end, outStart, start - lengthAt);
      return true;
    }
    work.spent += size * JSON_UNITS_PER_BYTE;
    const text = decodeText(b, textStart, end);
    const treated = treatJson(text, field, {
      member: (parent, key) => this.fields.ofMember(parent, key),
      treat: (value, of, strategy) => this.treatText(value, of, strategy),
      countField: (of) => this.counts.countField(of, of.path),
    });
    if (treated === undefined) return false;
    if (treated === text || !this.settings.isEnforced) return true;
    const outStart = rewriter.outputPosition(start);
    rewriter.copyTo(start + 1).text(treated);
    rewriter.skipTo(end);
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
    return true;
  }

  private treatText(text: string, field: FieldRule, strategy: Strategy | undefined): string {
    if (strategy !== undefined) {
      const treated = text === "" ? text : this.wholeTreatments[strategy](text);
      if (treated !== text) this.counts.countField(field, field.path);
      return treated;
    }
    const b = Buffer.from(text, "utf8");
    const found = this.texts.find(b, 0, b.length, field.hints);
    if (found === 0) return text;
    this.matchPath = field.path;
    if (found === TOO_COSTLY) {
      this.counts.countTooCostly(field.path);
      return this.settings.isEnforced ? MASK : text;
    }
    if (this.settings.isEnforced)
      return Buffer.from(this.texts.treat(b, 0, b.length, field.hints, this.countMatches)).toString();
    this.countMatches();
    return text;
  }

  /** Counts what was found last, in the text of the field whose path was noted. */
  private readonly countMatches = (): void => {
    const { count, detectors } = matches;
    for (let i = 0; i < count; i++) this.counts.countDetected(detectors[i]!, this.matchPath);
  };
}
