import { after, findField, keyAt, keyEnd, type Rewriter, stepOver, varint } from "#otlp/bytes";
import { STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Value } from "../../../plugin.js";
import { HOLDS_NO_TEXT } from "../attribute-values.js";
import type { FieldVisitor } from "../fields/rewrite-fields.js";
import type { AttributeOwner } from "../fields/rewrite-plans.js";
import { CLEAN, type Cleanness, NOT_CLEAN } from "../fields/unseen-walk.js";
import { SummaryAttributes } from "../summary-attributes.js";
import type { MaskedBytes } from "./byte-masker.js";
import type { RedactionConfig } from "./config.js";
import { collectorText, type KeyKind, RedactionRules } from "./redaction-rules.js";
import {
  keyValue,
  rewriteAttribute,
  rewriteText,
  rewriteValue,
  type ValueVerdict,
  type ValueVisitor,
} from "./rewrite-values.js";
import { sanitizeUrl } from "./url-sanitizer.js";

/** Keys of one set of attributes, or of a body, by the action taken. */
interface KeySummary {
  readonly redacted: string[];
  readonly masked: string[];
  readonly allowed: string[];
  readonly ignored: string[];
}

const KINDS = ["redacted", "masked", "allowed", "ignored"] as const;

const emptyKeySummary = (): KeySummary => ({ redacted: [], masked: [], allowed: [], ignored: [] });

function clearKeySummary(findings: KeySummary): void {
  for (const kind of KINDS) if (findings[kind].length > 0) findings[kind].length = 0;
}

/** State of a message that is being visited. */
class OpenOwner {
  owner: AttributeOwner = "record";
  readonly summary = new SummaryAttributes();
  readonly found = emptyKeySummary();
  readonly inBody = emptyKeySummary();
}

/**
 * Redacts attributes of resources, scopes, records and span events, and bodies of log records. Like the Collector's
 * processor, it does not touch links and exemplars. Names of spans are treated separately.
 */
export class RedactionVisitor implements FieldVisitor {
  private readonly rules: RedactionRules;
  private readonly config: RedactionConfig;
  private readonly hasSummary: boolean;
  /**
   * True if a value without a match can be skipped whatever its key: it would neither change nor appear in a summary.
   */
  private readonly skipsWithoutKey: boolean;
  /** One object per depth, reused. */
  private readonly owners: OpenOwner[] = [];
  private depth = 0;

  /** With `keepsOwnMasks`, values that were redacted before stay unchanged. */
  constructor(config: RedactionConfig, keepsOwnMasks = false) {
    this.config = config;
    this.rules = new RedactionRules(config, keepsOwnMasks);
    this.hasSummary = config.summary === "info" || config.summary === "debug";
    this.skipsWithoutKey = !this.hasSummary && !this.rules.asksForKeys;
  }

  /** Resets the state that a failed batch may have left. */
  begin(): void {
    this.depth = 0;
  }

  open(owner: AttributeOwner): void {
    if (this.depth === this.owners.length) this.owners.push(new OpenOwner());
    const current = this.owners[this.depth++]!;
    current.owner = owner;
    if (!this.hasSummary) return;
    current.summary.clear();
    clearKeySummary(current.found);
    clearKeySummary(current.inBody);
  }

  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): Cleanness {
    const { owner, summary, found } = this.owners[this.depth - 1]!;
    if (owner === "link" || owner === "exemplar" || owner === "metric") return NOT_CLEAN;
    const suspects = this.findBlockedInAttribute(rewriter.bytes, start, end);
    if (suspects === 0 && this.skipsWithoutKey) return CLEAN;
    const b = rewriter.bytes;
    const { key, kind } = this.rules.keyAt(b, keyAt(b, start, end), keyEnd);
    const verdict = this.verdict(found, key, kind, b, start, end, suspects);
    if (verdict !== "keep") rewriteAttribute(rewriter, at, lengthAt, start, end, verdict);
    else if (this.hasSummary && key.startsWith("redaction.")) summary.remember(rewriter, key, at, lengthAt, end);
    return NOT_CLEAN;
  }

  body(rewriter: Rewriter, _at: number, lengthAt: number, start: number, end: number): Cleanness {
    const isText = rewriter.bytes[start] === STRING_VALUE_TAG;
    const suspects = isText ? this.findBlocked(rewriter.bytes, start, end) : -1;
    if (suspects === 0 && !this.config.sanitizesUrls) return CLEAN;
    const masked =
      suspects > 0 && !this.config.sanitizesUrls ? this.maskBytes(rewriter.bytes, start, end, suspects) : undefined;
    if (masked !== undefined) {
      if (!masked.isChanged) return NOT_CLEAN;
      rewriteText(rewriter, lengthAt, start, end, masked);
      if (this.hasSummary) this.owners[this.depth - 1]!.inBody.masked.push("body");
      return NOT_CLEAN;
    }
    const found = this.hasSummary ? this.owners[this.depth - 1]!.inBody : undefined;
    rewriteValue(
      rewriter,
      lengthAt,
      start,
      end,
      new BodyVisitor(this.rules, found, suspects, this.config.sanitizesUrls),
    );
    return NOT_CLEAN;
  }

  text(): Cleanness {
    return CLEAN;
  }

  close(rewriter: Rewriter, _owner: AttributeOwner, end: number, attributesTag: number): void {
    const { summary, found, inBody } = this.owners[--this.depth]!;
    if (!this.hasSummary) return;
    this.summarise(found, "redaction.", summary, rewriter, end, attributesTag);
    this.summarise(inBody, "redaction.body.", summary, rewriter, end, attributesTag);
  }

  private summarise(
    findings: KeySummary,
    prefix: string,
    summary: SummaryAttributes,
    rewriter: Rewriter,
    end: number,
    attributesTag: number,
  ): void {
    for (const kind of KINDS) {
      const keys = findings[kind];
      if (keys.length === 0) continue;
      if (this.config.summary === "debug" && kind !== "ignored") {
        const before = summary.get(`${prefix}${kind}.keys`);
        const all = typeof before === "string" && before !== "" ? [...keys, ...before.split(",")] : keys;
        summary.put(rewriter, end, attributesTag, `${prefix}${kind}.keys`, all.sort().join(","));
      }
      const count = summary.get(`${prefix}${kind}.count`);
      const total = keys.length + (typeof count === "number" ? count : 0);
      summary.put(rewriter, end, attributesTag, `${prefix}${kind}.count`, total);
    }
  }

  private findBlockedInAttribute(b: Uint8Array, start: number, end: number): number {
    const valueAt = findField(b, start, end, VALUE_TAG);
    if (valueAt < 0) return 0;
    const size = varint(b, valueAt);
    return this.findBlocked(b, after, after + size);
  }

  /** Returns a bit mask of the patterns that may match in the AnyValue [start, end): 0 if none can, -1 if all may. */
  private findBlocked(b: Uint8Array, start: number, end: number): number {
    if (start === end) return 0;
    const tag = b[start]!;
    if (tag === STRING_VALUE_TAG) {
      const size = varint(b, start + 1);
      return after + size === end ? this.rules.findBlocked(b, after, end) : -1;
    }
    return HOLDS_NO_TEXT[tag] === 1 && !this.config.allTypes && stepOver(b, start) === end ? 0 : -1;
  }

  private maskBytesOfAttribute(b: Uint8Array, start: number, end: number, suspects: number): MaskedBytes | undefined {
    const size = varint(b, findField(b, start, end, VALUE_TAG));
    return this.maskBytes(b, after, after + size, suspects);
  }

  /** Masks the AnyValue [start, end), which is a text. */
  private maskBytes(b: Uint8Array, start: number, end: number, suspects: number): MaskedBytes | undefined {
    varint(b, start + 1);
    return this.rules.maskBytes(b, after, end, suspects);
  }

  /** Decides about the KeyValue [start, end). */
  private verdict(
    found: KeySummary,
    key: string,
    kind: KeyKind,
    b: Uint8Array,
    start: number,
    end: number,
    suspects: number,
  ): ValueVerdict {
    if (kind === "ignored" || kind === "redacted") {
      if (this.hasSummary) found[kind].push(key);
      return kind === "ignored" ? "keep" : "remove";
    }
    const isUrl = kind === "plain" && this.config.urlAttributes.has(key);
    if (kind === "plain" && suspects === 0 && !isUrl && !(this.hasSummary && this.rules.allowsValues)) return "keep";
    const masked =
      kind === "plain" && suspects > 0 && !isUrl ? this.maskBytesOfAttribute(b, start, end, suspects) : undefined;
    if (masked !== undefined) {
      if (masked.isChanged && this.hasSummary) found.masked.push(key);
      return masked.isChanged ? masked : "keep";
    }
    const value = keyValue(b, start, end);
    const text = typeof value === "string" || this.config.allTypes ? collectorText(value) : "";
    if (this.rules.isAllowedValue(text)) {
      if (this.hasSummary) found.allowed.push(key);
      return "keep";
    }
    const blocked = kind === "blocked" ? this.rules.maskLines(text) : this.rules.maskBlocked(text, suspects);
    const put = isUrl ? sanitizeUrl(blocked) : blocked;
    if (kind !== "blocked" && put === text) return "keep";
    if (this.hasSummary) found.masked.push(key);
    return { put };
  }
}

class BodyVisitor implements ValueVisitor {
  private readonly rules: RedactionRules;
  private readonly found: KeySummary | undefined;
  /** The patterns that may match in the body, if it is a text. */
  private readonly suspects: number;
  private readonly sanitizesUrls: boolean;

  constructor(rules: RedactionRules, found: KeySummary | undefined, suspects: number, sanitizesUrls: boolean) {
    this.rules = rules;
    this.found = found;
    this.suspects = suspects;
    this.sanitizesUrls = sanitizesUrls;
  }

  member(path: string, key: string, read: () => Value): ValueVerdict {
    const kind = this.rules.kindOf(key);
    if (kind === "plain") return "inside";
    this.found?.[kind === "blocked" ? "masked" : kind].push(path);
    if (kind !== "blocked") return kind === "ignored" ? "keep" : "remove";
    const value = read();
    return { put: this.rules.maskLines(typeof value === "string" ? value : "") };
  }

  leaf(path: string, value: Value): string | undefined {
    const text = collectorText(value);
    if (this.rules.isAllowedValue(text)) {
      if (path !== "") this.found?.allowed.push(path);
      return undefined;
    }
    const masked = this.rules.maskBlocked(text, this.suspects);
    const put = this.sanitizesUrls ? sanitizeUrl(masked) : masked;
    if (put === text) return undefined;
    this.found?.masked.push(path === "" ? "body" : path);
    return put;
  }
}
