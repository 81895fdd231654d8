import { after, anyValueAt, anyValueEnd, encodedKey, findAttribute, varint } from "#otlp/bytes";
import {
  ARRAY_VALUE_TAG,
  BOOL_VALUE_TAG,
  BYTES_VALUE_TAG,
  DOUBLE_VALUE_TAG,
  INT_VALUE_TAG,
  KVLIST_VALUE_TAG,
  STRING_VALUE_TAG,
} from "#otlp/tags";
import type { PathAccess } from "../paths/path-access.js";
import type { RecordContext } from "../paths/record-context.js";
import type { AstNode, CallNode, PathNode } from "../syntax/ast.js";
import { type Comparison, compare } from "../values/compare.js";
import { isNil, type OttlValue } from "../values/value.js";
import { readOttlValue } from "../values/wire-value.js";

/** A compiled condition. */
export type Predicate = (ctx: RecordContext) => boolean;

export const ALWAYS: Predicate = () => true;
export const NEVER: Predicate = () => false;

export function negated(test: Predicate): Predicate {
  if (test === ALWAYS) return NEVER;
  return test === NEVER ? ALWAYS : (ctx) => !test(ctx);
}

/** A part known at compile time decides, wherever it is: no other part is then evaluated, and none can fail. */
export function allOf(all: readonly Predicate[]): Predicate {
  if (all.includes(NEVER)) return NEVER;
  const tests = all.filter((test) => test !== ALWAYS);
  if (tests.length < 2) return tests[0] ?? ALWAYS;
  return (ctx) => {
    for (let i = 0; i < tests.length; i++) if (!tests[i]!(ctx)) return false;
    return true;
  };
}

export function anyOf(all: readonly Predicate[]): Predicate {
  if (all.includes(ALWAYS)) return ALWAYS;
  const tests = all.filter((test) => test !== NEVER);
  if (tests.length < 2) return tests[0] ?? NEVER;
  return (ctx) => {
    for (let i = 0; i < tests.length; i++) if (tests[i]!(ctx)) return true;
    return false;
  };
}

/**
 * Handles `ContainsValue(Keys(attributes), "key")`: whether there is such an attribute, even one without a value,
 * without listing all keys. Returns undefined for every other call.
 */
export function keyTest(call: CallNode, accessOf: (path: PathNode) => PathAccess): Predicate | undefined {
  const [list, value] = plainArguments(call, "ContainsValue", 2);
  const [path] = list?.kind === "call" ? plainArguments(list, "Keys", 1) : [];
  if (path?.kind !== "path" || value?.kind !== "literal" || typeof value.value !== "string") return undefined;
  const select = accessOf(path).attributes;
  if (select === undefined) return undefined;
  const key = value.value;
  const encoded = encodedKey(key);
  return (ctx) => select(ctx).hasAttribute(key, encoded);
}

/** The arguments of a call of this function with `count` positional arguments and no keys after it; otherwise none. */
function plainArguments({ name, keys, arguments: list }: CallNode, wanted: string, count: number): readonly AstNode[] {
  const isMatch = name === wanted && keys.length === 0 && list.length === count && list.every((one) => !one.name);
  return isMatch ? list.map(({ value }) => value) : [];
}

/**
 * Tests whether one attribute is or is not a given text or nil by comparing bytes, without decoding. Returns undefined
 * for every other comparison.
 */
export function attributeTest(
  { select, key, encoded }: NonNullable<PathAccess["attribute"]>,
  operator: Comparison,
  value: OttlValue,
): Predicate | undefined {
  if ((operator !== "==" && operator !== "!=") || (typeof value !== "string" && value !== null)) return undefined;
  const text = Buffer.from(value ?? "", "utf8");
  const isEqual = operator === "==";
  return (ctx) => {
    const message = select(ctx);
    if (message.edits !== undefined) return compare(message.attribute(key, encoded), value, operator);
    const { bytes } = message;
    const at = findAttribute(bytes, message.start, message.end, message.attributesTag, encoded);
    const start = at < 0 ? -1 : anyValueAt(bytes, at);
    if (start < 0) return (value === null) === isEqual;
    return (
      (value === null
        ? isEncodedNil(bytes, start, anyValueEnd)
        : isEncodedText(bytes, start, anyValueEnd, value, text)) === isEqual
    );
  };
}

/**
 * Whether the AnyValue in [start, end) is this text. `encoded` is the text in UTF-8. The usual form is compared in
 * place.
 */
export function isEncodedText(b: Uint8Array, start: number, end: number, text: string, encoded: Uint8Array): boolean {
  if (start >= end) return false;
  const tag = b[start]!;
  if (tag !== STRING_VALUE_TAG) return !isValueTag(tag) && readOttlValue(b, start, end) === text;
  let size = b[start + 1]!;
  let p = start + 2;
  if (size > 127) {
    size = varint(b, start + 1);
    p = after;
  }
  if (size !== encoded.length) return false;
  for (let i = 0; i < size; i++) if (b[p + i] !== encoded[i]) return false;
  return true;
}

/** Whether the AnyValue in [start, end) is nil: empty, or empty bytes. */
function isEncodedNil(b: Uint8Array, start: number, end: number): boolean {
  if (start >= end) return true;
  const tag = b[start]!;
  if (tag !== BYTES_VALUE_TAG && isValueTag(tag)) return false;
  const value = readOttlValue(b, start, end);
  return isNil(value);
}

/** Whether the byte is a value's one-byte tag. Other tags are unknown or longer than necessary. */
function isValueTag(tag: number): boolean {
  return (
    tag === STRING_VALUE_TAG ||
    tag === INT_VALUE_TAG ||
    tag === BOOL_VALUE_TAG ||
    tag === DOUBLE_VALUE_TAG ||
    tag === ARRAY_VALUE_TAG ||
    tag === KVLIST_VALUE_TAG ||
    tag === BYTES_VALUE_TAG
  );
}
