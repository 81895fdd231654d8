import { createHash } from "node:crypto";
import { deadLetterOf } from "#contract/operations";
import { eachPoint, type KeyValueTree, type PlacedRecord, placedRecords, plainObject, plainValue } from "#otlp/json";
import { SPAN_KINDS, STATUS_CODES } from "#otlp/signals";
import { type Batch, batchToJson } from "../../plugin.js";

/** The facts about a record, as plain JSON. Templates use these names. */
export interface AlertFacts {
  readonly signal: string;
  /** The name of the event, span or metric; empty if it has none. */
  readonly name: string;
  readonly body: unknown;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly service: string;
  /** The severity text of the record. */
  readonly severity: string;
  readonly severity_number: number;
  /** ISO 8601; null if the record has no time. */
  readonly time: string | null;
  readonly trace_id: string;
  readonly span_id: string;
  /** For spans: kind, status (`unset`, `ok`, `error`), status message and exceptions. */
  readonly kind: string;
  readonly status: string;
  readonly status_message: string;
  readonly exceptions: readonly Readonly<Record<string, unknown>>[];
  /** The whole record in OTLP/JSON. */
  readonly record: unknown;
  /** The details of a forwarded dead letter; null for all other records. */
  readonly dead_letter: Readonly<Record<string, unknown>> | null;
}

/** Returns the facts of every record of a batch, in order; for metrics, of every data point. */
export function factsOf(batch: Batch): AlertFacts[] {
  const request = JSON.parse(batchToJson(batch)) as Readonly<Record<string, unknown>>;
  const placed = placedRecords(batch.signal, request);
  const each = batch.signal === "metrics" ? placed.flatMap(eachPoint) : placed;
  return each.map((record) => factsOfRecord(batch.signal, record));
}

interface RecordJson {
  readonly name?: string;
  readonly eventName?: string;
  readonly body?: object;
  readonly attributes?: readonly KeyValueTree[];
  readonly severityText?: string;
  readonly severityNumber?: number;
  readonly timeUnixNano?: string;
  readonly observedTimeUnixNano?: string;
  readonly startTimeUnixNano?: string;
  readonly traceId?: string;
  readonly spanId?: string;
  readonly kind?: number;
  readonly status?: { readonly code?: number; readonly message?: string };
  readonly events?: readonly { readonly name?: string; readonly attributes?: readonly KeyValueTree[] }[];
}

function factsOfRecord(signal: string, placed: PlacedRecord): AlertFacts {
  const record = placed.record as RecordJson;
  const attributes = jsonObject(record.attributes);
  const resource = jsonObject((placed.resource as RecordJson).attributes);
  const events = record.events ?? [];
  return {
    signal,
    name: record.eventName ?? record.name ?? textOf(attributes["event.name"]),
    body: jsonValue(plainValue(record.body as never)),
    attributes,
    resource,
    scope: textOf(placed.scope["name"]),
    service: textOf(resource["service.name"]),
    severity: record.severityText ?? "",
    severity_number: record.severityNumber ?? 0,
    time: isoTime(record.timeUnixNano ?? record.observedTimeUnixNano ?? record.startTimeUnixNano),
    trace_id: record.traceId ?? "",
    span_id: record.spanId ?? "",
    kind: signal === "traces" ? (SPAN_KINDS[record.kind ?? 0] ?? "") : "",
    status: signal === "traces" ? (STATUS_CODES[record.status?.code ?? 0] ?? "") : "",
    status_message: record.status?.message ?? "",
    exceptions: events.filter(({ name }) => name === "exception").map((event) => jsonObject(event.attributes)),
    record: placed.record,
    dead_letter: deadLetterOf(resource) ?? null,
  };
}

function jsonObject(attributes: readonly KeyValueTree[] | undefined): Record<string, unknown> {
  return jsonValue(plainObject(attributes)) as Record<string, unknown>;
}

/** Integers beyond the range of JSON numbers become texts, as in OTLP/JSON. */
function jsonValue(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, jsonValue(each)]));
}

export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isoTime(nanos: string | undefined): string | null {
  const ms = nanos === undefined ? 0 : Number(BigInt(nanos) / 1_000_000n);
  return ms === 0 || ms > 8.64e15 ? null : new Date(ms).toISOString();
}

/**
 * Gives each request an id. The same record of the same entry always gets the same id, whatever else of that entry is
 * sent with it. The id is therefore made of the record's content and its number among equal records.
 */
export class RequestIds {
  private readonly key: string;
  /** By the id that the first of equal records has. */
  private readonly seen = new Map<string, number>();

  constructor(idempotencyKey = "") {
    this.key = idempotencyKey;
  }

  /** Returns 32 hex digits for content that is given in parts. */
  idOf(...content: readonly (string | Uint8Array)[]): string {
    const first = this.hashOf(content, 0);
    const earlier = this.seen.get(first) ?? 0;
    this.seen.set(first, earlier + 1);
    return earlier === 0 ? first : this.hashOf(content, earlier);
  }

  private hashOf(content: readonly (string | Uint8Array)[], earlier: number): string {
    const hash = createHash("sha256").update(`${this.key}\n${earlier}\n`);
    for (const part of content) hash.update(part);
    return hash.digest("hex").slice(0, 32);
  }
}
