import { decodeMessage, decodeText, fixed32, MESSAGES, WireWriter } from "#otlp/bytes";
import {
  DocumentJson,
  KeySet,
  type KeyValueTree,
  membersOf,
  type PlainAttributes,
  plainAttributes,
  plainObject,
  plainValueText,
} from "#otlp/json";
import { micros, toMicros } from "#otlp/signals";
import { SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import { SpanFields, StatusFields } from "#otlp/views";
import { parseJson } from "#text/json";
import { AWS_ACCOUNT, AWS_MEMBERS, XRAY_ANNOTATIONS, XRAY_METADATA_PREFIX } from "#traces";
import type { Tree } from "../../../plugin.js";
import type { AwsXrayConfig } from "./config.js";
import {
  addHttp,
  addSql,
  annotationKey,
  exceptionId,
  firstText,
  isAnnotation,
  isRemote,
  type MutableSegment,
  originOf,
  segmentName,
} from "./segment-parts.js";

const SERVER = 2;
const CONSUMER = 5;
const ERROR = 2;

/** A document of X-Ray as JSON. */
interface SegmentDocument {
  readonly id: string;
  readonly text: string;
}

/** The parts of a segment that all spans of a resource share. */
interface ResourceParts {
  readonly annotations: Readonly<Record<string, unknown>>;
  /** Members of the metadata. */
  readonly metadata: Uint8Array;
  /** Members of segments. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Makes documents of the spans of a batch: segments where a request enters a service, subsegments of all others. */
export class SegmentWriter {
  private readonly bytes: Uint8Array;
  private readonly config: AwsXrayConfig;
  private readonly json: DocumentJson;
  private readonly indexed: ReadonlySet<string>;
  private readonly notMetadata: KeySet;
  private resource: PlainAttributes | undefined;
  private parts: ResourceParts = { annotations: {}, metadata: NOTHING, members: {} };

  constructor(bytes: Uint8Array, config: AwsXrayConfig) {
    this.bytes = bytes;
    this.config = config;
    this.json = new DocumentJson(bytes, new WireWriter(4096));
    this.indexed = new Set(config.indexed_attributes);
    this.notMetadata = new KeySet(this.indexed);
  }

  documentOf(start: number, end: number, resource: PlainAttributes): SegmentDocument {
    const b = this.bytes;
    span.read(b, start, end);
    status.read(b, span.statusStart, span.statusEnd);
    if (resource !== this.resource) this.enter(resource);
    const attributes = plainAttributes(b, start, end, SPAN_ATTRIBUTES_TAG);
    const isSegment = span.parentStart === span.parentEnd || span.kind === SERVER || span.kind === CONSUMER;
    const segment = this.headOf(attributes, resource, isSegment);
    addOutcome(segment, attributes, b, start, end);
    addSql(segment, attributes);
    this.addAws(segment, attributes, resource);
    if (isSegment) Object.assign(segment, this.parts.members);
    // As in the Collector, only segments have the resource: subsegments belong to one.
    const annotations = isSegment ? { ...this.parts.annotations } : {};
    const received = receivedParts(attributes, this.config.index_all_attributes);
    const others = this.annotate(annotations, attributes, received);
    for (const _key in annotations) {
      segment["annotations"] = annotations;
      break;
    }
    const head = JSON.stringify(segment);
    const metadata = this.metadataOf(start, end, others, isSegment, received);
    return { id: segment["id"] as string, text: head.slice(0, -1) + metadata };
  }

  private headOf(attributes: PlainAttributes, resource: PlainAttributes, isSegment: boolean): MutableSegment {
    const b = this.bytes;
    const { kind } = span;
    const hex = (from: number, to: number) => Buffer.prototype.hexSlice.call(b, from, to);
    const traceId = hex(span.traceStart, span.traceEnd);
    const endTime = secondsAt(b, span.endAt);
    const segment: MutableSegment = {
      name: segmentName(decodeText(b, span.nameStart, span.nameEnd), kind, isSegment, attributes, resource),
      id: hex(span.spanStart, span.spanEnd),
      trace_id: `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`,
      start_time: secondsAt(b, span.startAt),
    };
    if (endTime > 0) segment["end_time"] = endTime;
    else segment["in_progress"] = true;
    if (span.parentStart < span.parentEnd) segment["parent_id"] = hex(span.parentStart, span.parentEnd);
    if (isSegment) {
      const user = plainValueText(attributes["enduser.id"]);
      if (user !== "") segment["user"] = user;
      return segment;
    }
    segment["type"] = "subsegment";
    if (isRemote(kind)) segment["namespace"] = attributes["rpc.system"] === "aws-api" ? "aws" : "remote";
    return segment;
  }

  /** Adds annotations. Returns the attributes that should be annotations but have values that X-Ray does not take. */
  private annotate(annotations: MutableSegment, attributes: PlainAttributes, received?: ReceivedParts): Uint8Array {
    const names = this.config.index_all_attributes ? Object.keys(attributes) : this.indexed;
    const others: MutableSegment = { ...received?.metadata };
    for (const name of received === undefined ? names : new Set([...names, ...received.annotations])) {
      const value = attributes[name];
      if (value === undefined || name === XRAY_ANNOTATIONS) continue;
      if (isAnnotation(value)) annotations[annotationKey(name)] = value;
      else others[name] = value;
    }
    return membersOf(others);
  }

  /** Returns the end of a document. Attributes that are no annotations are metadata, written from their bytes. */
  private metadataOf(
    start: number,
    end: number,
    others: Uint8Array,
    isSegment: boolean,
    received?: ReceivedParts,
  ): string {
    const { json } = this;
    const { out } = json;
    const left = received === undefined ? this.notMetadata : new KeySet([...this.indexed, ...received.keys]);
    const namespaces = JSON.stringify(received?.namespaces ?? {}).slice(1, -1);
    out.clear();
    json.raw(METADATA);
    const from = out.length;
    if (!this.config.index_all_attributes && json.values.map(start, end, SPAN_ATTRIBUTES_TAG, left)) out.length--;
    json.raw(others);
    if (isSegment) json.raw(this.parts.metadata);
    if (out.length === from) return namespaces === "" ? "}" : `,"metadata":{${namespaces}}}`;
    json.close(from);
    return `${decodeText(out.bytes, 0, out.length)}${namespaces === "" ? "" : `,${namespaces}`}}}`;
  }

  private addAws(segment: MutableSegment, attributes: PlainAttributes, resource: PlainAttributes): void {
    const aws: MutableSegment = {};
    for (const [member, keys] of AWS_MEMBERS) {
      const text = firstText(attributes, keys);
      if (text !== "") aws[member] = text;
    }
    const account = firstText(attributes, [AWS_ACCOUNT]) || plainValueText(resource["cloud.account.id"]);
    if (account !== "") aws["account_id"] = account;
    const named = resource["aws.log.group.names"];
    const logs = Array.isArray(named) ? named.map(plainValueText) : (this.config.aws_log_groups ?? []);
    if (logs.length > 0) aws["cloudwatch_logs"] = logs.map((name) => ({ log_group: name }));
    for (const _key in aws) {
      segment["aws"] = aws;
      break;
    }
  }

  private enter(resource: PlainAttributes): void {
    const annotations: MutableSegment = {};
    const metadata: MutableSegment = {};
    for (const [key, value] of Object.entries(resource)) {
      const name = `otel.resource.${key}`;
      const isIndexed = this.config.index_all_attributes || this.indexed.has(name);
      if (isIndexed && isAnnotation(value)) annotations[annotationKey(name)] = value;
      else metadata[name] = value;
    }
    const origin = originOf(resource);
    const version = plainValueText(resource["service.version"]);
    const members = { ...(origin && { origin }), ...(version !== "" && { service: { version } }) };
    this.resource = resource;
    this.parts = { annotations, metadata: membersOf(metadata), members };
  }
}

/** Parts of a segment that the receiver `awsxray` has kept as attributes. */
interface ReceivedParts {
  /** The names of annotations. */
  readonly annotations: readonly string[];
  /** Metadata of the default namespace, and the other namespaces. */
  readonly metadata: MutableSegment;
  readonly namespaces: MutableSegment;
  /** All attributes that are in these parts. */
  readonly keys: readonly string[];
}

/** Most spans have none. If all attributes are annotations, metadata are too. */
function receivedParts(attributes: PlainAttributes, areAllAnnotations: boolean): ReceivedParts | undefined {
  const listed = attributes[XRAY_ANNOTATIONS];
  const annotations = Array.isArray(listed) ? listed.filter((name) => typeof name === "string") : [];
  const keys = Array.isArray(listed) ? [XRAY_ANNOTATIONS, ...annotations] : [];
  const metadata: MutableSegment = {};
  const namespaces: MutableSegment = {};
  for (const key in attributes) {
    if (areAllAnnotations || !key.startsWith(XRAY_METADATA_PREFIX)) continue;
    const members = metadataMembers(attributes[key]);
    if (members === undefined) continue;
    const namespace = key.slice(XRAY_METADATA_PREFIX.length);
    if (namespace.toLowerCase() === "default") Object.assign(metadata, members);
    else namespaces[namespace] = members;
    keys.push(key);
  }
  return keys.length === 0 ? undefined : { annotations, metadata, namespaces, keys };
}

/** Returns undefined if the value is not the JSON of an object. */
function metadataMembers(value: unknown): object | undefined {
  if (typeof value !== "string" || !value.startsWith("{")) return undefined;
  try {
    return parseJson(value) as object;
  } catch {
    return undefined;
  }
}

const NOTHING = new Uint8Array(0);
const METADATA = Buffer.from(',"metadata":{"default":');

const span = new SpanFields();
const status = new StatusFields();

/** Seconds with microseconds: a double holds no more. */
function secondsAt(b: Uint8Array, at: number): number {
  if (at < 0) return 0;
  toMicros(fixed32(b, at), fixed32(b, at + 4), false);
  return micros / 1e6;
}

/** Adds how the span ended: a client's fault is an error, the server's own one a fault. */
function addOutcome(
  segment: MutableSegment,
  attributes: PlainAttributes,
  b: Uint8Array,
  start: number,
  end: number,
): void {
  const http = numberOf(attributes["http.response.status_code"] ?? attributes["http.status_code"]);
  if (http >= 400 && http < 500) segment["error"] = true;
  else if (status.code === ERROR || http >= 500) segment["fault"] = true;
  if (http === 429) segment["throttle"] = true;
  const exceptions = exceptionsOf(b, start, end, segment["id"] as string);
  if (exceptions.length > 0) segment["cause"] = { exceptions };
  addHttp(segment, attributes, http);
}

function exceptionsOf(b: Uint8Array, start: number, end: number, spanId: string): object[] {
  const exceptions = span.hasEvents ? exceptionsIn(b, start, end, spanId) : [];
  if (exceptions.length > 0 || status.code !== ERROR || status.messageStart === status.messageEnd) return exceptions;
  const message = decodeText(b, status.messageStart, status.messageEnd);
  return [{ id: exceptionId(spanId, 0), message, type: "error" }];
}

function exceptionsIn(b: Uint8Array, start: number, end: number, spanId: string): object[] {
  const { events = [] } = decodeMessage(MESSAGES["Span"]!, b, start, end) as { events?: readonly Tree[] };
  return events
    .filter((event) => event["name"] === "exception")
    .map((event, i) => {
      const attributes = plainObject(event["attributes"] as unknown as KeyValueTree[]);
      return {
        id: exceptionId(spanId, i),
        message: plainValueText(attributes["exception.message"]),
        type: plainValueText(attributes["exception.type"]) || "error",
      };
    });
}

function numberOf(value: unknown): number {
  const number = Number(value ?? 0);
  return Number.isFinite(number) ? number : 0;
}
