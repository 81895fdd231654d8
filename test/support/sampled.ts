import { createHash } from "node:crypto";
import { type Batch, batchFromJson, type Delivery, readRecords } from "../../src/plugin.js";

/** Records for samplers, and what is left of them. */

export interface LogInput {
  readonly trace?: string;
  readonly severity?: number;
  readonly event?: string;
  readonly attributes?: Record<string, unknown>;
  readonly body?: unknown;
  readonly id?: string;
}

/** A trace id that looks random and is always the same for the same text. */
export function traceId(text: string | number): string {
  return createHash("md5").update(String(text)).digest("hex");
}

function encoded(value: unknown): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { kvlistValue: { values: attributesOf(value as Record<string, unknown>) } };
}

function attributesOf(attributes: Record<string, unknown>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: encoded(value) }));
}

export function logBatch(inputs: readonly LogInput[], resource: Record<string, unknown> = {}): Batch {
  const logRecords = inputs.map(({ trace, severity, event, attributes, body, id }) => ({
    ...(trace === undefined ? {} : { traceId: trace }),
    severityNumber: severity ?? 0,
    eventName: event ?? "",
    body: encoded(body ?? id ?? ""),
    attributes: attributesOf(attributes ?? {}),
  }));
  const resourceLogs = [{ resource: { attributes: attributesOf(resource) }, scopeLogs: [{ logRecords }] }];
  return batchFromJson("logs", JSON.stringify({ resourceLogs }));
}

export interface SpanInput {
  readonly trace: string;
  readonly span?: string;
  readonly parent?: string;
  readonly name?: string;
  readonly error?: boolean;
  readonly code?: number;
  readonly start?: bigint;
  readonly end?: bigint;
  readonly state?: string;
  readonly flags?: number;
  readonly attributes?: Record<string, unknown>;
  readonly events?: readonly { name: string; attributes?: Record<string, unknown> }[];
}

function spanJson(input: SpanInput): object {
  const { trace, span, parent, name, error, code, start, end, state, flags, attributes, events } = input;
  return {
    traceId: trace,
    spanId: span ?? "0102030405060708",
    parentSpanId: parent ?? "",
    name: name ?? "",
    startTimeUnixNano: String(start ?? 0n),
    endTimeUnixNano: String(end ?? 0n),
    traceState: state ?? "",
    flags: flags ?? 0,
    status: { code: code ?? (error ? 2 : 0) },
    attributes: attributesOf(attributes ?? {}),
    events: (events ?? []).map((event) => ({ name: event.name, attributes: attributesOf(event.attributes ?? {}) })),
  };
}

export function spanBatch(inputs: readonly SpanInput[], resource: Record<string, unknown> = {}): Batch {
  const scopeSpans = [{ scope: { name: "test" }, spans: inputs.map(spanJson) }];
  const resourceSpans = [{ resource: { attributes: attributesOf(resource) }, scopeSpans }];
  return batchFromJson("traces", JSON.stringify({ resourceSpans }));
}

export interface Kept {
  readonly trace: string;
  readonly name: string;
  readonly text: string;
  readonly rate: number | undefined;
}

const textOf = (body: unknown) => (typeof body === "object" ? "" : String(body));

export function keptIn(out: readonly Delivery[]): Kept[] {
  const kept: Kept[] = [];
  for (const { batch } of out) {
    readRecords(batch, (record) => {
      if (record.signal === "metrics") return;
      const rate = record.attributes.get("sampling.rate") as number | undefined;
      const text = record.signal === "logs" ? textOf(record.body) : record.spanId;
      kept.push({ trace: record.traceId, name: record.name, text, rate });
    });
  }
  return kept;
}

/** A small generator of numbers in [0, 1) that gives the same ones for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
