import {
  after,
  decodeMessage,
  encodedKey,
  findAttribute,
  findField,
  fixed32,
  MESSAGES,
  POINT_ATTRIBUTES_TAGS,
  RecentTexts,
  varint,
} from "#otlp/bytes";
import { DATA_POINT_TIME_TAG } from "#otlp/metric-tags";
import {
  LOG_ATTRIBUTES_TAG,
  LOG_TIME_TAG,
  OWNER_TAG,
  RESOURCE_ATTRIBUTES_TAG,
  SCOPE_ATTRIBUTES_TAG,
  SPAN_ATTRIBUTES_TAG,
  SPAN_END_TIME_TAG,
  SPAN_EVENT_ATTRIBUTES_TAG,
  SPAN_EVENT_TIME_TAG,
  SPAN_START_TIME_TAG,
} from "#otlp/tags";
import { KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { CONTEXT_SHAPES, type Condition, ConditionSet, type ContextName, type OnOttlError } from "#ottl";
import type { Batch, Tree } from "../../plugin.js";

/**
 * Counts records for which any of the conditions holds (all records if there are none), by the values of these
 * attributes.
 */
export interface CountSpec {
  readonly conditions: readonly Condition[];
  /**
   * Attributes are looked for in the record, its scope and its resource. A record without one of them is not counted,
   * unless the attribute has a fallback.
   */
  readonly attributes: readonly { readonly key: string; readonly fallback: Tree | undefined }[];
}

/** The count for one specification and one set of attribute values. */
interface MatchCount {
  /** Index of the specification. */
  readonly spec: number;
  /** KeyValues, in the order of the specification. */
  readonly attributes: readonly Tree[];
  count: number;
}

/** The counts of one resource. */
export interface ResourceCounts {
  /** The Resource message. */
  readonly resource: Tree;
  readonly counts: readonly MatchCount[];
  /** The earliest and the latest time of its records; 0 if none of them has a time. */
  readonly earliest: bigint;
  readonly latest: bigint;
}

/**
 * Counts the records of a context by resource. The result has one element per resource of the batch; elements without
 * counts are undefined.
 */
export function countWhere(
  batch: Batch,
  context: ContextName,
  specs: readonly CountSpec[],
  onError?: OnOttlError,
): (ResourceCounts | undefined)[] {
  const tallier = new CountingVisitor(batch.bytes, context, specs, onError);
  const walk = new RecordWalk(batch, CONTEXT_SHAPES[context]);
  walk.run(tallier);
  const result = new Array<ResourceCounts | undefined>(walk.serials[0]!).fill(undefined);
  for (const [at, { counts, resource, span }] of tallier.found) {
    const { earliest, latest } = span;
    if (counts.length > 0) result[at] = { resource, counts, earliest, latest };
  }
  return result;
}

/** A message in the bytes. */
interface MessageRange {
  readonly start: number;
  readonly end: number;
}

/** Tags of the attributes of a record. Data points have theirs under other tags, depending on the type of metric. */
const ATTRIBUTES_TAGS: Readonly<Partial<Record<ContextName, number>>> = {
  log: LOG_ATTRIBUTES_TAG,
  span: SPAN_ATTRIBUTES_TAG,
  spanevent: SPAN_EVENT_ATTRIBUTES_TAG,
};
/** Tags of the times of a record. Data points of all kinds share theirs. */
const TIME_TAGS: Readonly<Partial<Record<ContextName, readonly number[]>>> = {
  log: [LOG_TIME_TAG],
  span: [SPAN_START_TIME_TAG, SPAN_END_TIME_TAG],
  spanevent: [SPAN_EVENT_TIME_TAG],
  datapoint: [DATA_POINT_TIME_TAG],
};

/** State while counting one resource. */
interface ResourceCounter {
  readonly resource: Tree;
  readonly counts: MatchCount[];
  /** The counts by specification, and then by attribute values. */
  readonly bySpec: readonly Map<string, MatchCount>[];
  readonly span: TimeRange;
}

class CountingVisitor implements RecordVisitor {
  readonly found = new Map<number, ResourceCounter>();
  private readonly context: ContextName;
  private readonly specs: readonly CountSpec[];
  private readonly conditions: readonly (ConditionSet | undefined)[];
  private readonly times: readonly number[];
  /** For each specification, the keys of its attributes in UTF-8. */
  private readonly keys: readonly (readonly Uint8Array[])[];
  private readonly attributesTag: number;
  private readonly texts: RecentTexts;

  constructor(bytes: Uint8Array, context: ContextName, specs: readonly CountSpec[], onError: OnOttlError | undefined) {
    this.texts = new RecentTexts(bytes);
    this.context = context;
    this.specs = specs;
    this.conditions = specs.map(({ conditions }) =>
      conditions.length === 0 ? undefined : new ConditionSet(conditions, onError),
    );
    this.times = TIME_TAGS[context] ?? [];
    this.keys = specs.map(({ attributes }) => attributes.map(({ key }) => encodedKey(key)));
    this.attributesTag = ATTRIBUTES_TAGS[context] ?? 0;
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    const found = this.resourceOf(walk);
    for (const tag of this.times) {
      const at = findField(walk.bytes, start, end, tag);
      if (at >= 0) found.span.add(walk.bytes, at);
    }
    for (let i = 0; i < this.specs.length; i++) this.count(i, found, walk, start, end);
    return KEEP;
  }

  private count(spec: number, { counts, bySpec }: ResourceCounter, walk: RecordWalk, start: number, end: number): void {
    const { attributes } = this.specs[spec]!;
    const found = attributes.length === 0 ? NO_ATTRIBUTES : this.values(spec, walk, start, end);
    if (found === undefined || this.conditions[spec]?.any(walk, start, end) === false) return;
    const key = found.length === 0 ? "" : attributesKey(found, this.texts);
    const same = bySpec[spec]!.get(key);
    if (same !== undefined) {
      same.count++;
      return;
    }
    const one = { spec, attributes: found.map((value, i) => decoded(value, attributes[i]!, walk)), count: 1 };
    bySpec[spec]!.set(key, one);
    counts.push(one);
  }

  /**
   * Returns the KeyValues of the attributes, with null for a fallback. Returns undefined if an attribute is missing.
   */
  private values(spec: number, walk: RecordWalk, start: number, end: number): (MessageRange | null)[] | undefined {
    const { bytes } = walk;
    const { attributes } = this.specs[spec]!;
    const tag = this.context === "datapoint" ? POINT_ATTRIBUTES_TAGS[walk.frames[3]!.tag]! : this.attributesTag;
    const values: (MessageRange | null)[] = [];
    for (let i = 0; i < attributes.length; i++) {
      const key = this.keys[spec]![i]!;
      const value = keyValue(bytes, start, end, tag, key) ?? inScopeOrResource(walk, key);
      if (value === undefined && attributes[i]!.fallback === undefined) return undefined;
      values.push(value ?? null);
    }
    return values;
  }

  private resourceOf(walk: RecordWalk) {
    const at = walk.serials[0]! - 1;
    let found = this.found.get(at);
    if (found === undefined) {
      const { start, end } = ownerIn(walk, 0);
      const resource = decodeMessage(MESSAGES["Resource"]!, walk.bytes, start, end);
      found = { resource, counts: [], bySpec: this.specs.map(() => new Map()), span: new TimeRange() };
      this.found.set(at, found);
    }
    return found;
  }
}

const NO_ATTRIBUTES: readonly (MessageRange | null)[] = [];

/** Returns the resource or scope of the frame at this depth. */
function ownerIn({ bytes, frames }: RecordWalk, depth: number): MessageRange {
  const { start, end } = frames[depth]!;
  const at = findField(bytes, start, end, OWNER_TAG);
  if (at < 0) return { start, end: start };
  const size = varint(bytes, at);
  return { start: after, end: after + size };
}

function inScopeOrResource(walk: RecordWalk, key: Uint8Array): MessageRange | undefined {
  const scope = ownerIn(walk, 1);
  const resource = ownerIn(walk, 0);
  return (
    keyValue(walk.bytes, scope.start, scope.end, SCOPE_ATTRIBUTES_TAG, key) ??
    keyValue(walk.bytes, resource.start, resource.end, RESOURCE_ATTRIBUTES_TAG, key)
  );
}

function keyValue(b: Uint8Array, start: number, end: number, tag: number, key: Uint8Array): MessageRange | undefined {
  const at = findAttribute(b, start, end, tag, key);
  if (at < 0) return undefined;
  const size = varint(b, at);
  return { start: after, end: after + size };
}

/** Returns the same text for attributes with the same bytes. A KeyValue never begins with a zero. */
function attributesKey(values: readonly (MessageRange | null)[], texts: RecentTexts): string {
  const [only] = values;
  if (values.length === 1) return only == null ? "\0" : texts.get(only.start, only.end);
  let key = "";
  for (const value of values) {
    const text = value === null ? "\0" : texts.get(value.start, value.end);
    key += `${text.length} ${text}`;
  }
  return key;
}

function decoded(
  value: MessageRange | null,
  { key, fallback }: CountSpec["attributes"][number],
  { bytes }: RecordWalk,
): Tree {
  if (value === null) return { key, value: fallback! };
  return decodeMessage(MESSAGES["KeyValue"]!, bytes, value.start, value.end);
}

/** Compares 64-bit times by halves, because making a bigint for each would cost more than everything else here. */
class TimeRange {
  private first: [high: number, low: number] | undefined;
  private last: [high: number, low: number] | undefined;

  add(b: Uint8Array, at: number): void {
    const low = fixed32(b, at);
    const high = fixed32(b, at + 4);
    if (low === 0 && high === 0) return;
    if (this.first === undefined || isLess(high, low, this.first)) this.first = [high, low];
    if (this.last === undefined || isLess(this.last[0], this.last[1], [high, low])) this.last = [high, low];
  }

  get earliest(): bigint {
    return toBigInt(this.first);
  }

  get latest(): bigint {
    return toBigInt(this.last);
  }
}

function isLess(high: number, low: number, than: readonly [high: number, low: number]): boolean {
  return high < than[0] || (high === than[0] && low < than[1]);
}

function toBigInt(time: readonly [high: number, low: number] | undefined): bigint {
  return time === undefined ? 0n : (BigInt(time[0]) << 32n) | BigInt(time[1]);
}
