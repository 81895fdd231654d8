import {
  after,
  encodedKey,
  fieldTag,
  findAttribute,
  hasKey,
  message,
  readValue,
  stepOver,
  type Value,
  valueAt,
  valueText,
  varint,
  WireWriter,
} from "#otlp/bytes";
import { ELEMENT_TAG, KVLIST_VALUE_TAG, LOG_ATTRIBUTES_TAG, LOG_BODY_TAG, VALUE_TAG } from "#otlp/tags";

/** A field of a log record, such as `body.user.id`. */
export interface FieldPath {
  readonly in: "body" | "attributes";
  /** Names from the outside in; none for all attributes. */
  readonly keys: readonly Uint8Array[];
}

/** Reads a field as it is configured: `\.` is a dot in a name. */
export function parseField(text: string): FieldPath {
  const [first, ...names] = text.split(/(?<!\\)\./);
  const keys = names.map((name) => encodedKey(name.replaceAll("\\.", ".")));
  return { in: first === "body" ? "body" : "attributes", keys };
}

/** The value of a field in the record [start, end), as text; undefined if the record does not have the field. */
export function fieldText(b: Uint8Array, start: number, end: number, field: FieldPath): string | undefined {
  let [from, to] = field.in === "body" ? mapIn(b, ...message(b, start, end, LOG_BODY_TAG)) : [start, end];
  let tag = field.in === "body" ? ELEMENT_TAG : LOG_ATTRIBUTES_TAG;
  for (const [depth, key] of field.keys.entries()) {
    const at = findAttribute(b, from, to, tag, key);
    if (at < 0) return undefined;
    const size = varint(b, at);
    const body = after;
    const [valueStart, valueEnd] = message(b, body, body + size, VALUE_TAG);
    if (depth === field.keys.length - 1) return textOf(readValue(b, valueStart, valueEnd));
    [from, to] = mapIn(b, valueStart, valueEnd);
    tag = ELEMENT_TAG;
  }
  return undefined;
}

/** The map in the AnyValue [start, end); an empty range if the value is no map. */
function mapIn(b: Uint8Array, start: number, end: number): [number, number] {
  return message(b, start, end, KVLIST_VALUE_TAG);
}

function textOf(value: Value): string {
  if (value === null) return "";
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : valueText(value);
}

/** Copies records without some of their fields. */
export class FieldRemover {
  /** The last record. */
  readonly out = new WireWriter(1024);
  private readonly body: readonly FieldPath[];
  private readonly attributes: readonly FieldPath[];
  private readonly removesAllAttributes: boolean;

  constructor(fields: readonly FieldPath[]) {
    this.body = fields.filter((field) => field.in === "body");
    this.attributes = fields.filter((field) => field.in === "attributes");
    this.removesAllAttributes = this.attributes.some(({ keys }) => keys.length === 0);
  }

  remove(b: Uint8Array, start: number, end: number): void {
    const { out } = this;
    out.clear();
    for (let p = start; p < end; ) {
      const at = p;
      p = stepOver(b, p);
      if (fieldTag === LOG_ATTRIBUTES_TAG) this.copyEntry(b, at, p, this.attributes, 0);
      else if (fieldTag === LOG_BODY_TAG && this.body.length > 0) this.copyValue(b, at, p, this.body, 0);
      else out.copy(b, at, p);
    }
  }

  /** Copies the field [at, end) of a KeyValue; `depth` is the number of names that have led to its map. */
  private copyEntry(b: Uint8Array, at: number, end: number, fields: readonly FieldPath[], depth: number): void {
    if (depth === 0 && fields === this.attributes && this.removesAllAttributes) return;
    const body = bodyOf(b, at);
    const inner = fields.filter(({ keys }) => keys.length > depth && hasKey(b, body, end, keys[depth]!));
    if (inner.some(({ keys }) => keys.length === depth + 1)) return;
    if (inner.length === 0) return this.out.copy(b, at, end);
    this.copyMessage(b, at, end, VALUE_TAG, (from, to) => this.copyValue(b, from, to, inner, depth + 1));
  }

  /** Copies the field [at, end) of an AnyValue. */
  private copyValue(b: Uint8Array, at: number, end: number, fields: readonly FieldPath[], depth: number): void {
    this.copyMessage(b, at, end, KVLIST_VALUE_TAG, (mapAt, mapEnd) =>
      this.copyMessage(b, mapAt, mapEnd, ELEMENT_TAG, (from, to) => this.copyEntry(b, from, to, fields, depth)),
    );
  }

  /** Copies the field [at, end) of a message, but leaves the fields with this tag in it to `copyInner`. */
  private copyMessage(
    b: Uint8Array,
    at: number,
    end: number,
    tag: number,
    copyInner: (at: number, end: number) => void,
  ): void {
    const { out } = this;
    const body = bodyOf(b, at);
    out.byte(b[at]!);
    out.begin(end - body);
    for (let p = body; p < end; ) {
      const from = p;
      p = stepOver(b, p);
      if (fieldTag === tag) copyInner(from, p);
      else out.copy(b, from, p);
    }
    out.end();
  }
}

/** Where the body of the length-delimited field at this position starts. */
function bodyOf(b: Uint8Array, at: number): number {
  stepOver(b, at);
  varint(b, valueAt);
  return after;
}
