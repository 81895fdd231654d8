import {
  after,
  bodyEnd,
  fieldAt,
  fieldTag,
  findField,
  lengthAt,
  nextBody,
  type Rewriter,
  readKey,
  readValue,
  stepOver,
  valueAt,
  varint,
} from "#otlp/bytes";
import { ARRAY_VALUE_TAG, ELEMENT_TAG, KVLIST_VALUE_TAG, STRING_VALUE_TAG, VALUE_TAG } from "#otlp/tags";
import type { Value } from "../../../plugin.js";
import type { MaskedBytes } from "./byte-masker.js";

/**
 * The decision about a value: put a text in its place, keep it, remove it with its key, or visit the values inside it.
 */
export type ValueVerdict = { readonly put: string } | MaskedBytes | "keep" | "remove" | "inside";

/** Decides about values. `path` consists of keys and `[index]`, separated by dots. */
export interface ValueVisitor {
  /** Decides about a member of a map. */
  member(path: string, key: string, read: () => Value): ValueVerdict;
  /**
   * Decides about a value that is neither a map nor a list. Returns the text to put in its place, or undefined to keep
   * it.
   */
  leaf(path: string, value: Value): string | undefined;
}

/**
 * Changes the attribute whose tag is at `at`, a KeyValue [start, end), as decided. "inside" leaves it unchanged.
 */
export function rewriteAttribute(
  rewriter: Rewriter,
  at: number,
  lengthAt: number,
  start: number,
  end: number,
  verdict: ValueVerdict,
): void {
  if (verdict === "keep" || verdict === "inside") return;
  if (verdict === "remove") return rewriter.remove(at, end);
  const b = rewriter.bytes;
  const valueAt = findField(b, start, end, VALUE_TAG);
  if (valueAt < 0) return;
  const size = varint(b, valueAt);
  const valueStart = after;
  const outStart = rewriter.outputPosition(start);
  const outValue = rewriter.outputPosition(valueStart);
  if ("put" in verdict) putText(rewriter, valueStart, valueStart + size, verdict.put);
  else putBytes(rewriter, valueStart, valueStart + size, verdict);
  rewriter.closeMessage(valueStart, valueStart + size, outValue, valueStart - valueAt);
  rewriter.closeMessage(start, end, outStart, start - lengthAt);
}

/** Puts a masked text in the place of the AnyValue [start, end) whose length is at `lengthAt`. */
export function rewriteText(rewriter: Rewriter, lengthAt: number, start: number, end: number, text: MaskedBytes): void {
  const outStart = rewriter.outputPosition(start);
  putBytes(rewriter, start, end, text);
  rewriter.closeMessage(start, end, outStart, start - lengthAt);
}

/** Changes values in the AnyValue [start, end) whose length is at `lengthAt`. */
export function rewriteValue(
  rewriter: Rewriter,
  lengthAt: number,
  start: number,
  end: number,
  visitor: ValueVisitor,
  path = "",
): void {
  const b = rewriter.bytes;
  const outStart = rewriter.outputPosition(start);
  for (let p = start; p < end; ) {
    const next = stepOver(b, p);
    const tag = fieldTag;
    const at = valueAt;
    if (tag === ARRAY_VALUE_TAG || tag === KVLIST_VALUE_TAG) {
      varint(b, at);
      const inner = after;
      const outInner = rewriter.outputPosition(inner);
      rewriteElements(rewriter, tag, inner, next, visitor, path);
      rewriter.closeMessage(inner, next, outInner, inner - at);
    }
    p = next;
  }
  if (b[start] !== ARRAY_VALUE_TAG && b[start] !== KVLIST_VALUE_TAG) {
    const text = visitor.leaf(path, readValue(b, start, end));
    if (text !== undefined) putText(rewriter, start, end, text);
  }
  rewriter.closeMessage(start, end, outStart, start - lengthAt);
}

function rewriteElements(
  rewriter: Rewriter,
  containerTag: number,
  p: number,
  end: number,
  visitor: ValueVisitor,
  path: string,
): void {
  const b = rewriter.bytes;
  let index = 0;
  while ((p = nextBody(b, p, end, ELEMENT_TAG)) >= 0) {
    const at = fieldAt;
    const elementAt = lengthAt;
    const start = p;
    p = bodyEnd;
    if (containerTag === ARRAY_VALUE_TAG)
      rewriteValue(rewriter, elementAt, start, p, visitor, joinPath(path, `[${index++}]`));
    else rewriteMember(rewriter, at, elementAt, start, p, visitor, path);
  }
}

/** Changes a member of the map at `path`. */
function rewriteMember(
  rewriter: Rewriter,
  at: number,
  lengthAt: number,
  start: number,
  end: number,
  visitor: ValueVisitor,
  path: string,
): void {
  const b = rewriter.bytes;
  const key = readKey(b, start, end);
  const memberPath = joinPath(path, key);
  const verdict = visitor.member(memberPath, key, () => keyValue(b, start, end));
  if (verdict !== "inside") return rewriteAttribute(rewriter, at, lengthAt, start, end, verdict);
  const valueAt = findField(b, start, end, VALUE_TAG);
  if (valueAt < 0) return;
  const size = varint(b, valueAt);
  const valueStart = after;
  const outStart = rewriter.outputPosition(start);
  rewriteValue(rewriter, valueAt, valueStart, valueStart + size, visitor, memberPath);
  rewriter.closeMessage(start, end, outStart, start - lengthAt);
}

/** The value of the KeyValue [start, end); null if it has none. */
export function keyValue(b: Uint8Array, start: number, end: number): Value {
  const valueAt = findField(b, start, end, VALUE_TAG);
  if (valueAt < 0) return null;
  const size = varint(b, valueAt);
  return readValue(b, after, after + size);
}

/** Puts a text in the place of the AnyValue [start, end). */
function putText(rewriter: Rewriter, start: number, end: number, text: string): void {
  const out = rewriter.copyTo(start);
  out.byte(STRING_VALUE_TAG);
  out.text(text);
  rewriter.skipTo(end);
}

function putBytes(rewriter: Rewriter, start: number, end: number, { view, length }: MaskedBytes): void {
  const out = rewriter.copyTo(start);
  out.byte(STRING_VALUE_TAG);
  out.varint(length);
  out.copyView(view, 0, length);
  rewriter.skipTo(end);
}

function joinPath(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
