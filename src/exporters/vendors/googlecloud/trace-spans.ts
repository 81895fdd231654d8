import { decodeMessage, MESSAGES } from "#otlp/bytes";
import { type KeyValueTree, type PlainAttributes, plainAttributes, plainObject, plainValueText } from "#otlp/json";
import { SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Tree } from "../../../plugin.js";
import { VendorSpanFields, VendorStatusFields } from "../record-fields.generated.js";
import type { GoogleCloudConfig } from "./config.js";

/** Cloud Trace takes 32 attributes of a span, 32 events, and 256 bytes of a value. */
const MAX_ATTRIBUTES = 32;
const MAX_EVENTS = 32;
const KINDS = ["SPAN_KIND_UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const ERROR = 2;
/** The code UNKNOWN of google.rpc.Code. */
const UNKNOWN = 2;

/** Returns a span of traces.batchWrite of Cloud Trace. */
export function googleSpan(
  b: Uint8Array,
  start: number,
  end: number,
  resource: PlainAttributes,
  project: string,
  { trace }: GoogleCloudConfig,
): Readonly<Record<string, unknown>> {
  span.read(b, start, end);
  status.read(b, span.statusStart, span.statusEnd);
  const hex = (from: number, to: number) => Buffer.prototype.hexSlice.call(b, from, to);
  const text = (from: number, to: number) => Buffer.prototype.utf8Slice.call(b, from, to);
  const [traceId, spanId, parentId] = [
    hex(span.traceStart, span.traceEnd),
    hex(span.spanStart, span.spanEnd),
    hex(span.parentStart, span.parentEnd),
  ];
  const own = plainAttributes(b, start, end, SPAN_ATTRIBUTES_TAG);
  const renamed = new Map((trace.attribute_mappings ?? []).map(({ key, replacement }) => [key, replacement]));
  return {
    name: `projects/${project}/traces/${traceId}/spans/${spanId}`,
    spanId,
    ...(parentId !== "" && { parentSpanId: parentId }),
    displayName: { value: text(span.nameStart, span.nameEnd) },
    startTime: isoTime(b, span.startAt),
    endTime: isoTime(b, span.endAt),
    attributes: attributesOf({ ...own, ...resource }, renamed),
    spanKind: KINDS[span.kind] ?? KINDS[0],
    ...(status.code === ERROR && {
      status: { code: UNKNOWN, message: text(status.messageStart, status.messageEnd) },
    }),
    ...(span.hasEvents && { timeEvents: timeEvents(b, start, end) }),
  };
}

const span = new VendorSpanFields();
const status = new VendorStatusFields();

function attributesOf(attributes: PlainAttributes, renamed: ReadonlyMap<string, string> = new Map()) {
  const entries = Object.entries(attributes);
  const attributeMap = Object.fromEntries(
    entries.slice(0, MAX_ATTRIBUTES).map(([key, value]) => [renamed.get(key) ?? key, traceValue(value)]),
  );
  const dropped = Math.max(0, entries.length - MAX_ATTRIBUTES);
  return { attributeMap, ...(dropped > 0 && { droppedAttributesCount: dropped }) };
}

function traceValue(value: unknown): object {
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value)))
    return { intValue: String(value) };
  return { stringValue: { value: plainValueText(value) } };
}

function timeEvents(b: Uint8Array, start: number, end: number): object {
  const { events = [] } = decodeMessage(MESSAGES["Span"]!, b, start, end) as { events?: readonly Tree[] };
  const timeEvent = events.slice(0, MAX_EVENTS).map((event) => ({
    time: isoNanos((event["timeUnixNano"] as bigint | undefined) ?? 0n),
    annotation: {
      description: { value: plainValueText(event["name"]) },
      attributes: attributesOf(plainObject(event["attributes"] as unknown as KeyValueTree[])),
    },
  }));
  return { timeEvent, droppedAnnotationsCount: Math.max(0, events.length - MAX_EVENTS) };
}

function isoTime(b: Uint8Array, at: number): string {
  return isoNanos(at < 0 ? 0n : new DataView(b.buffer, b.byteOffset + at, 8).getBigUint64(0, true));
}

function isoNanos(nanos: bigint): string {
  const seconds = Math.min(Number(nanos / 1_000_000_000n), MAX_SECONDS);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(nanos % 1_000_000_000n).padStart(9, "0")}Z`;
}

/** The end of the year 9999, beyond which the API has no times. */
const MAX_SECONDS = 253_402_300_799;
