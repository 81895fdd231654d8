import { after, decodeText, fieldTag, findField, type Rewriter, stepOver, valueAt, varint } from "#otlp/bytes";
import {
  ARRAY_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  ELEMENT_TAG,
  INT_VALUE_TAG,
  KEY_TAG,
  KVLIST_VALUE_TAG,
  STRING_VALUE_TAG,
  VALUE_TAG,
} from "#otlp/tags";
import { isConfidential, keyOf, leafText } from "./attribute-values.js";
import { TOO_COSTLY } from "./detect/scan.js";
import { isPlaceholderText, isTemplate, MASK } from "./detect/secrets/placeholder.js";
import { hintsAtNumber } from "./detect/text/detectors.js";
import { matches } from "./detect/text/matches.js";
import { TooCostlyError, work } from "./detect/text/work.js";
import type { FieldRule, FieldRuleSettings, FieldRules } from "./field-rules.js";
import type { ExtraPlace } from "./fields/rewrite-plans.js";
import type { Pseudonyms } from "./pseudonyms.js";
import { STRATEGIES, type Strategy, type WholeTreatment, wholeTreatment } from "./strategies.js";
import type { TextTreatment, TextTreatmentSettings } from "./text-treatment.js";
import type { TreatmentCounts } from "./treatment-counts.js";

export interface PiiTreatmentSettings extends FieldRuleSettings, TextTreatmentSettings {
  /** If false, the processor counts what it would treat and changes nothing. */
  readonly isEnforced: boolean;
  /**
   * Whether to add attributes to the owner of treated values that tell how many were treated (`info`), or also which
   * ones (`debug`).
   */
  readonly summary: "silent" | "info" | "debug";
  /** Treat JSON bodies like maps. */
  readonly jsonBodies: boolean;
  /** Additional places to treat; none by default. */
  readonly lookInto?: readonly ExtraPlace[] | undefined;
}

/** Whether a value has a rule of the config for it, or is one of those that its key makes secret. */
function isSecretValue(field: FieldRule, text: string, pseudonyms: Pseudonyms): boolean {
  if (field.decidedBy === "field") return true;
  if (isTemplate(text)) return false;
  if (field.secrets === "any") return true;
  if (field.secrets === "credentials") return /@|pass|pwd|key|secret|token|sig/i.test(text);
  if (field.secrets === "no_status")
    return !isPlaceholderText(text, pseudonyms.isOwnValue) && !/^[a-z][a-z -]{0,15}$/i.test(text);
  if (STRONG_PASSWORD.test(text)) return true;
  return text.length >= MIN_RANDOM_LENGTH && /\d/.test(text) && /[a-z]/i.test(text) && !/\s/.test(text);
}

/** Small letters, capitals, digits and a sign. */
const STRONG_PASSWORD = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)(?=.*[!#$&*?@^])\S{8,40}$/;

/** Shorter values of keys such as `session.id` are left. */
const MIN_RANDOM_LENGTH = 16;

/** Whether the members of a map decide for themselves, because its name is no name of a secret but of a subject. */
function hasOwnKeys(field: FieldRule, tag: number): boolean {
  return (
    tag === KVLIST_VALUE_TAG &&
    field.decidedBy === "secret_key" &&
    field.secrets !== "any" &&
    field.secrets !== "credentials"
  );
}

function isNumber(tag: number): boolean {
  return tag === INT_VALUE_TAG || tag === DOUBLE_VALUE_TAG;
}

/** Limit for one attribute or body, because it is treated in one go and blocks everything else. */
const MAX_UNITS_PER_FIELD = 28_000_000;
const UNITS_PER_ELEMENT = 10;

/**
 * Treats values: the matches of the detectors in texts, and everything in a field that a rule names.
 *
 * Value, list, member and text call each other for every field and share one set of positions, so they stay in one
 * file.
 */
export class ValueTreatment {
  private readonly fields: FieldRules;
  private readonly texts: TextTreatment;
  private readonly counts: TreatmentCounts;
  private readonly isEnforced: boolean;
  private readonly wholeTreatments: Readonly<Record<Strategy, WholeTreatment>>;
  private readonly looksIntoBytes: boolean;
  private readonly looksIntoKeys: boolean;
  private matchPath = "";
  /** Limit of `work.spent` for the present attribute or body. */
  private maxWork = 0;

  constructor(settings: PiiTreatmentSettings, fields: FieldRules, texts: TextTreatment, counts: TreatmentCounts) {
    this.fields = fields;
    this.texts = texts;
    this.counts = counts;
    this.isEnforced = settings.isEnforced;
    this.looksIntoBytes = settings.lookInto?.includes("bytes") ?? false;
    this.looksIntoKeys = settings.lookInto?.includes("keys") ?? false;
    this.wholeTreatments = Object.fromEntries(
      STRATEGIES.map((strategy) => [strategy, wholeTreatment(strategy, texts.pseudonyms)]),
    ) as Record<Strategy, WholeTreatment>;
  }

  /** Call this when an attribute or a body begins. */
  begin(): void {
    this.maxWork = work.spent + MAX_UNITS_PER_FIELD;
  }

  /** Treats a KeyValue [start, end) with its value [valueStart, valueEnd). */
  keyValue(
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

  /** Treats the key of a KeyValue if it is in [from, to), before or after the value. */
  private key(rewriter: Rewriter, field: FieldRule, from: number, to: number): void {
    const at = findField(rewriter.bytes, from, to, KEY_TAG);
    if (at < 0) return;
    const size = varint(rewriter.bytes, at);
    this.string(rewriter, field, undefined, at, after, after + size);
  }

  /** Removes a field, unless the processor only counts. */
  removeField(rewriter: Rewriter, field: FieldRule, from: number, to: number): void {
    this.counts.countField(field, field.path);
    if (this.isEnforced) rewriter.remove(from, to);
  }

  /** Treats the AnyValue [start, end), whose length is at `lengthAt`. */
  value(
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
      const next = stepOver(b, p);
      const tag = fieldTag;
      const at = valueAt;
      if (tag === STRING_VALUE_TAG) {
        varint(b, at);
        this.string(rewriter, field, strategy, at, after, next);
      } else if (tag === ARRAY_VALUE_TAG || tag === KVLIST_VALUE_TAG) {
        varint(b, at);
        const inner = after;
        const outInner = rewriter.outputPosition(inner);
        this.elements(rewriter, field, hasOwnKeys(field, tag) ? undefined : strategy, tag, inner, next);
        rewriter.closeMessage(inner, next, outInner, inner - at);
      } else if (tag === BYTES_VALUE_TAG && strategy === undefined && this.looksIntoBytes) {
        varint(b, at);
        this.string(rewriter, field, undefined, at, after, next);
      } else if (strategy === undefined && isNumber(tag) && hintsAtNumber(field.hints)) {
        this.number(rewriter, field, tag, p, at, next);
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
      p = stepOver(b, p);
      const lengthAt = valueAt;
      work.spent += UNITS_PER_ELEMENT;
      if (work.spent > this.maxWork) throw new TooCostlyError();
      if (fieldTag !== ELEMENT_TAG) continue;
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
    const field = this.fields.forMember(parent, keyOf(b, start, end));
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

  /** Treats the string [start, end), whose length is at `lengthAt`. Returns true if there is nothing to treat in it. */
  string(
    rewriter: Rewriter,
    field: FieldRule,
    strategy: Strategy | undefined,
    lengthAt: number,
    start: number,
    end: number,
  ): boolean {
    if (strategy === undefined) {
      const found = this.texts.find(rewriter.bytes, start, end, field.hints);
      if (found !== 0) this.treatFound(rewriter, field, found, lengthAt, start, end);
      return found === 0;
    }
    if (start === end || strategy === "allow") return true;
    const text = decodeText(rewriter.bytes, start, end);
    if (!isSecretValue(field, text, this.texts.pseudonyms))
      return this.string(rewriter, field, undefined, lengthAt, start, end);
    const treated = this.wholeTreatments[strategy](text);
    if (treated === text) return true;
    this.counts.countField(field, field.path);
    if (!this.isEnforced) return false;
    rewriter.copyTo(lengthAt).text(treated);
    rewriter.skipTo(end);
    return false;
  }

  /** Treats a string in which `found` matches were just found. */
  treatFound(rewriter: Rewriter, field: FieldRule, found: number, lengthAt: number, start: number, end: number): void {
    this.matchPath = field.path;
    if (found === TOO_COSTLY) return this.maskText(rewriter, field, lengthAt, end);
    if (!this.isEnforced) return this.countMatches();
    this.texts.write(rewriter, lengthAt, start, end, field.hints, this.countMatches);
  }

  /**
   * Treats an AnyValue that consists of this text and has its length at `lengthAt`, if masks alone are enough.
   * Otherwise returns false and does nothing.
   */
  maskFound(
    rewriter: Rewriter,
    field: FieldRule,
    found: number,
    lengthAt: number,
    start: number,
    end: number,
  ): boolean {
    if (found === TOO_COSTLY || !this.isEnforced) return false;
    if (!this.texts.writeMasked(rewriter, lengthAt, start, end)) return false;
    this.matchPath = field.path;
    this.countMatches();
    return true;
  }

  /** Masks a text that would take too long to search. */
  maskText(rewriter: Rewriter, field: FieldRule, lengthAt: number, end: number): void {
    this.counts.countTooCostly(field.path);
    if (!this.isEnforced) return;
    rewriter.copyTo(lengthAt).text(MASK);
    rewriter.skipTo(end);
  }

  /**
   * Masks the AnyValue [start, end), whose length is at `lengthAt`, because it would take too long to treat. It begins at
   * `outStart` in the output; what was written of it is removed.
   */
  maskValue(
    rewriter: Rewriter,
    field: FieldRule,
    outStart: number,
    lengthAt: number,
    start: number,
    end: number,
  ): void {
    this.counts.countTooCostly(field.path);
    if (!this.isEnforced) return;
    rewriter.removeSince(outStart, end);
    const out = rewriter.copyTo(end);
    out.byte(STRING_VALUE_TAG);
    out.text(MASK);
    rewriter.closeMessage(start, end, outStart, start - lengthAt);
  }

  /** Treats a number, a boolean or bytes as a whole: a text takes its place. */
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
    if (!this.isEnforced) return;
    const out = rewriter.copyTo(at);
    out.byte(STRING_VALUE_TAG);
    out.text(this.wholeTreatments[strategy](text));
    rewriter.skipTo(end);
  }

  /** Treats a number whose key says what it is. If something is found in it, a text takes its place. */
  private number(rewriter: Rewriter, field: FieldRule, tag: number, at: number, valueAt: number, end: number): void {
    const text = leafText(rewriter.bytes, tag, valueAt, end, false);
    if (text === undefined) return;
    const treated = this.treatText(text, field, undefined);
    if (treated === text) return;
    const out = rewriter.copyTo(at);
    out.byte(STRING_VALUE_TAG);
    out.text(treated);
    rewriter.skipTo(end);
  }

  /** Treats a decoded text. In a report it stays unchanged. */
  treatText(text: string, field: FieldRule, strategy: Strategy | undefined): string {
    if (strategy !== undefined && isSecretValue(field, text, this.texts.pseudonyms)) {
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
      return this.isEnforced ? MASK : text;
    }
    if (this.isEnforced)
      return Buffer.from(this.texts.treat(b, 0, b.length, field.hints, this.countMatches)).toString();
    this.countMatches();
    return text;
  }

  /** Counts the last matches under the path of their field. */
  private readonly countMatches = (): void => {
    const { count, detectors } = matches;
    for (let i = 0; i < count; i++) this.counts.countDetected(detectors[i]!, this.matchPath);
  };
}
