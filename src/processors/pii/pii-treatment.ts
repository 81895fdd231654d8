import { after, decodeText, findField, type Rewriter, varint } from "#otlp/bytes";
import { KEY_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Batch } from "../../plugin.js";
import { HOLDS_NO_TEXT, keyOf } from "./attribute-values.js";
import { MASK } from "./detect/secrets/placeholder.js";
import { OPEN_BRACE, OPEN_BRACKET } from "./detect/text/ascii.js";
import { hintsAtNumber } from "./detect/text/detectors.js";
import { HASH_COST, PATTERN_COST, TooCostlyError, work } from "./detect/text/work.js";
import { type FieldRule, FieldRules } from "./field-rules.js";
import { type FieldVisitor, rewriteFields, rewriteFieldsInTurns, type WalkSettings } from "./fields/rewrite-fields.js";
import { type AttributeOwner, plansFor, type TextField } from "./fields/rewrite-plans.js";
import { UnseenFields } from "./fields/unseen-fields.js";
import { CLEAN, type Cleanness, NOT_CLEAN } from "./fields/unseen-walk.js";
import { SummaryAttributes } from "./summary-attributes.js";
import { TextTreatment } from "./text-treatment.js";
import { treatJson } from "./treat-json.js";
import { TreatmentCounts } from "./treatment-counts.js";
import { type PiiTreatmentSettings, ValueTreatment } from "./value-treatment.js";

/** Work units that a batch may use for each of its bytes, without hashes and patterns. */
const UNITS_PER_BYTE = 128;
/** JSON must be parsed to be treated. A larger text is masked instead. */
const MAX_JSON_BYTES = 1 << 20;
const JSON_UNITS_PER_BYTE = 16;
/** Limit for the values of one JSON text, which is treated in one go. A text that needs more is masked instead. */
const MAX_JSON_UNITS = 16_000_000;

const SUMMARY_COUNT = "pii.treated.count";
const SUMMARY_KEYS = "pii.treated.keys";

/**
 * Treats personal data and secrets in the fields of batches.
 *
 * A batch without any passes as the same object. Only values change, never keys, and within a text only the bytes that
 * were found. Ids, numbers, metric names and unknown fields are not read. Treating a batch twice changes nothing more.
 */
export class PiiTreatment implements FieldVisitor {
  /** Values treated since the last `takeCounts`. */
  private readonly counts: TreatmentCounts;
  private readonly settings: PiiTreatmentSettings;
  private readonly fields: FieldRules;
  private readonly texts: TextTreatment;
  private readonly values: ValueTreatment;
  private readonly bodyField: FieldRule;
  private readonly summary = new SummaryAttributes();
  private readonly hasSummary: boolean;
  /** Limits the work per batch, including the cost of hashes and patterns. */
  private readonly walkSettings: WalkSettings;
  /** True if attribute keys or byte values are treated as well. */
  private readonly looksIntoMore: boolean;

  constructor(settings: PiiTreatmentSettings) {
    this.settings = settings;
    this.fields = new FieldRules(settings);
    this.texts = new TextTreatment(settings);
    this.counts = new TreatmentCounts(this.texts.names.length, settings.summary === "debug");
    const unitsPerByte =
      UNITS_PER_BYTE + (settings.hashKey === undefined ? 0 : HASH_COST / 8) + this.texts.passes * PATTERN_COST * 4;
    const extraPlaces = settings.lookInto ?? [];
    const unseen = extraPlaces.includes("unknown_fields") ? undefined : new UnseenFields(plansFor(extraPlaces));
    this.walkSettings = { unitsPerByte, extraPlaces, unseen };
    this.looksIntoMore = settings.lookInto?.some((place) => place === "bytes" || place === "keys") ?? false;
    this.hasSummary = settings.isEnforced && settings.summary !== "silent";
    this.values = new ValueTreatment(settings, this.fields, this.texts, this.counts);
    this.bodyField = this.fields.forMember(undefined, "body");
  }

  /** The names that are counted: detectors, users' patterns, `field`, `secret_key` and `too_costly`. */
  get names(): readonly string[] {
    return [...this.texts.names, "field", "secret_key", "too_costly"];
  }

  /** Calls `take` with the count of each name that was found since the last call. */
  takeCounts(take: (index: number, count: number) => void): void {
    this.counts.take(take);
  }

  treat(batch: Batch): Batch {
    return rewriteFields(batch, this, this.walkSettings);
  }

  /**
   * Treats a batch like `treat`, but a batch that takes long is returned later. Until then, no other batch may be
   * passed in.
   */
  treatInTurns(batch: Batch): Batch | Promise<Batch> {
    return rewriteFieldsInTurns(batch, this, this.walkSettings);
  }

  open(owner: AttributeOwner): void {
    if (owner === "event" || owner === "link" || owner === "exemplar") return; // belong to their record
    this.counts.startOwner();
    if (this.hasSummary) this.summary.clear();
  }

  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): Cleanness {
    const b = rewriter.bytes;
    const keySize = b[start + 1]!;
    const keyEnd = start + 2 + keySize;
    if (b[start] !== KEY_TAG || keySize > 127 || b[keyEnd] !== VALUE_TAG || keyEnd >= end) {
      this.unusualAttribute(rewriter, at, lengthAt, start, end);
      return NOT_CLEAN;
    }
    const valueAt = keyEnd + 1;
    let size = b[valueAt]!;
    let valueStart = valueAt + 1;
    if (size > 127) {
      size = varint(b, valueAt);
      valueStart = after;
    }
    const field = this.fields.forAttribute(b, start + 2, keyEnd);
    if (this.hasSummary && (field.path === SUMMARY_COUNT || field.path === SUMMARY_KEYS)) {
      if (this.texts.find(b, valueStart, valueStart + size, field.hints) === 0) {
        this.summary.remember(rewriter, field.path, at, lengthAt, end);
        return NOT_CLEAN;
      }
    }
    const valueEnd = valueStart + size;
    if (field.strategy === undefined && !this.looksIntoMore) {
      // Most attributes are short texts without matches.
      if (b[valueStart] === STRING_VALUE_TAG && b[valueStart + 1]! === size - 2 && size < 130) {
        const found = this.texts.find(b, valueStart + 2, valueEnd, field.hints);
        if (found === 0) return this.texts.cleanness;
        const outStart = rewriter.outputPosition(start);
        this.plainText(rewriter, field, found, valueAt, valueStart, valueStart + 2, valueEnd);
        rewriter.closeMessage(start, end, outStart, start - lengthAt);
        return NOT_CLEAN;
      }
      if (HOLDS_NO_TEXT[b[valueStart]!] === 1 && !hintsAtNumber(field.hints)) return CLEAN;
    }
    this.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueEnd);
    return NOT_CLEAN;
  }

  /** Treats a KeyValue. A value that would take too much work is masked as a whole. */
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
  ): void {
    const outStart = rewriter.outputPosition(start);
    const outValue = rewriter.outputPosition(valueStart);
    this.values.begin();
    try {
      this.values.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueEnd);
    } catch (error) {
      if (!(error instanceof TooCostlyError)) throw error;
      this.values.maskValue(rewriter, field, outValue, valueAt, valueStart, valueEnd);
      rewriter.closeMessage(start, end, outStart, start - lengthAt);
    }
  }

  body(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): Cleanness {
    const field = this.bodyField;
    const b = rewriter.bytes;
    if (field.strategy === undefined && b[start] === STRING_VALUE_TAG && !this.settings.jsonBodies) {
      const size = varint(b, start + 1);
      const textStart = after;
      if (textStart + size === end) {
        const found = this.texts.find(b, textStart, end, field.hints);
        if (found !== 0) this.plainText(rewriter, field, found, lengthAt, start, textStart, end);
        return found === 0 ? this.texts.cleanness : NOT_CLEAN;
      }
    }
    const outStart = rewriter.outputPosition(start);
    this.values.begin();
    try {
      if (field.strategy === "redact") this.values.removeField(rewriter, field, at, end);
      else if (!this.settings.jsonBodies || !this.jsonBody(rewriter, field, lengthAt, start, end))
        this.values.value(rewriter, field, field.strategy, lengthAt, start, end);
    } catch (error) {
      if (!(error instanceof TooCostlyError)) throw error;
      this.values.maskValue(rewriter, field, outStart, lengthAt, start, end);
    }
    return NOT_CLEAN;
  }

  /**
   * Treats the AnyValue [start, end), whose length is at `lengthAt`. It consists of one text in which `found` matches
   * were just found.
   */
  private plainText(
    rewriter: Rewriter,
    field: FieldRule,
    found: number,
    lengthAt: number,
    start: number,
    textStart: number,
    end: number,
  ): void {
    if (this.values.maskFound(rewriter, field, found, lengthAt, textStart, end)) return;
    const outStart = rewriter.outputPosition(start);
    this.values.treatFound(rewriter, field, found, start + 1, textStart, end);
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
  }

  text(rewriter: Rewriter, name: TextField, lengthAt: number, start: number, end: number): Cleanness {
    const field = this.fields.forMember(undefined, name);
    return this.values.string(rewriter, field, field.strategy, lengthAt, start, end) ? CLEAN : NOT_CLEAN;
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

  /** Treats a KeyValue whose fields are not the usual two in the usual order. */
  private unusualAttribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const b = rewriter.bytes;
    const valueAt = findField(b, start, end, VALUE_TAG);
    if (valueAt < 0) return;
    const size = varint(b, valueAt);
    const valueStart = after;
    const field = this.fields.forMember(undefined, keyOf(b, start, end));
    this.keyValue(rewriter, field, at, lengthAt, start, end, valueAt, valueStart, valueStart + size);
  }

  /** Returns true if the body was JSON; it is treated then. */
  private jsonBody(rewriter: Rewriter, field: FieldRule, lengthAt: number, start: number, end: number): boolean {
    const b = rewriter.bytes;
    if (field.strategy !== undefined || b[start] !== STRING_VALUE_TAG) return false;
    const size = varint(b, start + 1);
    const textStart = after;
    if (textStart + size !== end || (b[textStart] !== OPEN_BRACE && b[textStart] !== OPEN_BRACKET)) return false;
    if (size > MAX_JSON_BYTES) {
      const outStart = rewriter.outputPosition(start);
      this.values.maskText(rewriter, field, start + 1, end);
      rewriter.closeMessage(start, end, outStart, start - lengthAt);
      return true;
    }
    work.spent += size * JSON_UNITS_PER_BYTE;
    const text = decodeText(b, textStart, end);
    const limit = work.spent + MAX_JSON_UNITS;
    const treated = this.treatJsonText(text, field, limit);
    if (treated === MASK) {
      const outStart = rewriter.outputPosition(start);
      this.values.maskText(rewriter, field, start + 1, end);
      rewriter.closeMessage(start, end, outStart, start - lengthAt);
      return true;
    }
    if (treated === undefined) return false;
    if (treated === text || !this.settings.isEnforced) return true;
    const outStart = rewriter.outputPosition(start);
    rewriter.copyTo(start + 1).text(treated);
    rewriter.skipTo(end);
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
    return true;
  }

  /** Returns the treated JSON, undefined if the text is not JSON, or a mask if it would take too much work. */
  private treatJsonText(text: string, field: FieldRule, limit: number): string | undefined {
    const checkWork = () => {
      if (work.spent > limit) throw new TooCostlyError();
    };
    const treatment = {
      member: (parent: FieldRule, key: string) => {
        checkWork();
        return this.fields.forMember(parent, key);
      },
      treat: (value: string, of: FieldRule, strategy: FieldRule["strategy"]) => {
        checkWork();
        return this.values.treatText(value, of, strategy);
      },
      countField: (of: FieldRule) => this.counts.countField(of, of.path),
    };
    try {
      return treatJson(text, field, treatment);
    } catch (error) {
      if (error instanceof TooCostlyError) return MASK;
      throw error;
    }
  }
}
