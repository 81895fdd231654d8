import { hash } from "node:crypto";
import type { Signal } from "./case-table.js";

/**
 * Telemetry as short as it can be written without losing types. Values: numbers without a fraction are integers,
 * `{$double: 1}` and `{$bytes: base64}` are what they say, `null` is an empty value, other objects are maps.
 *
 * An input may be a record (`{attributes, resource, scope, ...}`, where the rest has OTLP's names), several (`{records}`),
 * `{otlp: request}`, or `{traces: 300}` for so many traces of one span.
 * An output is the list of records in the same form, sorted, without what has its default. How records were grouped in
 * requests and under resources does not matter.
 */
type Fields = Record<string, unknown>;

const ROOTS = { logs: "resourceLogs", traces: "resourceSpans", metrics: "resourceMetrics" } as const;
const SCOPES = { logs: "scopeLogs", traces: "scopeSpans", metrics: "scopeMetrics" } as const;
const RECORDS = { logs: "logRecords", traces: "spans", metrics: "metrics" } as const;
const DATA = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;

/** The OTLP/JSON request of an input. */
export function requestOf(signal: Signal, input: unknown): unknown {
  const { otlp, records, traces, resource, scope, ...record } = input as Fields;
  if (otlp !== undefined) return otlp;
  const all = (records as Fields[] | undefined) ?? (traces === undefined ? [record] : spansOf(traces as number));
  const scopes = { scope: encodeFields((scope ?? {}) as Fields), [RECORDS[signal]]: all.map(encodeFields) };
  return { [ROOTS[signal]]: [{ resource: { attributes: attributesOf(resource ?? {}) }, [SCOPES[signal]]: [scopes] }] };
}

function spansOf(count: number): Fields[] {
  return Array.from({ length: count }, (_, i) => {
    const id = hash("md5", `trace ${i}`, "hex");
    return { traceId: id, spanId: id.slice(0, 16) };
  });
}

function encodeFields(fields: Fields): Fields {
  const encoded: Fields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name === "attributes") encoded[name] = attributesOf(value);
    else if (name === "body") encoded[name] = encodeValue(value);
    else if (Array.isArray(value) && value.every(isFields)) encoded[name] = value.map(encodeFields);
    else encoded[name] = isFields(value) ? encodeFields(value) : value;
  }
  return encoded;
}

function attributesOf(map: unknown): unknown[] {
  return Object.entries(map as Fields).map(([key, value]) => ({ key, value: encodeValue(value) }));
}

function encodeValue(value: unknown): Fields {
  if (value === null || value === undefined) return {};
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(encodeValue) } };
  const { $double, $int, $bytes } = value as Fields;
  if ($double !== undefined) return { doubleValue: $double };
  if ($int !== undefined) return { intValue: $int };
  if ($bytes !== undefined) return { bytesValue: $bytes };
  return { kvlistValue: { values: attributesOf(value) } };
}

/** The records of OTLP/JSON requests. */
export function recordsOf(signal: Signal, requests: readonly unknown[], without: readonly string[]): unknown[] {
  const found: unknown[] = [];
  for (const request of requests) {
    for (const container of list(request, ROOTS[signal])) {
      for (const scopes of list(container, SCOPES[signal])) {
        const owners = {
          resource: decodeFields(((container as Fields)["resource"] ?? {}) as Fields, without)["attributes"],
          resourceSchema: (container as Fields)["schemaUrl"],
          scope: decodeFields(((scopes as Fields)["scope"] ?? {}) as Fields, without),
          scopeSchema: (scopes as Fields)["schemaUrl"],
        };
        for (const record of list(scopes, RECORDS[signal]))
          for (const single of signal === "metrics" ? pointsOf(record as Fields) : [record as Fields])
            found.push(pruned({ ...decodeFields(single, without), ...owners }));
      }
    }
  }
  return sortedByText(found);
}

export function sortedByText(values: readonly unknown[]): unknown[] {
  return values
    .map((value) => [JSON.stringify(value), value] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, value]) => value);
}

function list(owner: unknown, name: string): unknown[] {
  return ((owner as Fields | undefined)?.[name] as unknown[] | undefined) ?? [];
}

/** A metric as one object per data point. */
function* pointsOf(metric: Fields): Generator<Fields> {
  const kind = DATA.find((name) => metric[name] !== undefined);
  if (kind === undefined) return yield metric;
  const { [kind]: data, ...rest } = metric;
  const { dataPoints, ...settings } = data as Fields;
  for (const point of (dataPoints as Fields[] | undefined) ?? []) yield { ...rest, [kind]: settings, point };
}

function decodeFields(fields: Fields, without: readonly string[]): Fields {
  const decoded: Fields = {};
  for (const name of Object.keys(fields).sort()) {
    const value = fields[name];
    if (without.includes(name)) continue;
    if (/attributes$/i.test(name) && Array.isArray(value)) decoded[name] = mapOf(value as Fields[], without);
    else if (name === "body") decoded[name] = decodeValue(value as Fields);
    else if (Array.isArray(value) && value.every(isFields))
      decoded[name] = value.map((each) => decodeFields(each, without));
    else decoded[name] = isFields(value) ? decodeFields(value, without) : value;
  }
  return decoded;
}

function mapOf(attributes: readonly Fields[], without: readonly string[] = []): Fields {
  const kept = attributes.filter(({ key }) => !without.includes(key as string));
  const entries = kept.map(({ key = "", value }) => [key as string, decodeValue(value as Fields | undefined)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function decodeValue(value: Fields | undefined): unknown {
  const [kind, inside] = Object.entries(value ?? {})[0] ?? ["", null];
  if (kind === "intValue") return Number.isSafeInteger(Number(inside)) ? Number(inside) : { $int: String(inside) };
  if (kind === "doubleValue") return { $double: inside };
  if (kind === "bytesValue") return { $bytes: inside };
  if (kind === "arrayValue") return list(inside, "values").map((each) => decodeValue(each as Fields));
  if (kind === "kvlistValue") return mapOf(list(inside, "values") as Fields[]);
  return inside;
}

/** Without fields that have their defaults. Values of attributes stay as they are. */
function pruned(fields: Fields): Fields {
  const kept = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (value === undefined || (name === "body" && value === null)) return [];
    if (name === "body") return [[name, value]];
    if (value === "" || value === 0 || value === "0" || value === false) return [];
    if (Array.isArray(value) && value.length === 0) return [];
    if (!isFields(value) || /^(attributes|resource)$/.test(name))
      return isFields(value) && Object.keys(value).length === 0 ? [] : [[name, value]];
    const inside = pruned(value);
    return Object.keys(inside).length === 0 && !DATA.includes(name as "gauge") ? [] : [[name, inside]];
  });
  return Object.fromEntries(kept);
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
