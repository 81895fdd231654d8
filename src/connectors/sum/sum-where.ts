import {
  after,
  decodeMessage,
  encodedKey,
  findAttribute,
  MESSAGES,
  message,
  POINT_ATTRIBUTES_TAGS,
  readValue,
  type Value,
  varint,
} from "#otlp/bytes";
import { LOG_ATTRIBUTES_TAG, OWNER_TAG, SPAN_ATTRIBUTES_TAG, SPAN_EVENT_ATTRIBUTES_TAG, VALUE_TAG } from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { CONTEXT_SHAPES, ConditionSet, type ContextName, type OnOttlError } from "#ottl";
import { notFiniteText } from "#text/go";
import type { Batch, Tree } from "../../plugin.js";
import type { SumMetric } from "./config.js";

/** The sums of one resource: for each metric, by the values of its attributes. */
export interface ResourceSums {
  /** The Resource message. */
  readonly resource: Tree;
  readonly bySpec: readonly Map<string, AttributeSum>[];
}

interface AttributeSum {
  /** KeyValues, in the order of the config. */
  readonly attributes: readonly Tree[];
  sum: number;
}

/**
 * Adds up the records of a context by resource. The result has one element per resource of the batch; elements without
 * sums are undefined.
 */
export function sumWhere(
  batch: Batch,
  context: ContextName,
  specs: readonly SumMetric[],
  onError: OnOttlError,
): (ResourceSums | undefined)[] {
  const visitor = new SummingVisitor(context, specs, onError);
  const walk = new RecordWalk(batch, CONTEXT_SHAPES[context]);
  walk.run(visitor);
  const result = new Array<ResourceSums | undefined>(walk.serials[0]!).fill(undefined);
  for (const [at, sums] of visitor.found) if (sums.bySpec.some(({ size }) => size > 0)) result[at] = sums;
  return result;
}

/** Tags of the attributes of a record. Metrics have none, and data points have theirs under other tags. */
const ATTRIBUTES_TAGS: Readonly<Partial<Record<ContextName, number>>> = {
  log: LOG_ATTRIBUTES_TAG,
  span: SPAN_ATTRIBUTES_TAG,
  spanevent: SPAN_EVENT_ATTRIBUTES_TAG,
};
const NO_TAG = -1;

class SummingVisitor implements RecordVisitor {
  readonly found = new Map<number, ResourceSums>();
  private readonly context: ContextName;
  private readonly specs: readonly SumMetric[];
  private readonly conditions: readonly (ConditionSet | undefined)[];
  private readonly sources: readonly Uint8Array[];
  private readonly keys: readonly (readonly Uint8Array[])[];

  constructor(context: ContextName, specs: readonly SumMetric[], onError: OnOttlError) {
    this.context = context;
    this.specs = specs;
    this.conditions = specs.map(({ conditions }) =>
      conditions.length === 0 ? undefined : new ConditionSet(conditions, onError),
    );
    this.sources = specs.map(({ source }) => encodedKey(source));
    this.keys = specs.map(({ attributes }) => attributes.map(({ key }) => encodedKey(key)));
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const tag =
      this.context === "datapoint"
        ? POINT_ATTRIBUTES_TAGS[walk.frames[3]!.tag]!
        : (ATTRIBUTES_TAGS[this.context] ?? NO_TAG);
    for (let i = 0; i < this.specs.length; i++) this.add(i, walk, start, end, tag);
    return KEEP;
  }

  private add(spec: number, walk: RecordWalk, start: number, end: number, tag: number): void {
    const b = walk.bytes;
    const texts: (string | undefined)[] = [];
    const { attributes } = this.specs[spec]!;
    let key = "";
    for (let i = 0; i < attributes.length; i++) {
      const value = attribute(b, start, end, tag, this.keys[spec]![i]!);
      const text = value === undefined ? undefined : textOf(value);
      if (text === undefined && (value !== undefined || attributes[i]!.fallback === undefined)) return;
      texts.push(text);
      key += text === undefined ? "-" : `${text.length} ${text}`;
    }
    if (this.conditions[spec]?.any(walk, start, end) === false) return;
    const sums = this.resourceOf(walk).bySpec[spec]!;
    const value = attribute(b, start, end, tag, this.sources[spec]!);
    const number = value === undefined ? 0 : numberOf(value);
    const same = sums.get(key);
    if (same !== undefined) same.sum += number;
    else sums.set(key, { attributes: texts.map((text, i) => keyValue(attributes[i]!, text)), sum: number });
  }

  private resourceOf({ bytes, frames, serials }: RecordWalk): ResourceSums {
    const at = serials[0]! - 1;
    let found = this.found.get(at);
    if (found === undefined) {
      const { start, end } = frames[0]!;
      const resource = decodeMessage(MESSAGES["Resource"]!, bytes, ...message(bytes, start, end, OWNER_TAG));
      found = { resource, bySpec: this.specs.map(() => new Map()) };
      this.found.set(at, found);
    }
    return found;
  }
}

function attribute(b: Uint8Array, start: number, end: number, tag: number, key: Uint8Array): Value | undefined {
  if (tag === NO_TAG) return undefined;
  const at = findAttribute(b, start, end, tag, key);
  if (at < 0) return undefined;
  const size = varint(b, at);
  const body = after;
  return readValue(b, ...message(b, body, body + size, VALUE_TAG));
}

function keyValue({ key, fallback }: SumMetric["attributes"][number], text: string | undefined): Tree {
  return { key, value: text === undefined ? fallback! : { stringValue: text } };
}

/** The value as the text of an attribute, as Go prints it; undefined if it is empty, 0, or no text or number. */
function textOf(value: Value): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "number" || value === 0) return undefined;
  if (!Number.isFinite(value)) return notFiniteText(value);
  if (Math.abs(value) >= 1e-4) return String(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

const NUMBER = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const INFINITE = /^([+-]?)inf(inity)?$/i;

/** The value as a number; 0 for a text that is not a number. */
function numberOf(value: Value): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "string") return 0;
  if (NUMBER.test(value)) return Number(value);
  const [, sign] = INFINITE.exec(value) ?? [];
  if (sign !== undefined) return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  return /^nan$/i.test(value) ? Number.NaN : 0;
}
