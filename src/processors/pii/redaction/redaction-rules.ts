import { createHmac, hash } from "node:crypto";
import { decodeText, KeyCache } from "#otlp/bytes";
import { NameCache } from "#otlp/signals";
import { ByteScan, type Pattern } from "#text/patterns";
import type { Value } from "../../../plugin.js";
import { MASK } from "../detect/secrets/placeholder.js";
import { PATTERN_COST, work } from "../detect/text/work.js";
import { ByteMasker, type MaskedBytes } from "./byte-masker.js";
import type { HashFunction, RedactionConfig } from "./config.js";

/**
 * Applies the Collector's rules to keys and values. With `keepsOwnMasks`, text that looks like a mask or hash written
 * by these rules stays unchanged.
 */
export class RedactionRules {
  private readonly config: RedactionConfig;
  private readonly mask: (text: string) => string;
  private readonly ownMasks: RegExp | undefined;
  private readonly blockedValues: ByteScan;
  private readonly masker: ByteMasker | undefined;
  private readonly kinds = new NameCache((key) => this.findKind(key));
  private readonly keys = new KeyCache<RuledKey>((b, start, end) => {
    const key = decodeText(b, start, end);
    return { key, kind: this.kindOf(key) };
  });

  constructor(config: RedactionConfig, keepsOwnMasks = false) {
    this.config = config;
    this.blockedValues = new ByteScan(config.blockedValues);
    this.mask = createMask(config.hashFunction, config.hmacKey);
    this.ownMasks = keepsOwnMasks ? maskPattern(this.mask("").length, config.hashFunction) : undefined;
    const readsText = keepsOwnMasks || config.allowedValues.length > 0;
    this.masker = readsText
      ? undefined
      : new ByteMasker(config.blockedValues, config.hashFunction === "" ? MASK : this.mask);
  }

  kindOf(key: string): KeyKind {
    return this.kinds.get(key);
  }

  /** Returns the text and the kind of the key [start, end) of `b`. */
  keyAt(b: Uint8Array, start: number, end: number): RuledKey {
    return this.keys.get(b, start, end);
  }

  get allowsValues(): boolean {
    return this.config.allowedValues.length > 0;
  }

  isAllowedValue(text: string): boolean {
    return matchesAny(this.config.allowedValues, text);
  }

  /** Whether any rule depends on the key. */
  get asksForKeys(): boolean {
    const { allowedKeys, ignoredKeys, ignoredKeyPatterns, blockedKeys, urlAttributes } = this.config;
    const sizes = [ignoredKeys.size, ignoredKeyPatterns.length, blockedKeys.length, urlAttributes.size];
    return allowedKeys !== undefined || sizes.some((size) => size > 0);
  }

  /**
   * Returns a bit mask of the blocked patterns that may match in the text [start, end), for `maskBlocked`; 0 if none
   * can.
   */
  findBlocked(bytes: Uint8Array, start: number, end: number): number {
    return this.blockedValues.scan(bytes, start, end);
  }

  /**
   * Returns the text with everything masked that is blocked, one pattern after the other. A pattern that is not in
   * `suspects` cannot match the original text, but may match after other patterns have changed it.
   */
  maskBlocked(text: string, suspects = -1): string {
    let rest = text;
    for (const [i, pattern] of this.config.blockedValues.entries()) {
      if (rest !== text || (suspects & (1 << i)) !== 0) {
        work.spent += rest.length * PATTERN_COST;
        rest = this.maskMatches(rest, pattern);
      }
    }
    return rest;
  }

  /**
   * Does the same for the text [start, end) of `bytes` without decoding it. The result is valid until the next call.
   * Returns undefined if a rule or a pattern needs the decoded text; most texts in ASCII are masked.
   */
  maskBytes(bytes: Uint8Array, start: number, end: number, suspects: number): MaskedBytes | undefined {
    return this.masker?.run(bytes, start, end, suspects) === true ? this.masker : undefined;
  }

  /** Masks the whole text, line by line. */
  maskLines(text: string): string {
    return text
      .split("\n")
      .map((line) =>
        this.ownMaskRanges(line).some(([from, to]) => to - from === line.length) ? line : this.mask(line),
      )
      .join("\n");
  }

  private findKind(key: string): KeyKind {
    const { ignoredKeys, ignoredKeyPatterns, allowedKeys, blockedKeys } = this.config;
    if (ignoredKeys.has(key) || matchesAny(ignoredKeyPatterns, key)) return "ignored";
    const isSummaryKey = ALWAYS_ALLOWED.has(key) || (this.ownMasks !== undefined && SUMMARY_KEY.test(key));
    if (allowedKeys !== undefined && !allowedKeys.has(key) && !isSummaryKey) return "redacted";
    return matchesAny(blockedKeys, key) ? "blocked" : "plain";
  }

  private maskMatches(text: string, pattern: Pattern): string {
    const spans = pattern.spans(text);
    if (spans.length === 0) return text;
    let result = "";
    let from = 0;
    const ownRanges = this.ownMaskRanges(text);
    let next = 0;
    for (const [start, end] of spans) {
      while (next < ownRanges.length && ownRanges[next]![1] < end) next++;
      if (next < ownRanges.length && start >= ownRanges[next]![0]) continue;
      result += text.slice(from, start) + this.mask(text.slice(start, end));
      from = end;
    }
    return from === 0 ? text : result + text.slice(from);
  }

  /** Returns the ranges of masks and hashes that these rules have written. */
  private ownMaskRanges(text: string): readonly (readonly [from: number, to: number])[] {
    if (this.ownMasks === undefined) return [];
    return [...text.matchAll(this.ownMasks)].map(({ 0: found, index }) => [index, index + found.length]);
  }
}

export type KeyKind = "ignored" | "redacted" | "blocked" | "plain";

interface RuledKey {
  readonly key: string;
  readonly kind: KeyKind;
}

const ALWAYS_ALLOWED = new Set(
  ["redacted.keys", "redacted.count", "masked.keys", "masked.count", "ignored.count"].map(
    (name) => `redaction.${name}`,
  ),
);

const SUMMARY_KEY = /^redaction\.(?:body\.)?(?:redacted|masked|allowed|ignored)\.(?:keys|count)$/;

function matchesAny(patterns: readonly Pattern[], text: string): boolean {
  work.spent += text.length * patterns.length * PATTERN_COST;
  return patterns.some((pattern) => pattern.test(text));
}

function createMask(hashFunction: HashFunction, key: string): (text: string) => string {
  switch (hashFunction) {
    case "":
      return () => MASK;
    case "hmac-sha256":
    case "hmac-sha512":
      return (text) => createHmac(hashFunction.slice(5), key).update(text).digest("hex");
    default:
      return (text) => hash(hashFunction === "sha3" ? "sha3-256" : hashFunction, text, "hex");
  }
}

function maskPattern(size: number, hashFunction: HashFunction): RegExp {
  return hashFunction === "" ? /\*{4}/g : new RegExp(`(?<![0-9a-f])(?:[0-9a-f]{${size}})+(?![0-9a-f])`, "g");
}

/** Converts a value to text as the Collector does: maps and lists become JSON with sorted keys. */
export function collectorText(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null) return "";
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return typeof value === "object" ? JSON.stringify(sortKeys(value)) : String(value);
}

function sortKeys(value: Value): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value === "bigint") return Number(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item as Value)]),
  );
}
