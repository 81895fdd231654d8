import { decodeMessage, MESSAGES } from "#otlp/bytes";
import {
  jsonText,
  type KeyValueTree,
  type PlainAttributes,
  plainAttributes,
  plainObject,
  plainValueText,
} from "#otlp/json";
import { SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Tree } from "../../../plugin.js";
import { VendorSpanFields, VendorStatusFields } from "../record-fields.generated.js";
import type { AwsXrayConfig } from "./config.js";

const SERVER = 2;
const CLIENT = 3;
const PRODUCER = 4;
const CONSUMER = 5;
const ERROR = 2;

interface SegmentDocument {
  readonly id: string;
  readonly [member: string]: unknown;
}

/** Returns the document of a span: a segment where a request enters a service, and a subsegment for all others. */
export function segmentOf(
  b: Uint8Array,
  start: number,
  end: number,
  resource: PlainAttributes,
  config: AwsXrayConfig,
): SegmentDocument {
  span.read(b, start, end);
  status.read(b, span.statusStart, span.statusEnd);
  const { kind } = span;
  const hex = (from: number, to: number) => Buffer.prototype.hexSlice.call(b, from, to);
  const text = (from: number, to: number) => Buffer.prototype.utf8Slice.call(b, from, to);
  const traceId = hex(span.traceStart, span.traceEnd);
  const parentId = hex(span.parentStart, span.parentEnd);
  const name = text(span.nameStart, span.nameEnd);
  const attributes = plainAttributes(b, start, end, SPAN_ATTRIBUTES_TAG);
  const code = numberOf(attributes["http.response.status_code"] ?? attributes["http.status_code"]);
  const isSegment = parentId === "" || kind === SERVER || kind === CONSUMER;
  // As in the Collector, only segments have the resource: subsegments belong to one.
  const { annotations, metadata } = annotationsOf(attributes, isSegment ? resource : {}, config);
  const spanId = hex(span.spanStart, span.spanEnd);
  const endTime = secondsAt(b, span.endAt);
  const isRemote = kind === CLIENT || kind === PRODUCER;
  return {
    name: segmentName(name, kind, isSegment, attributes, resource),
    id: spanId,
    trace_id: `1-${traceId.slice(0, 8)}-${traceId.slice(8)}`,
    start_time: secondsAt(b, span.startAt),
    ...(endTime > 0 ? { end_time: endTime } : { in_progress: true }),
    ...(parentId !== "" && { parent_id: parentId }),
    ...(!isSegment && { type: "subsegment" }),
    ...(!isSegment && isRemote && { namespace: attributes["rpc.system"] === "aws-api" ? "aws" : "remote" }),
    ...faultOf(status.code, code),
    ...causeOf(b, start, end, text(status.messageStart, status.messageEnd), spanId),
    ...userOf(attributes, isSegment),
    ...httpOf(attributes, code),
    ...sqlOf(attributes),
    ...awsOf(attributes, resource, config),
    ...(isSegment && originOf(resource)),
    ...(isSegment &&
      resource["service.version"] !== undefined && {
        service: { version: plainValueText(resource["service.version"]) },
      }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    ...(Object.keys(metadata).length > 0 && { metadata: { default: metadata } }),
  };
}

const span = new VendorSpanFields();
const status = new VendorStatusFields();

/** Seconds with microseconds: a double holds no more. */
function secondsAt(b: Uint8Array, at: number): number {
  if (at < 0) return 0;
  return Number(new DataView(b.buffer, b.byteOffset + at, 8).getBigUint64(0, true) / 1000n) / 1e6;
}

function segmentName(
  name: string,
  kind: number,
  isSegment: boolean,
  attributes: PlainAttributes,
  resource: PlainAttributes,
): string {
  const first = (...values: unknown[]) => values.map(plainValueText).find((each) => each !== "");
  const database = first(attributes["db.namespace"], attributes["db.name"]);
  const host = first(attributes["server.address"], attributes["net.peer.name"], attributes["http.host"]);
  const remote = kind === CLIENT || kind === PRODUCER;
  const found =
    (remote && first(attributes["peer.service"], attributes["aws.service"])) ||
    (remote && database !== undefined && (host === undefined ? database : `${database}@${host}`)) ||
    (isSegment && first(resource["service.name"])) ||
    (remote && first(attributes["rpc.service"], host)) ||
    name;
  return found.replace(/[^\p{L}\p{N}\p{Z}_.:/%&#=+\\\-@]/gu, "").slice(0, MAX_NAME) || "span";
}

const MAX_NAME = 200;

/** A client's fault is an error, the server's own one a fault. */
function faultOf(code: number, http: number): Readonly<Record<string, boolean>> {
  if (http === 429) return { error: true, throttle: true };
  if (http >= 400 && http < 500) return { error: true };
  return code === ERROR || http >= 500 ? { fault: true } : {};
}

function causeOf(b: Uint8Array, start: number, end: number, message: string, spanId: string): object {
  const exceptions = span.hasEvents ? exceptionsIn(b, start, end, spanId) : [];
  if (exceptions.length > 0) return { cause: { exceptions } };
  if (status.code !== ERROR || message === "") return {};
  return { cause: { exceptions: [{ id: exceptionId(spanId, 0), message, type: "error" }] } };
}

/** Exceptions have ids of their own among the segments of a trace. They stay the same when the span is sent again. */
function exceptionId(spanId: string, place: number): string {
  const id = BigInt(`0x${spanId || "0"}`) ^ (ODD_NUMBER * BigInt(place + 1));
  return BigInt.asUintN(64, id).toString(16).padStart(16, "0");
}

/** Its multiples spread over 64 bits. */
const ODD_NUMBER = 0x9e3779b97f4a7c15n;

function userOf(attributes: PlainAttributes, isSegment: boolean): object {
  const user = plainValueText(attributes["enduser.id"]);
  return isSegment && user !== "" ? { user } : {};
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

function httpOf(attributes: PlainAttributes, code: number): object {
  const method = attributes["http.request.method"] ?? attributes["http.method"];
  if (method === undefined && code === 0) return {};
  const url = urlOf(attributes);
  const agent = attributes["user_agent.original"] ?? attributes["http.user_agent"];
  const client = attributes["client.address"] ?? attributes["http.client_ip"];
  const request = {
    ...(method !== undefined && { method: plainValueText(method) }),
    ...(url !== "" && { url }),
    ...(agent !== undefined && { user_agent: plainValueText(agent) }),
    ...(client !== undefined && { client_ip: plainValueText(client) }),
  };
  return { http: { request, ...(code > 0 && { response: { status: code } }) } };
}

/** Returns the full URL, which is put together if only its parts are known. */
function urlOf(attributes: PlainAttributes): string {
  const first = (...keys: string[]) => keys.map((key) => plainValueText(attributes[key])).find((each) => each !== "");
  const full = first("url.full", "http.url");
  if (full !== undefined) return full;
  const query = first("url.query");
  const path = first("http.target") ?? `${first("url.path") ?? "/"}${query === undefined ? "" : `?${query}`}`;
  const host = first("server.address", "http.host", "net.host.name", "net.peer.name");
  if (host === undefined) return first("http.target", "url.path") === undefined ? "" : path;
  const scheme = first("url.scheme", "http.scheme") ?? "http";
  const port = first("server.port", "net.host.port", "net.peer.port");
  const isUsual = port === undefined || host.includes(":") || port === (scheme === "https" ? "443" : "80");
  return `${scheme}://${host}${isUsual ? "" : `:${port}`}${path}`;
}

function sqlOf(attributes: PlainAttributes): object {
  const system = attributes["db.system.name"] ?? attributes["db.system"];
  if (system === undefined || /redis|mongodb|dynamodb/.test(plainValueText(system))) return {};
  const query = attributes["db.query.text"] ?? attributes["db.statement"];
  return {
    sql: {
      database_type: plainValueText(system),
      ...(query !== undefined && { sanitized_query: plainValueText(query) }),
      ...(attributes["db.user"] !== undefined && { user: plainValueText(attributes["db.user"]) }),
    },
  };
}

/** Members of `aws` that tell X-Ray which resource was called, and the attributes they come from. */
const AWS_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  operation: ["aws.operation"],
  region: ["aws.region"],
  request_id: ["aws.request_id", "aws.requestId"],
  queue_url: ["aws.queue_url", "aws.queue.url"],
  table_name: ["aws.table_name", "aws.table.name"],
};

function awsOf(
  attributes: PlainAttributes,
  resource: PlainAttributes,
  { aws_log_groups: groups }: AwsXrayConfig,
): object {
  const aws: Record<string, unknown> = {};
  for (const [member, keys] of Object.entries(AWS_MEMBERS)) {
    const key = keys.find((each) => attributes[each] !== undefined);
    if (key !== undefined) aws[member] = plainValueText(attributes[key]);
  }
  const account = plainValueText(attributes["aws.account_id"] ?? resource["cloud.account.id"]);
  if (account !== "") aws["account_id"] = account;
  const named = resource["aws.log.group.names"];
  const logs = Array.isArray(named) ? named.map(plainValueText) : (groups ?? []);
  if (logs.length > 0) aws["cloudwatch_logs"] = logs.map((name) => ({ log_group: name }));
  return Object.keys(aws).length === 0 ? {} : { aws };
}

const LAUNCH_TYPES: Readonly<Record<string, string>> = { ec2: "AWS::ECS::EC2", fargate: "AWS::ECS::Fargate" };

const ORIGINS: Readonly<Record<string, string>> = {
  aws_ec2: "AWS::EC2::Instance",
  aws_ecs: "AWS::ECS::Container",
  aws_eks: "AWS::EKS::Container",
  aws_elastic_beanstalk: "AWS::ElasticBeanstalk::Environment",
  aws_app_runner: "AWS::AppRunner::Service",
};

function originOf(resource: PlainAttributes): object {
  const platform = plainValueText(resource["cloud.platform"]);
  const launch = platform === "aws_ecs" ? LAUNCH_TYPES[plainValueText(resource["aws.ecs.launchtype"])] : undefined;
  const origin = launch ?? ORIGINS[platform];
  return origin === undefined ? {} : { origin };
}

/** X-Ray takes texts, numbers and booleans as annotations, under names of letters, digits, underscores and dots. */
function annotationsOf(
  attributes: PlainAttributes,
  resource: PlainAttributes,
  { indexed_attributes: indexed, index_all_attributes: isAll }: AwsXrayConfig,
): { annotations: Record<string, unknown>; metadata: Record<string, unknown> } {
  const annotations: Record<string, unknown> = {};
  const metadata: Record<string, unknown> = {};
  const add = (key: string, name: string, value: unknown) => {
    const isPlain = typeof value !== "object" && typeof value !== "bigint";
    if (isPlain && (isAll || indexed?.includes(name)))
      annotations[name.replace(/[^A-Za-z0-9_.]/g, "_").slice(0, MAX_KEY)] = value;
    else metadata[key] = isPlain ? value : (JSON.parse(jsonText(value)) as unknown);
  };
  for (const [key, value] of Object.entries(attributes)) add(key, key, value);
  for (const [key, value] of Object.entries(resource)) add(`otel.resource.${key}`, `otel.resource.${key}`, value);
  return { annotations, metadata };
}

const MAX_KEY = 500;

function numberOf(value: unknown): number {
  const number = Number(value ?? 0);
  return Number.isFinite(number) ? number : 0;
}
