import { bodyEnd, fieldTag, nextBody, stepOver, valueAt, varint } from "#otlp/bytes";
import { SPAN_STATUS_TAG, STATUS_CODE_TAG } from "#otlp/tags";
import { anyMatches, type Condition, type ErrorMode, errorHandler } from "#ottl";
import { type AnyRecordView, type Batch, readRecords, type SpanView, type Value } from "../../../plugin.js";
import type { CreatePolicy, Evaluate, SpanTest } from "./policy.js";

/** Policies that read spans and their resources. */

function readSpans(batch: Batch, read: (span: SpanView) => void): void {
  readRecords(batch, (record: AnyRecordView) => {
    if (record.signal === "traces") read(record);
  });
}

function anySpan(batch: Batch, holds: (span: SpanView) => boolean): boolean {
  let found = false;
  readSpans(batch, (span) => {
    found ||= holds(span);
  });
  return found;
}

/**
 * Wants traces that take longer than `over` and no longer than `upTo` ms (0: no upper limit), from the first start to
 * the last end.
 */
export function latencyPolicy(over: number, upTo: number): Evaluate {
  return ({ batch }) => {
    let first = 0n;
    let last = 0n;
    readSpans(batch, ({ startTimeUnixNano: start, endTimeUnixNano: end }) => {
      if (first === 0n || start < first) first = start;
      if (end > last) last = end;
    });
    const ms = (last - first) / 1_000_000n;
    return ms > BigInt(over) && (upTo === 0 || ms <= BigInt(upTo));
  };
}

export function statusCodePolicy(codes: ReadonlySet<number>): Evaluate {
  const hasCode: SpanTest = (b, start, end) => codes.has(statusCode(b, start, end));
  return (trace) => trace.anySpan(hasCode);
}

function statusCode(b: Uint8Array, start: number, end: number): number {
  const body = nextBody(b, start, end, SPAN_STATUS_TAG);
  const stop = bodyEnd;
  let code = 0;
  for (let p = body; p >= 0 && p < stop; ) {
    p = stepOver(b, p);
    if (fieldTag === STATUS_CODE_TAG) code = varint(b, valueAt); // of several the last one counts
  }
  return code;
}

export function traceFlagsPolicy(): Evaluate {
  return ({ batch }) => anySpan(batch, (span) => (span.flags & 1) !== 0);
}

export function traceStatePolicy(key: string, values: ReadonlySet<string>): Evaluate {
  return ({ batch }) =>
    anySpan(batch, (span) => {
      const member = span.traceState.split(",").find((one) => one.trim().startsWith(`${key}=`));
      return member !== undefined && values.has(member.trim().slice(key.length + 1));
    });
}

/** Wants traces in which a span or its resource has such an attribute value or, if inverted, in which none has. */
export function attributePolicy(key: string, matches: (value: Value) => boolean, inverted: boolean): Evaluate {
  const has = (value: Value | undefined) => value !== undefined && matches(value);
  return ({ batch }) =>
    anySpan(batch, (span) => has(span.resource.attributes.get(key)) || has(span.attributes.get(key))) !== inverted;
}

/** Wants traces for which any condition holds for any span, or for any event of a span. */
export function ottlConditionPolicy(
  spans: readonly Condition[],
  events: readonly Condition[],
  mode: ErrorMode,
): CreatePolicy {
  return (context) => {
    const onError = errorHandler(mode, context);
    return ({ batch }) => anyMatches(batch, spans, onError) || anyMatches(batch, events, onError);
  };
}
