import { createHmac, hash } from "node:crypto";
import { NameCache } from "#otlp/signals";
import { ByteScan, type Pattern } from "#text";
import type { Value } from "../../../plugin.js";
import { MASK } from "../detect/text/treated.js";
import { PATTERN_COST, work } from "../detect/text/work.js";
import type { HashFunction, RedactionConfig } from "./config.js";

/**
 * What the Collector's rules say about keys and values. With `keepsOwnMasks`, masks and hashes that look like those
 * these rules leave stay what they are.
 */
export class RedactionRules {
  private readonly config: RedactionConfig;
  private readonly mask: (text: string) => string;
  private readonly ownMasks: RegExp | undefined;
  private readonly blockedValues: ByteScan;
  private readonly kinds = new NameCache((key) => this.findKind(key));

  constructor(config: RedactionConfig, keepsOwnMasks = false) {
    this.config = config;
    this.blockedValues = new ByteScan(config.blockedValues);
    this.mask = createMask(config.hashFunction, config.hmacKey);
    this.ownMasks = keepsOwnMasks ? maskPattern(this.mask("").length, config.hashFunction) : undefined;
  }

  kindOf(key: string): KeyKind {
    return this.kinds.get(key);
  }

  get allowsValues(): boolean {
    return this.config.allowedValues.length > 0;
  }

  isAllowedValue(text: string): boolean {
    return matchesAny(this.config.allowedValues, text);
  }

  /** Whether a key can change what becomes of its value. */
  get asksForKeys(): boolean {
    const { allowedKeys, ignoredKeys, ignoredKeyPatterns, blockedKeys } = this.config;
    return allowedKeys !== undefined || ignoredKeys.size + ignoredKeyPatterns.length + blockedKeys.length > 0;
  }

  /** Which patterns of blocked values may match in the text [start, end), as `maskBlocked` takes them; 0 for none. */
  findBlocked(bytes: Uint8Array, start: number, end: number): number {
    return this.blockedValues.scan(bytes, start, end);
  }

  /**
   * The text with everything that is blocked masked; pattern after pattern. Those that are not in `suspects` cannot match
   * in the text, but they can in what others make of it.
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

  /** All of it masked, line by line. */
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

  /** Where the text has masks or hashes of these rules. */
  private ownMaskRanges(text: string): readonly (readonly [from: number, to: number])[] {
    if (this.ownMasks === undefined) return [];
    return [...text.matchAll(this.ownMasks)].map(({ 0: found, index }) => [index, index + found.length]);
  }
}

type KeyKind = "ignored" | "redacted" | "blocked" | "plain";

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

/** A value as the Collector turns it into text: maps and lists become JSON with their keys in order. */
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
