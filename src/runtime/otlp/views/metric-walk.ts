import {
  DATA_POINT_TAG,
  METRIC_DATA_TAGS,
  OWNER_TAG,
  RESOURCE_CONTAINER_TAG,
  SCHEMA_URL_TAG,
  SCOPE_CONTAINER_TAG,
  SCOPE_ITEM_TAG,
} from "../bytes/tags.js";
import { after, findField, skip, varint } from "../bytes/wire.js";

/**
 * Called by a walk over the points of a metrics batch, in order. Ranges are message bodies in the bytes; an empty range
 * is a missing message.
 */
export interface MetricVisitor {
  resource(b: Uint8Array, start: number, end: number): void;
  /** The scope, and the text of its schema URL. */
  scope(b: Uint8Array, start: number, end: number, urlStart: number, urlEnd: number): void;
  /** A metric, and the position of its data. */
  metric(b: Uint8Array, start: number, end: number, data: MetricData): void;
  point(b: Uint8Array, start: number, end: number): void;
  /** Called after all points of the resource. */
  resourceEnd?(): void;
}

/** The data of a metric: the tag tells its kind, and `at` is the tag's position. */
export interface MetricData {
  readonly tag: number;
  readonly at: number;
  readonly start: number;
  readonly end: number;
}

/** Walks over the points of a metrics request, with their owners. */
export function walkMetrics(b: Uint8Array, visitor: MetricVisitor): void {
  for (let p = 0; p < b.length; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== RESOURCE_CONTAINER_TAG) continue;
    varint(b, at);
    walkResource(b, after, p, visitor);
  }
}

function walkResource(b: Uint8Array, start: number, end: number, visitor: MetricVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  visitor.resource(b, ownerStart, ownerEnd);
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== SCOPE_CONTAINER_TAG) continue;
    varint(b, at);
    walkScope(b, after, p, visitor);
  }
  visitor.resourceEnd?.();
}

function walkScope(b: Uint8Array, start: number, end: number, visitor: MetricVisitor): void {
  const [ownerStart, ownerEnd] = message(b, start, end, OWNER_TAG);
  const [urlStart, urlEnd] = message(b, start, end, SCHEMA_URL_TAG);
  visitor.scope(b, ownerStart, ownerEnd, urlStart, urlEnd);
  for (let p = start; p < end; ) {
    const tag = varint(b, p);
    const at = after;
    p = skip(b, at, tag);
    if (tag !== SCOPE_ITEM_TAG) continue;
    varint(b, at);
    walkMetric(b, after, p, visitor);
  }
}

function walkMetric(b: Uint8Array, start: number, end: number, visitor: MetricVisitor): void {
  for (let p = start; p < end; ) {
    const at = p;
    const tag = varint(b, p);
    const lengthAt = after;
    p = skip(b, lengthAt, tag);
    if (!METRIC_DATA_TAGS.includes(tag)) continue;
    varint(b, lengthAt);
    const dataStart = after;
    visitor.metric(b, start, end, { tag, at, start: dataStart, end: p });
    walkPoints(b, dataStart, p, visitor);
  }
}

function walkPoints(b: Uint8Array, p: number, end: number, visitor: MetricVisitor): void {
  while (p < end) {
    let tag = b[p++]!;
    if (tag > 127) {
      tag = varint(b, p - 1);
      p = after;
    }
    if (tag !== DATA_POINT_TAG) {
      p = skip(b, p, tag);
      continue;
    }
    let size = b[p++]!;
    if (size > 127) {
      size = varint(b, p - 1);
      p = after;
    }
    visitor.point(b, p, p + size);
    p += size;
  }
}

/** The body of the first field with this tag; [start, start) if there is none. */
export function message(b: Uint8Array, start: number, end: number, tag: number): [start: number, end: number] {
  const at = findField(b, start, end, tag);
  if (at < 0) return [start, start];
  const size = varint(b, at);
  return [after, after + size];
}
