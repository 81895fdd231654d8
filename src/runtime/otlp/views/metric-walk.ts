import { DATA_POINT_TAG, METRIC_DATA_TAGS } from "../bytes/metric-tags.generated.js";
import { SCHEMA_URL_TAG } from "../bytes/tags.generated.js";
import { after, bodyEnd, fieldTag, message, nextBody, stepOver, valueAt, varint } from "../bytes/wire.js";
import { walkOwnedRecords } from "./walk-owned-records.js";

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
  walkOwnedRecords(b, {
    resource: (start, end) => visitor.resource(b, start, end),
    scope(start, end, containerStart, containerEnd) {
      const [urlStart, urlEnd] = message(b, containerStart, containerEnd, SCHEMA_URL_TAG);
      visitor.scope(b, start, end, urlStart, urlEnd);
    },
    record: (start, end) => walkMetric(b, start, end, visitor),
    resourceEnd: () => visitor.resourceEnd?.(),
  });
}

function walkMetric(b: Uint8Array, start: number, end: number, visitor: MetricVisitor): void {
  for (let p = start; p < end; ) {
    const at = p;
    p = stepOver(b, p);
    const tag = fieldTag;
    if (!METRIC_DATA_TAGS.includes(tag)) continue;
    varint(b, valueAt);
    const dataStart = after;
    visitor.metric(b, start, end, { tag, at, start: dataStart, end: p });
    walkPoints(b, dataStart, p, visitor);
  }
}

function walkPoints(b: Uint8Array, start: number, end: number, visitor: MetricVisitor): void {
  for (let p = start; (p = nextBody(b, p, end, DATA_POINT_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    visitor.point(b, body, p);
  }
}
