import { MalformedError } from "../../telemetry/bytes/malformed.js";
import type { ZipkinEndpoint, ZipkinSpan } from "./zipkin-span.js";

/** Checks what JSON has for a span. Throws a `MalformedError` that says where it is none; `place` is that in its list. */
export function readZipkinSpan(json: unknown, place: number): ZipkinSpan {
  const at = `span ${place}`;
  const span = objectOf(json, at);
  const { id, traceId, parentId, name, kind, localEndpoint, remoteEndpoint } = span;
  const parent = optional(parentId, (value) => idOf(value, 16, `${at}: parentId`));
  return {
    traceId: idOf(traceId, 32, `${at}: traceId`),
    id: idOf(id, 16, `${at}: id`),
    ...(parent !== undefined && { parentId: parent }),
    name: optional(name, (value) => textOf(value, `${at}: name`)) ?? "",
    kind: optional(kind, (value) => textOf(value, `${at}: kind`)) ?? "",
    timestamp: optional(span["timestamp"], (value) => timeOf(value, `${at}: timestamp`)) ?? 0,
    duration: optional(span["duration"], (value) => timeOf(value, `${at}: duration`)) ?? 0,
    localEndpoint: optional(localEndpoint, (value) => endpointOf(value, `${at}: localEndpoint`)) ?? {},
    remoteEndpoint: optional(remoteEndpoint, (value) => endpointOf(value, `${at}: remoteEndpoint`)) ?? {},
    annotations: optional(span["annotations"], (value) => annotationsOf(value, `${at}: annotations`)) ?? [],
    tags: optional(span["tags"], (value) => tagsOf(value, `${at}: tags`)) ?? {},
  };
}

/** Null and absent are the same. */
function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value);
}

function objectOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw expected("an object", at);
  return value as Record<string, unknown>;
}

function textOf(value: unknown, at: string): string {
  if (typeof value !== "string") throw expected("a text", at);
  return value;
}

/** In lower case; an id of zeros is none. */
function idOf(value: unknown, maxDigits: number, at: string): string {
  const isId = typeof value === "string" && value.length <= maxDigits && /^[0-9a-fA-F]+$/.test(value);
  if (!isId || /^0+$/.test(value)) throw expected(`an id of up to ${maxDigits} hex digits`, at);
  return value.toLowerCase();
}

/** A time and a duration of so many microseconds are still nanoseconds that OTLP can hold. */
const MAX_MICROSECONDS = Number.MAX_SAFE_INTEGER;

function timeOf(value: unknown, at: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || value > MAX_MICROSECONDS)
    throw expected("a number of microseconds", at);
  return Math.trunc(value);
}

function endpointOf(value: unknown, at: string): ZipkinEndpoint {
  const { serviceName, ipv4, ipv6, port } = objectOf(value, at);
  const text = (each: unknown, name: string) => optional(each, (value) => textOf(value, `${at}.${name}`)) ?? "";
  if (port !== undefined && port !== null && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) < 65_536))
    throw expected("a port", `${at}.port`);
  const [name, v4, v6] = [text(serviceName, "serviceName"), text(ipv4, "ipv4"), text(ipv6, "ipv6")];
  return {
    serviceName: name,
    ...(v4 !== "" && { ipv4: v4 }),
    ...(v6 !== "" && { ipv6: v6 }),
    port: Number(port ?? 0),
  };
}

function annotationsOf(value: unknown, at: string): { timestamp: number; value: string }[] {
  if (!Array.isArray(value)) throw expected("a list", at);
  return value.map((each: unknown, i) => {
    const { timestamp, value: text } = objectOf(each, `${at}[${i}]`);
    return { timestamp: timeOf(timestamp ?? 0, `${at}[${i}].timestamp`), value: textOf(text, `${at}[${i}].value`) };
  });
}

function tagsOf(value: unknown, at: string): Record<string, string> {
  const tags = objectOf(value, at);
  for (const key of Object.keys(tags)) textOf(tags[key], `${at}[${JSON.stringify(key.slice(0, 50))}]`);
  return tags as Record<string, string>;
}

function expected(what: string, at: string): MalformedError {
  return new MalformedError(`${at}: expected ${what}`, -1);
}
