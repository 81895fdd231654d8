import { eachAttribute, labelName, type PrometheusNameRules } from "#metrics";
import { readValue, valueText } from "#otlp/bytes";

/** A Prometheus label. Sets of labels are sorted by name, without duplicate names or empty values. */
export type Label = readonly [name: string, value: string];

/** An attribute as it came: the key, and the value as text. */
export type RawAttribute = readonly [key: string, text: string];

/** Reads the attributes in a run of fields (see `AttributeKey`) as texts. */
export function readAttributes(b: Uint8Array, start: number, end: number): RawAttribute[] {
  const found: RawAttribute[] = [];
  eachAttribute(b, start, end, (nameStart, nameEnd, valueStart, valueEnd) => {
    const key = Buffer.prototype.utf8Slice.call(b, nameStart, nameEnd);
    found.push([key, attributeText(b, valueStart, valueEnd)]);
  });
  return found;
}

function attributeText(b: Uint8Array, start: number, end: number): string {
  const value = readValue(b, start, end);
  if (value === null) return "";
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : valueText(value);
}

/** Collects labels. If several have the same name, the first one counts. */
export class LabelSet {
  private readonly labels = new Map<string, string>();
  private readonly rules: PrometheusNameRules;

  constructor(rules: PrometheusNameRules) {
    this.rules = rules;
  }

  /** Adds labels whose names are valid already. */
  add(labels: Iterable<Label>): this {
    for (const [name, value] of labels) if (value !== "" && !this.labels.has(name)) this.labels.set(name, value);
    return this;
  }

  /**
   * Attributes whose keys give the same name are joined, in the order of their keys. Names reserved by Prometheus get a
   * prefix, as it does with target labels.
   */
  addAttributes(attributes: readonly RawAttribute[]): this {
    const own = new Map<string, string>();
    const sorted = attributes.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [key, text] of sorted) {
      const name = labelNameOf(key, this.rules);
      if (name === "" || text === "") continue;
      const before = own.get(name);
      if (before === undefined) own.set(name, text);
      else if (before !== text) own.set(name, `${before};${text}`);
    }
    return this.add(own);
  }

  sorted(): Label[] {
    return [...this.labels].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

const RESERVED: ReadonlySet<string> = new Set(["__name__", "le", "quantile"]);

function labelNameOf(key: string, rules: PrometheusNameRules): string {
  const name = labelName(key, rules);
  return RESERVED.has(name) ? `exported_${name.replaceAll("__", "")}` : name;
}
