import { MalformedError } from "#otlp/signals";
import type { ZipkinEndpoint, ZipkinSpan } from "#traces";

/**
 * Checks the JSON of a span. Throws a `MalformedError` that says where it is invalid; `place` is the span's index in
 * its list.
 */
export function readZipkinSpan(json: unknown, place: number): ZipkinSpan {
  try {
    return readSpan(json);
  } catch (error) {
    throw error instanceof FieldError ? new MalformedError(`span ${place}: ${error.message}`, -1) : error;
  }
}

/** A problem with a field. The span is added to the message only when an error occurs. */
class FieldError extends Error {}

function readSpan(json: unknown): ZipkinSpan {
  const span = objectOf(json, "");
  const { id, traceId, parentId, name, kind, localEndpoint, remoteEndpoint, annotations, tags } = span;
  const parent = isNone(parentId) ? undefined : idOf(parentId, 16, "parentId");
  return {
    traceId: idOf(traceId, 32, "traceId"),
    id: idOf(id, 16, "id"),
    ...(parent !== undefined && { parentId: parent }),
    name: isNone(name) ? "" : textOf(name, "name"),
    kind: isNone(kind) ? "" : textOf(kind, "kind"),
    timestamp: timeOf(span["timestamp"] ?? 0, "timestamp"),
    duration: timeOf(span["duration"] ?? 0, "duration"),
    localEndpoint: isNone(localEndpoint) ? {} : endpointOf(localEndpoint, "localEndpoint"),
    remoteEndpoint: isNone(remoteEndpoint) ? {} : endpointOf(remoteEndpoint, "remoteEndpoint"),
    annotations: isNone(annotations) ? [] : annotationsOf(annotations),
    tags: isNone(tags) ? {} : tagsOf(tags),
  };
}

/** Null counts as absent. */
function isNone(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function objectOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw expected("an object", at);
  return value as Record<string, unknown>;
}

function textOf(value: unknown, at: string): string {
  if (typeof value !== "string") throw expected("a text", at);
  return value;
}

/** The id in lower case; an id of zeros counts as none. */
function idOf(value: unknown, maxDigits: number, at: string): string {
  const isId = typeof value === "string" && value.length <= maxDigits && /^[0-9a-fA-F]+$/.test(value);
  if (!isId || /^0+$/.test(value)) throw expected(`an id of up to ${maxDigits} hex digits`, at);
  return value.toLowerCase();
}

/** The sum of a time and a duration of this many microseconds still fits into OTLP's nanoseconds. */
const MAX_MICROSECONDS = Number.MAX_SAFE_INTEGER;

function timeOf(value: unknown, at: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || value > MAX_MICROSECONDS)
    throw expected("a number of microseconds", at);
  return Math.trunc(value);
}

function endpointOf(value: unknown, at: string): ZipkinEndpoint {
  const { serviceName, ipv4, ipv6, port } = objectOf(value, at);
  if (!isNone(port) && !(Number.isInteger(port) && Number(port) >= 0 && Number(port) < 65_536))
    throw expected("a port", `${at}.port`);
  const name = memberText(serviceName, at, "serviceName");
  const v4 = memberText(ipv4, at, "ipv4");
  const v6 = memberText(ipv6, at, "ipv6");
  return {
    serviceName: name,
    ...(v4 !== "" && { ipv4: v4 }),
    ...(v6 !== "" && { ipv6: v6 }),
    port: Number(port ?? 0),
  };
}

function memberText(value: unknown, at: string, name: string): string {
  if (typeof value === "string") return value;
  return isNone(value) ? "" : textOf(value, `${at}.${name}`);
}

function annotationsOf(value: unknown): { timestamp: number; value: string }[] {
  if (!Array.isArray(value)) throw expected("a list", "annotations");
  return value.map((each: unknown, i) => {
    const at = `annotations[${i}]`;
    const { timestamp, value: text } = objectOf(each, at);
    return { timestamp: timeOf(timestamp ?? 0, `${at}.timestamp`), value: textOf(text, `${at}.value`) };
  });
}

function tagsOf(value: unknown): Record<string, string> {
  const tags = objectOf(value, "tags");
  for (const key of Object.keys(tags)) {
    if (typeof tags[key] !== "string") throw expected("a text", `tags[${JSON.stringify(key.slice(0, 50))}]`);
  }
  return tags as Record<string, string>;
}

function expected(what: string, at: string): FieldError {
  return new FieldError(at === "" ? `expected ${what}` : `${at}: expected ${what}`);
}
