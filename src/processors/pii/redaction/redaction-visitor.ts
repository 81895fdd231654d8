import type { Value } from "../../../plugin.js";
import type { Rewriter } from "../../../runtime/kit.js";
import type { AttributeOwner, FieldVisitor } from "../rewrite-fields.js";
import { SummaryAttributes } from "../summary-attributes.js";
import type { RedactionConfig } from "./config.js";
import { collectorText, RedactionRules } from "./redaction-rules.js";
import { rewriteAttribute, rewriteValue, type ValueVerdict, type ValueVisitor } from "./rewrite-values.js";

/** Keys of one set of attributes, or of a body, by what became of them. */
interface KeySummary {
  readonly redacted: string[];
  readonly masked: string[];
  readonly allowed: string[];
  readonly ignored: string[];
}

const emptyKeySummary = (): KeySummary => ({ redacted: [], masked: [], allowed: [], ignored: [] });

/**
 * Goes over attributes of resources, scopes, records and span events, and over bodies of log records, as the Collector's
 * processor does: links, exemplars and names stay as they are.
 */
export class RedactionVisitor implements FieldVisitor {
  private readonly rules: RedactionRules;
  private readonly config: RedactionConfig;
  private readonly openOwners: {
    readonly owner: AttributeOwner;
    readonly summary: SummaryAttributes;
    found: KeySummary;
    inBody: KeySummary;
  }[] = [];

  /** With `keepsOwnMasks` it leaves what it has redacted before. */
  constructor(config: RedactionConfig, keepsOwnMasks = false) {
    this.config = config;
    this.rules = new RedactionRules(config, keepsOwnMasks);
  }

  /** Forgets what a batch that failed has left. */
  begin(): void {
    this.openOwners.length = 0;
  }

  open(owner: AttributeOwner): void {
    this.openOwners.push({
      owner,
      summary: new SummaryAttributes(),
      found: emptyKeySummary(),
      inBody: emptyKeySummary(),
    });
  }

  attribute(rewriter: Rewriter, at: number, lengthAt: number, start: number, end: number): void {
    const { owner, summary, found } = this.openOwners.at(-1)!;
    if (owner === "link" || owner === "exemplar" || owner === "metric") return;
    rewriteAttribute(rewriter, at, lengthAt, start, end, (key, read) => {
      const verdict = this.verdict(found, key, read);
      if (verdict === "keep" && key.startsWith("redaction.")) summary.remember(rewriter, key, at, lengthAt, end);
      return verdict;
    });
  }

  body(rewriter: Rewriter, _at: number, lengthAt: number, start: number, end: number): void {
    const current = this.openOwners.at(-1)!;
    rewriteValue(rewriter, lengthAt, start, end, new BodyVisitor(this.rules, current.inBody));
  }

  text(): void {}

  close(rewriter: Rewriter, _owner: AttributeOwner, end: number, attributesTag: number): void {
    const { summary, found, inBody } = this.openOwners.pop()!;
    if (this.config.summary !== "info" && this.config.summary !== "debug") return;
    for (const [prefix, findings] of [
      ["redaction.", found],
      ["redaction.body.", inBody],
    ] as const) {
      for (const kind of ["redacted", "masked", "allowed", "ignored"] as const) {
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
  }

  private verdict(found: KeySummary, key: string, read: () => Value): ValueVerdict {
    const kind = this.rules.kindOf(key);
    if (kind === "ignored" || kind === "redacted") {
      found[kind].push(key);
      return kind === "ignored" ? "keep" : "remove";
    }
    const value = read();
    const text = typeof value === "string" || this.config.allTypes ? collectorText(value) : "";
    if (this.rules.isAllowedValue(text)) {
      found.allowed.push(key);
      return "keep";
    }
    const put = kind === "blocked" ? this.rules.maskLines(text) : this.rules.maskBlocked(text);
    if (kind !== "blocked" && put === text) return "keep";
    found.masked.push(key);
    return { put };
  }
}

class BodyVisitor implements ValueVisitor {
  private readonly rules: RedactionRules;
  private readonly found: KeySummary;

  constructor(rules: RedactionRules, found: KeySummary) {
    this.rules = rules;
    this.found = found;
  }

  member(path: string, key: string, read: () => Value): ValueVerdict {
    const kind = this.rules.kindOf(key);
    if (kind === "plain") return "inside";
    this.found[kind === "blocked" ? "masked" : kind].push(path);
    if (kind !== "blocked") return kind === "ignored" ? "keep" : "remove";
    const value = read();
    return { put: this.rules.maskLines(typeof value === "string" ? value : "") };
  }

  leaf(path: string, value: Value): string | undefined {
    const text = collectorText(value);
    if (this.rules.isAllowedValue(text)) {
      if (path !== "") this.found.allowed.push(path);
      return undefined;
    }
    const put = this.rules.maskBlocked(text);
    if (put === text) return undefined;
    this.found.masked.push(path === "" ? "body" : path);
    return put;
  }
}
