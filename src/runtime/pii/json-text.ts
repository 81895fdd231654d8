import type { Field } from "./fields.js";
import { MASK, type Strategy } from "./strategies.js";

/** What is done to the values in JSON. */
export interface JsonTreatment {
  member(parent: Field, key: string): Field;
  /** A text, treated; counted if it changes. */
  treat(text: string, field: Field, strategy: Strategy | undefined): string;
  /** Something is taken out, or masked because it is too deep to be looked into. */
  counts(field: Field): void;
}

/**
 * JSON text with its values treated like those of a map: numbers, blanks and the order of keys stay as they are written.
 * Undefined when the text is not JSON.
 */
export function treatJson(text: string, root: Field, treatment: JsonTreatment): string | undefined {
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

/** Deeper than people write. What is below is masked: one line of brackets must not make a batch impossible to treat. */
const DEEPEST = 200;

/** One pass over text that is known to be JSON. `done` is how much of it is in `out`. */
class JsonWalk {
  private readonly text: string;
  private readonly treatment: JsonTreatment;
  private out = "";
  private done = 0;
  private at = 0;
  private depth = 0;

  constructor(text: string, treatment: JsonTreatment) {
    this.text = text;
    this.treatment = treatment;
  }

  run(root: Field): string {
    this.value(root, root.strategy);
    return this.out + this.text.slice(this.done);
  }

  private value(field: Field, strategy: Strategy | undefined): void {
    this.blanks();
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

  private nested(field: Field, strategy: Strategy | undefined): void {
    if (this.depth === DEEPEST && strategy !== "allow") return this.cover(field);
    this.depth++;
    if (this.depth > DEEPEST) this.skip();
    else if (this.text[this.at] === "{") this.object(field, strategy);
    else this.list(field, strategy);
    this.depth--;
  }

  private cover(field: Field): void {
    const from = this.at;
    this.skip();
    this.treatment.counts(field);
    this.replace(from, MASK);
  }

  private object(parent: Field, inherited: Strategy | undefined): void {
    this.at++;
    let kept = 0;
    for (this.blanks(); this.text[this.at] !== "}"; this.blanks()) {
      const from = this.at;
      const field = this.treatment.member(parent, JSON.parse(this.take(TEXT)) as string);
      const own = inherited === undefined || field.by === "field" ? field.strategy : undefined;
      const strategy = own ?? inherited;
      this.blanks();
      this.at++; // the colon
      if (strategy === "redact") this.leaveOut(field, from, kept);
      else {
        this.value(own === undefined && inherited !== undefined ? { ...field, by: parent.by } : field, strategy);
        kept++;
      }
      this.blanks();
      if (this.text[this.at] === ",") this.at++;
    }
    this.at++;
  }

  /** Takes a member out, with the comma before it, or behind it where it is the first. */
  private leaveOut(field: Field, from: number, kept: number): void {
    this.treatment.counts(field);
    this.skip();
    this.blanks();
    const isLast = this.text[this.at] !== ",";
    const start = kept > 0 && isLast ? this.text.lastIndexOf(",", from) : from;
    if (start < this.done) this.out = this.out.slice(0, this.out.lastIndexOf(","));
    else this.out += this.text.slice(this.done, start);
    this.done = isLast ? this.at : this.at + 1;
  }

  private list(field: Field, strategy: Strategy | undefined): void {
    this.at++;
    for (this.blanks(); this.text[this.at] !== "]"; this.blanks()) {
      this.value(field, strategy);
      this.blanks();
      if (this.text[this.at] === ",") this.at++;
    }
    this.at++;
  }

  private string(field: Field, strategy: Strategy | undefined): void {
    const from = this.at;
    const text = JSON.parse(this.take(TEXT)) as string;
    if (strategy === "allow") return;
    const treated = this.treatment.treat(text, field, strategy);
    if (treated !== text) this.replace(from, treated);
  }

  private scalar(field: Field, strategy: Strategy | undefined): void {
    const from = this.at;
    const text = this.take(SCALAR);
    if (strategy === undefined || strategy === "allow" || text === "null") return;
    if (field.by === "secret_key" && (text === "true" || text === "false")) return;
    this.replace(from, this.treatment.treat(text, field, strategy));
  }

  private replace(from: number, by: string): void {
    this.out += this.text.slice(this.done, from) + JSON.stringify(by);
    this.done = this.at;
  }

  /** Goes over a value without looking at it. */
  private skip(): void {
    this.blanks();
    const open = this.text[this.at];
    if (open === '"') return void this.take(TEXT);
    if (open !== "{" && open !== "[") return void this.take(SCALAR);
    let depth = 0;
    do {
      const c = this.text[this.at]!;
      if (c === '"') this.take(TEXT);
      else {
        depth += c === "{" || c === "[" ? 1 : c === "}" || c === "]" ? -1 : 0;
        this.at++;
      }
    } while (depth > 0);
  }

  private blanks(): void {
    this.take(BLANKS);
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)![0];
    this.at = pattern.lastIndex;
    return found;
  }
}
