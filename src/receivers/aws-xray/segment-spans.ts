import { asDouble } from "#otlp/bytes";
import { AWS_ACCOUNT, AWS_MEMBERS, XRAY_ANNOTATIONS, XRAY_METADATA_PREFIX } from "#traces";
import {
  asMembers,
  booleanIn,
  integerIn,
  listIn,
  malformedSegment,
  membersIn,
  nanosIn,
  type SegmentAttributes,
  type SegmentMembers,
  set,
  textIn,
} from "./segment-members.js";
import { addResource } from "./segment-resource.js";

/** A segment or subsegment as a span. Times are in nanoseconds. */
export interface SegmentSpan {
  readonly name: string;
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentId: Buffer | undefined;
  readonly kind: number;
  readonly start: number;
  readonly end: number;
  readonly isError: boolean;
  readonly statusMessage: string;
  readonly attributes: SegmentAttributes;
  /** The attributes of each exception. */
  readonly exceptions: readonly SegmentAttributes[];
}

export interface SegmentSpans {
  readonly resource: SegmentAttributes;
  readonly spans: readonly SegmentSpan[];
}

const [INTERNAL, SERVER, CLIENT] = [1, 2, 3];

/**
 * Makes spans of a segment and its subsegments, with the names that the Collector gives their parts. Throws a
 * `MalformedError` if a member that a span needs is missing, or a member has the wrong type.
 */
export function spansOf(segment: SegmentMembers): SegmentSpans {
  const traceId = required(segment, "trace_id");
  const isSubsegment =
    textIn(segment, "parent_id") !== undefined && /^subsegment$/i.test(textIn(segment, "type") ?? "");
  const resource: SegmentAttributes = new Map();
  addResource(resource, segment);
  const spans: SegmentSpan[] = [];
  // A list instead of recursion, because a hostile segment may nest thousands of subsegments.
  const open: PlacedSegment[] = [{ segment, parentId: textIn(segment, "parent_id"), isSubsegment }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    spans.push(spanOf(next, traceId));
    const parentId = required(next.segment, "id");
    const children = listIn(next.segment, "subsegments");
    for (let i = children.length - 1; i >= 0; i--) open.push({ segment: children[i]!, parentId, isSubsegment: true });
  }
  return { resource, spans };
}

interface PlacedSegment {
  readonly segment: SegmentMembers;
  readonly parentId: string | undefined;
  readonly isSubsegment: boolean;
}

function required(segment: SegmentMembers, name: string): string {
  const value = textIn(segment, name);
  if (value === undefined) throw malformedSegment(`${name} is missing`);
  return value;
}

function spanOf({ segment, parentId, isSubsegment }: PlacedSegment, traceId: string): SegmentSpan {
  const name = required(segment, "name");
  const attributes: SegmentAttributes = new Map();
  const start = nanosIn(segment, "start_time");
  if (start === undefined) throw malformedSegment("start_time is missing");
  const kind = kindOf(segment, name, attributes);
  set(attributes, "aws.xray.inprogress", booleanIn(segment, "in_progress"));
  set(attributes, "enduser.id", textIn(segment, "user"));
  const isFailedRequest = addHttp(attributes, segment);
  const { cause } = segment;
  const exceptions = typeof cause === "string" ? [] : exceptionsOf(segment);
  addAws(attributes, segment);
  addSql(attributes, segment);
  set(attributes, "aws.xray.traced", booleanIn(segment, "traced"));
  addAnnotations(attributes, segment);
  addMetadata(attributes, segment);
  const parent = parentId === undefined ? undefined : spanIdOf(parentId);
  return {
    name,
    traceId: traceIdOf(textIn(segment, "trace_id") ?? traceId),
    spanId: spanIdOf(required(segment, "id")),
    parentId: parent?.some((byte) => byte !== 0) ? parent : undefined,
    kind: isSubsegment ? kind : SERVER,
    start,
    end: nanosIn(segment, "end_time") ?? 0,
    isError: isFailedRequest || (cause !== undefined && cause !== null),
    statusMessage: typeof cause === "string" ? cause : "",
    attributes,
    exceptions,
  };
}

/** Such as `1-5f84c7a1-e7d1852db8c4fd35d88bf49a`. */
function traceIdOf(text: string): Buffer {
  return idOf(text.length === 35 ? text.slice(2, 10) + text.slice(11) : "", 16, "trace_id");
}

function spanIdOf(text: string): Buffer {
  return idOf(text, 8, "id");
}

function idOf(hex: string, size: number, name: string): Buffer {
  const id = hex.length === 2 * size ? Buffer.from(hex, "hex") : undefined;
  if (id?.length !== size) throw malformedSegment(`${name} has a wrong format`);
  return id;
}

/** The kind of a subsegment. A call of an AWS service gets the service's name. */
function kindOf(segment: SegmentMembers, name: string, attributes: SegmentAttributes): number {
  const namespace = textIn(segment, "namespace") ?? "local";
  if (namespace === "local") {
    const request = membersIn(membersIn(segment, "http") ?? {}, "request");
    return textIn(request ?? {}, "client_ip") === undefined ? INTERNAL : SERVER;
  }
  if (namespace === "aws") attributes.set("aws.service", name);
  else if (namespace !== "remote") throw malformedSegment("namespace is not aws, remote or local");
  return CLIENT;
}

/** Returns whether the request failed. */
function addHttp(attributes: SegmentAttributes, segment: SegmentMembers): boolean {
  const http = membersIn(segment, "http");
  if (http === undefined) return false;
  const request = membersIn(http, "request");
  if (request !== undefined) {
    set(attributes, "http.method", textIn(request, "method"));
    set(attributes, "http.client_ip", textIn(request, "client_ip"));
    set(attributes, "http.user_agent", textIn(request, "user_agent"));
    set(attributes, "http.url", textIn(request, "url"));
    set(attributes, "aws.xray.x_forwarded_for", booleanIn(request, "x_forwarded_for"));
  }
  const response = membersIn(http, "response");
  if (response === undefined) return false;
  const status = integerIn(response, "status");
  set(attributes, "http.status_code", status);
  const { content_length: length } = response;
  if (typeof length === "string") attributes.set("http.response_content_length", length);
  if (typeof length === "number") attributes.set("http.response_content_length", Math.trunc(length));
  return status !== undefined && (status < 100 || status >= 399);
}

function exceptionsOf(segment: SegmentMembers): SegmentAttributes[] {
  const cause = membersIn(segment, "cause");
  if (cause === undefined) return [];
  return listIn(cause, "exceptions").map((exception) => {
    const attributes: SegmentAttributes = new Map();
    set(attributes, "aws.xray.exception.id", textIn(exception, "id"));
    set(attributes, "exception.message", textIn(exception, "message"));
    set(attributes, "exception.type", textIn(exception, "type"));
    set(attributes, "aws.xray.exception.remote", booleanIn(exception, "remote"));
    set(attributes, "aws.xray.exception.truncated", integerIn(exception, "truncated"));
    set(attributes, "aws.xray.exception.skipped", integerIn(exception, "skipped"));
    set(attributes, "aws.xray.exception.cause", textIn(exception, "cause"));
    const frames = listIn(exception, "stack");
    if (frames.length > 0) attributes.set("exception.stacktrace", stackTrace(exception, frames));
    return attributes;
  });
}

function stackTrace(exception: SegmentMembers, frames: readonly SegmentMembers[]): string {
  const head = `${textIn(exception, "type") ?? ""}: ${textIn(exception, "message") ?? ""}\n`;
  const lines = frames.map((frame) => {
    const line = integerIn(frame, "line") ?? "<unknown>";
    return `\tat ${textIn(frame, "label") ?? ""}(${textIn(frame, "path") ?? ""}: ${line})\n`;
  });
  return head + lines.join("");
}

function addAws(attributes: SegmentAttributes, segment: SegmentMembers): void {
  const aws = membersIn(segment, "aws");
  if (aws === undefined) return;
  set(attributes, AWS_ACCOUNT, textIn(aws, "account_id"));
  for (const [member, [key]] of AWS_MEMBERS) set(attributes, key, textIn(aws, member));
  set(attributes, "aws.xray.retries", integerIn(aws, "retries"));
}

function addSql(attributes: SegmentAttributes, segment: SegmentMembers): void {
  const sql = membersIn(segment, "sql");
  if (sql === undefined) return;
  const url = textIn(sql, "url");
  if (url !== undefined) {
    const { server, database } = splitDatabaseUrl(url);
    attributes.set("db.connection_string", server);
    attributes.set("db.name", database);
  }
  set(attributes, "db.system", textIn(sql, "database_type"));
  set(attributes, "db.statement", textIn(sql, "sanitized_query"));
  set(attributes, "db.user", textIn(sql, "user"));
}

/** Splits URLs such as `mysql://host:3306/shop?tls=1` and `jdbc:h2:shop`. The query is left out. */
function splitDatabaseUrl(url: string): { server: string; database: string } {
  const slash = url.indexOf("/");
  const head = slash < 0 ? url : url.slice(0, slash);
  for (let colon = head.lastIndexOf(":"); colon > 0; colon = head.lastIndexOf(":", colon - 1)) {
    const hostEnd = url.startsWith("//", colon + 1) ? url.indexOf("/", colon + 3) : -1;
    for (const at of hostEnd > colon + 3 ? [hostEnd + 1, colon + 1] : [colon + 1]) {
      const query = url.indexOf("?", at);
      const database = query < 0 ? url.slice(at) : url.slice(at, query);
      if (database !== "") return { server: url.slice(0, at).replace(/\/{1,2}$/, ""), database };
    }
  }
  throw malformedSegment("the url of sql has no name of a database");
}

/** All numbers are doubles, as in the Collector. Other values than texts, numbers and booleans are left out. */
function addAnnotations(attributes: SegmentAttributes, segment: SegmentMembers): void {
  const annotations = membersIn(segment, "annotations") ?? {};
  const names = Object.keys(annotations);
  if (names.length === 0) return;
  attributes.set(XRAY_ANNOTATIONS, names);
  for (const name of names) {
    const value = annotations[name];
    if (typeof value === "number") attributes.set(name, asDouble(value));
    else if (typeof value === "string" || typeof value === "boolean") attributes.set(name, value);
  }
}

function addMetadata(attributes: SegmentAttributes, segment: SegmentMembers): void {
  const metadata = membersIn(segment, "metadata") ?? {};
  for (const name of Object.keys(metadata)) {
    const value = metadata[name];
    const members = value === null ? null : sorted(asMembers(value, "a namespace of metadata"), 0);
    attributes.set(XRAY_METADATA_PREFIX + name, JSON.stringify(members).replace(NOT_IN_HTML, escaped));
  }
}

/** Go escapes these in JSON. */
const NOT_IN_HTML = /[<>&\u2028\u2029]/g;

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Sorts members by name, as the Collector does. */
function sorted(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw malformedSegment("metadata are nested too deep");
  if (Array.isArray(value)) return value.map((element) => sorted(element, depth + 1));
  const members = value as SegmentMembers;
  const names = Object.keys(members).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(members[name], depth + 1)]));
}

const MAX_DEPTH = 100;
