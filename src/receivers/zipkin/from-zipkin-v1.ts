import { Batch } from "#otlp";
import { encodeTree, keyValues } from "#otlp/json";
import { MalformedError } from "#otlp/signals";
import { ZIPKIN_TAGS } from "#traces";
import { type AttributeValue, parsedTag } from "./from-zipkin.js";

type V1Json = Readonly<Record<string, unknown>>;

interface V1Endpoint {
  readonly serviceName: string;
  readonly ipv4: string;
  readonly ipv6: string;
  readonly port: number;
}

/** A span and the service that it belongs to. */
interface V1Span {
  readonly span: object;
  /** How many spans, events and attributes it is. */
  readonly parts: number;
  readonly endpoint: V1Endpoint;
}

const MAX_PARTS = 10_000;
const UNKNOWN_SERVICE = "unknown-service";

/** Kinds in OTLP by the annotations that tell of a message being sent or received. */
const KINDS: Readonly<Record<string, number>> = { cs: 3, cr: 3, ms: 4, mr: 5, ss: 2, sr: 2 };

/**
 * Builds one batch of spans of Zipkin's API version 1, the predecessor in which endpoints belong to annotations. Tracers
 * that still use it are few, so it makes objects of them.
 */
export class ZipkinV1Batch {
  private readonly spans = new Map<string, { readonly endpoint: V1Endpoint; readonly spans: object[] }>();
  private readonly written: Batch[] = [];
  /** Of the spans that are objects still. */
  private parts = 0;
  private readonly parsesTags: boolean;
  private readonly now: () => number;

  constructor(parsesTags: boolean, now: () => number) {
    this.parsesTags = parsesTags;
    this.now = now;
  }

  /** Throws a `MalformedError` that says what is wrong with the span; `place` is its index in the list. */
  add(json: unknown, place: number): void {
    const { span, endpoint, parts } = this.read(objectOf(json, place), place);
    const key = JSON.stringify([endpoint.serviceName, endpoint.ipv4, endpoint.ipv6, endpoint.port]);
    const known = this.spans.get(key);
    if (known === undefined) this.spans.set(key, { endpoint, spans: [span] });
    else known.spans.push(span);
    this.parts += parts;
    if (this.parts > MAX_PARTS) this.write();
  }

  finish(): Batch {
    this.write();
    const bytes = Buffer.concat(this.written.map((each) => each.bytes));
    return Batch.trusted(
      "traces",
      bytes,
      this.written.reduce((sum, { count }) => sum + count, 0),
    );
  }

  /** Encodes the spans so far, so that very many are neither objects at the same time nor encoded in one go. */
  private write(): void {
    const resourceSpans = [...this.spans.values()].map(({ endpoint, spans }) => ({
      resource: { attributes: keyValues(resourceOf(endpoint)) },
      scopeSpans: [{ scope: {}, spans }],
    }));
    this.written.push(encodeTree("traces", { resourceSpans } as Parameters<typeof encodeTree>[1]));
    this.spans.clear();
    this.parts = 0;
  }

  private read(json: V1Json, place: number): V1Span {
    const annotations = listOf(json, "annotations", place);
    const { endpoint, times, kind, events } = readAnnotations(annotations, place);
    const { attributes, status, component } = this.readTags(listOf(json, "binaryAnnotations", place), place);
    const timestamp = timeOf(json, "timestamp", place);
    const start = timestamp > 0 ? timestamp : (times[0] ?? 0);
    const end = timestamp > 0 ? timestamp + timeOf(json, "duration", place) : (times.at(-1) ?? 0);
    const at = start > 0 ? start : this.now() * 1000;
    const parentId = textOf(json, "parentId", place);
    const span = {
      traceId: idOf(json, "traceId", [16, 32], place).padStart(32, "0"),
      spanId: idOf(json, "id", [16], place),
      ...(parentId !== "" && { parentSpanId: idOf(json, "parentId", [16], place) }),
      name: textOf(json, "name", place),
      kind,
      startTimeUnixNano: nanos(at),
      endTimeUnixNano: nanos(start > 0 ? end : at),
      attributes: keyValues({ ...attributes, ...(start <= 0 && { [ZIPKIN_TAGS.noStart]: true }) }),
      events,
      ...(status !== undefined && { status }),
    };
    const isUnknown = endpoint.serviceName === UNKNOWN_SERVICE && component !== "";
    const parts = 1 + events.length + Object.keys(attributes).length;
    return { span, parts, endpoint: isUnknown ? { ...endpoint, serviceName: component } : endpoint };
  }

  private readTags(tags: readonly V1Json[], place: number) {
    const attributes: Record<string, AttributeValue> = {};
    const found = new Map<string, string>();
    let [component, service] = ["", ""];
    for (const tag of tags) {
      const value = textOf(tag, "value", place);
      const name = textOf(tag, "key", place);
      const key = name === "lc" ? "component" : name;
      if (name === "lc") component = value;
      service = serviceOf(tag, place) || service;
      if (STATUS_KEYS.has(key)) found.set(key, value);
      if (!DROPPED_KEYS.has(key)) attributes[key] = this.parsesTags ? parsedTag(value) : value;
    }
    return { attributes, status: statusOf(found), component: service || component };
  }
}

const CENSUS_CODE = "census.status_code";
const CENSUS_MESSAGES = ["census.status_description", "opencensus.status_description"];
const HTTP_CODES = ["http.status_code", "http.response.status_code"];
const DROPPED_KEYS = new Set([
  CENSUS_CODE,
  ...CENSUS_MESSAGES,
  ZIPKIN_TAGS.statusCode,
  ZIPKIN_TAGS.statusMessage,
  ZIPKIN_TAGS.error,
]);
const STATUS_KEYS = new Set([...DROPPED_KEYS, ...HTTP_CODES, "http.status_message"]);

/** The first of several tags that tell a status wins. */
function statusOf(tags: ReadonlyMap<string, string>): object | undefined {
  const message = (keys: readonly string[]) =>
    keys.map((key) => tags.get(key)).find((text) => text !== undefined) ?? "";
  const census = codeOf(tags.get(CENSUS_CODE));
  if (census !== undefined) return { code: census === 0 ? 1 : 2, message: message(CENSUS_MESSAGES) };
  const code = codeOf(tags.get(ZIPKIN_TAGS.statusCode));
  if (code !== undefined) return { code, message: message([ZIPKIN_TAGS.statusMessage]) };
  if (tags.has(ZIPKIN_TAGS.error))
    return { code: 2, message: message(CENSUS_MESSAGES) || message([ZIPKIN_TAGS.statusMessage]) };
  const http = HTTP_CODES.map((key) => codeOf(tags.get(key))).findLast((each) => each !== undefined);
  if (http === undefined) return undefined;
  return { code: http >= 100 && http < 400 ? 0 : 2, message: message(["http.status_message"]) };
}

function codeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function readAnnotations(annotations: readonly V1Json[], place: number) {
  const times: number[] = [];
  const events: object[] = [];
  let endpoint: V1Endpoint | undefined;
  let kind = 0;
  for (const annotation of annotations) {
    const value = textOf(annotation, "value", place);
    if (value === "") continue;
    const time = timeOf(annotation, "timestamp", place);
    times.push(time);
    const kindHere = Object.hasOwn(KINDS, value) ? KINDS[value]! : 0;
    if (kindHere === 0) {
      events.push({ timeUnixNano: nanos(time), name: value });
      continue;
    }
    kind ||= kindHere;
    if (serviceOf(annotation, place) !== "") endpoint ??= endpointOf(annotation, place);
  }
  const none = { serviceName: UNKNOWN_SERVICE, ipv4: "", ipv6: "", port: 0 };
  return { endpoint: endpoint ?? none, times: times.sort((a, b) => a - b), kind, events };
}

function serviceOf(annotation: V1Json, place: number): string {
  return annotation["endpoint"] == null ? "" : endpointOf(annotation, place).serviceName;
}

function endpointOf(annotation: V1Json, place: number): V1Endpoint {
  const endpoint = objectOf(annotation["endpoint"], place);
  const text = (key: string) => textOf(endpoint, key, place);
  const [serviceName, ipv4, ipv6] = [text("serviceName"), text("ipv4"), text("ipv6")];
  return { serviceName, ipv4, ipv6, port: timeOf(endpoint, "port", place) };
}

function resourceOf({ serviceName, ipv4, ipv6, port }: V1Endpoint): Record<string, string> {
  return {
    "service.name": serviceName,
    ...(ipv4 !== "" && { ipv4 }),
    ...(ipv6 !== "" && { ipv6 }),
    ...(port !== 0 && { port: String(port) }),
  };
}

function objectOf(value: unknown, place: number): V1Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw expected("an object", place);
  return value as V1Json;
}

function listOf(json: V1Json, key: string, place: number): V1Json[] {
  const value = json[key] ?? [];
  if (!Array.isArray(value)) throw expected(`a list in ${key}`, place);
  return value.map((each: unknown) => objectOf(each, place));
}

function textOf(json: V1Json, key: string, place: number): string {
  const value = json[key] ?? "";
  if (typeof value !== "string") throw expected(`a text in ${key}`, place);
  return value;
}

/** A whole number: microseconds, or a port. */
function timeOf(json: V1Json, key: string, place: number): number {
  const value = json[key] ?? 0;
  if (!Number.isSafeInteger(value)) throw expected(`a whole number in ${key}`, place);
  return Math.max(0, value as number);
}

function idOf(json: V1Json, key: string, lengths: readonly number[], place: number): string {
  const text = textOf(json, key, place).toLowerCase();
  if (!lengths.includes(text.length) || !/^[0-9a-f]+$/.test(text) || /^0+$/.test(text))
    throw expected(`an id of ${lengths.join(" or ")} hex digits in ${key}`, place);
  return text;
}

function nanos(microseconds: number): bigint {
  return BigInt(Math.round(microseconds)) * 1000n;
}

function expected(what: string, place: number): MalformedError {
  return new MalformedError(`span ${place}: expected ${what}`, -1);
}
