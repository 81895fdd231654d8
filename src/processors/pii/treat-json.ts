import { MASK } from "./detect/secrets/placeholder.js";
import { hintsAtNumber } from "./detect/text/detectors.js";
import type { FieldRule } from "./field-rules.js";
import type { Strategy } from "./strategies.js";

/** Treats the values in a JSON text. */
interface JsonTreatment {
  member(parent: FieldRule, key: string): FieldRule;
  /** Returns the treated text, and counts it if it changed. */
  treat(text: string, field: FieldRule, strategy: Strategy | undefined): string;
  /** Called when a value is removed, or masked because it is nested too deeply. */
  countField(field: FieldRule): void;
}

/**
 * Returns JSON text with its values treated like those of a map. Numbers, spaces and the order of keys stay as written.
 * Returns undefined if the text is not JSON.
 */
export function treatJson(text: string, root: FieldRule, treatment: JsonTreatment): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  return new JsonWalk(text, treatment).run(root);
}

const BLANKS = /[ \t\r\n]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,\]}]+/y;

/**
 * Deeper values are masked, so that one line of brackets cannot make a batch impossible to treat. People do not nest
 * this deep.
 */
const MAX_DEPTH = 200;

/** One pass over text that is known to be JSON. `copiedUpTo` is how much of it is in `out`. */
class JsonWalk {
  private readonly text: string;
  private readonly treatment: JsonTreatment;
  private readonly out: string[] = [];
  private copiedUpTo = 0;
  private at = 0;
  private depth = 0;

  constructor(text: string, treatment: JsonTreatment) {
    this.text = text;
    this.treatment = treatment;
  }

  run(root: FieldRule): string {
    this.value(root, root.strategy);
    return this.out.join("") + this.text.slice(this.copiedUpTo);
  }

  private value(field: FieldRule, strategy: Strategy | undefined): void {
    this.skipBlanks();
    switch (this.text[this.at]) {
      case "{":
      case "[":
        return this.nested(field, strategy);
      case '"':
        return this.string(field, strategy);
      default:
        return this.scalar(field, strategy);
    }
  }

  private nested(field: FieldRule, strategy: Strategy | undefined): void {
    if (this.depth === MAX_DEPTH && strategy !== "allow") return this.maskNested(field);
    this.depth++;
    if (this.depth > MAX_DEPTH) this.skipValue();
    else if (this.text[this.at] === "{") this.object(field, strategy);
    else this.list(field, strategy);
    this.depth--;
  }

  private maskNested(field: FieldRule): void {
    const from = this.at;
    this.skipValue();
    this.treatment.countField(field);
    this.replace(from, MASK);
  }

  private object(parent: FieldRule, inherited: Strategy | undefined): void {
    this.at++;
    let kept = 0;
    for (this.skipBlanks(); this.text[this.at] !== "}"; this.skipBlanks()) {
      const from = this.at;
      const field = this.treatment.member(parent, JSON.parse(this.consume(TEXT)) as string);
      const memberStrategy = inherited === undefined || field.decidedBy === "field" ? field.strategy : undefined;
      const strategy = memberStrategy ?? inherited;
      this.skipBlanks();
      this.at++; // the colon
      if (strategy === "redact") this.removeMember(field, from, kept);
      else {
        this.value(
          memberStrategy === undefined && inherited !== undefined ? { ...field, decidedBy: parent.decidedBy } : field,
          strategy,
        );
        kept++;
      }
      this.skipBlanks();
      if (this.text[this.at] === ",") this.at++;
    }
    this.at++;
  }

  /** Removes a member with the comma before it or, if it is the first, with the comma after it. */
  private removeMember(field: FieldRule, from: number, kept: number): void {
    this.treatment.countField(field);
    this.skipValue();
    this.skipBlanks();
    const isLast = this.text[this.at] !== ",";
    const start = kept > 0 && isLast ? this.text.lastIndexOf(",", from) : from;
    if (start < this.copiedUpTo) this.removeLastComma();
    else this.out.push(this.text.slice(this.copiedUpTo, start));
    this.copiedUpTo = isLast ? this.at : this.at + 1;
  }

  /** Removes the last comma of the output. Only spaces follow it. */
  private removeLastComma(): void {
    for (let part = this.out.pop(); part !== undefined; part = this.out.pop()) {
      const comma = part.lastIndexOf(",");
      if (comma < 0) continue;
      this.out.push(part.slice(0, comma));
      return;
    }
  }

  private list(field: FieldRule, strategy: Strategy | undefined): void {
    this.at++;
    for (this.skipBlanks(); this.text[this.at] !== "]"; this.skipBlanks()) {
      this.value(field, strategy);
      this.skipBlanks();
      if (this.text[this.at] === ",") this.at++;
    }
    this.at++;
  }

  private string(field: FieldRule, strategy: Strategy | undefined): void {
    const from = this.at;
    const text = JSON.parse(this.consume(TEXT)) as string;
    if (strategy === "allow") return;
    const treated = this.treatment.treat(text, field, strategy);
    if (treated !== text) this.replace(from, treated);
  }

  private scalar(field: FieldRule, strategy: Strategy | undefined): void {
    const from = this.at;
    const text = this.consume(SCALAR);
    if (strategy === "allow" || text === "null") return;
    if (strategy === undefined) return this.number(field, text, from);
    if (field.decidedBy === "secret_key" && (text === "true" || text === "false")) return;
    this.replace(from, this.treatment.treat(text, field, strategy));
  }

  /** Treats a number whose key says what it is. */
  private number(field: FieldRule, text: string, from: number): void {
    if (!hintsAtNumber(field.hints) || !/^-?\d/.test(text)) return;
    const treated = this.treatment.treat(text, field, undefined);
    if (treated !== text) this.replace(from, treated);
  }

  private replace(from: number, by: string): void {
    this.out.push(this.text.slice(this.copiedUpTo, from) + JSON.stringify(by));
    this.copiedUpTo = this.at;
  }

  /** Skips a value without treating it. */
  private skipValue(): void {
    this.skipBlanks();
    const open = this.text[this.at];
    if (open === '"') return void this.consume(TEXT);
    if (open !== "{" && open !== "[") return void this.consume(SCALAR);
    let depth = 0;
    do {
      const c = this.text[this.at]!;
      if (c === '"') this.consume(TEXT);
      else {
        depth += c === "{" || c === "[" ? 1 : c === "}" || c === "]" ? -1 : 0;
        this.at++;
      }
    } while (depth > 0);
  }

  private skipBlanks(): void {
    this.consume(BLANKS);
  }

  private consume(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)![0];
    this.at = pattern.lastIndex;
    return found;
  }
}
