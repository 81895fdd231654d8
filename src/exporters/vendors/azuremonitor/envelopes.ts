import type { PointReader } from "#metrics";
import { decodeMessage, MESSAGES } from "#otlp/bytes";
import {
  type KeyValueTree,
  type PlainAttributes,
  plainAttributes,
  plainObject,
  plainValueAt,
  plainValueText,
} from "#otlp/json";
import { GAUGE_TAG, SUM_TAG } from "#otlp/metric-tags";
import { LOG_ATTRIBUTES_TAG, SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import { LogFields, SpanFields, StatusFields } from "#otlp/views";
import type { Batch, Tree } from "../../../plugin.js";
import { SeriesWalk, type VendorMetric } from "../series-walk.js";
import type { AzureMonitorConfig } from "./config.js";

const INTERNAL = 1;
const SERVER = 2;
const CONSUMER = 5;
const ERROR = 2;
const FORGET_MS = 3_600_000;
/** Kinds of metrics. */
const MEASUREMENT = 0;
const AGGREGATION = 1;
/** Longest texts, in characters, by the schema: longer ones are refused. */
export const MAX_KEY = 150;
const MAX_ROLE = 256;
const MAX_NAME = 1024;
const MAX_URL = 2048;
export const MAX_VALUE = 8192;
export const MAX_MESSAGE = 32_768;
/** Attributes that make a log record a custom event. */
export const EVENT_NAME = "microsoft.custom_event.name";
export const EVENT_MARKER = "APPLICATION_INSIGHTS_EVENT_MARKER_ATTRIBUTE";

/** The parts of a series that are the same in all of its envelopes. */
interface AzureSeries {
  readonly properties: Readonly<Record<string, string>>;
  readonly tags: Readonly<Record<string, string>>;
}

/** Writes records as envelopes of Application Insights, one JSON text each. */
export class EnvelopeWriter {
  readonly key: string;
  private readonly config: AzureMonitorConfig;
  private readonly walk: SeriesWalk<AzureSeries>;
  private points: { text: string; record: number }[] = [];

  constructor(key: string, config: AzureMonitorConfig) {
    this.key = key;
    this.config = config;
    this.walk = new SeriesWalk<AzureSeries>(
      {
        create: (metric, attributes) => ({
          properties: textsOf({ ...metric.resource, ...attributes }),
          tags: tagsOf(metric.resource),
        }),
        visit: (series, metric, point, record) => {
          const item = metricOf(metric, point);
          if (!Number.isFinite(item.value)) return "not_finite";
          const data = { ver: 2, metrics: [item], properties: series.properties };
          this.points.push({
            text: this.envelope("Metric", BigInt(point.timeMs) * 1_000_000n, series.tags, data),
            record,
          });
          return undefined;
        },
      },
      FORGET_MS,
    );
  }

  /** Returns the envelopes of data points, and how many points have none. */
  metrics(batch: Batch, now: number) {
    this.points = [];
    const skipped = this.walk.walk(batch.bytes, now);
    return { envelopes: this.points, skipped };
  }

  log(b: Uint8Array, start: number, end: number, resource: PlainAttributes, now: number): string {
    log.read(b, start, end);
    const attributes = plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG);
    const body = plainValueText(plainValueAt(b, log.bodyStart, log.bodyEnd));
    const time = nanosAt(b, log.timeAt) || nanosAt(b, log.observedAt) || BigInt(Math.trunc(now)) * 1_000_000n;
    const tags = {
      ...tagsOf(resource),
      ...idsOf(hexIn(b, log.traceStart, log.traceEnd), hexIn(b, log.spanStart, log.spanEnd)),
    };
    const properties = textsOf({ ...resource, ...attributes });
    const severityLevel = severityOf(log.severityNumber);
    const event = this.config.custom_events_enabled && (attributes[EVENT_NAME] ?? attributes[EVENT_MARKER]);
    if (event) return this.envelope("Event", time, tags, { ver: 2, name: cut(plainValueText(event), 512), properties });
    const isException = attributes["exception.type"] !== undefined || attributes["exception.message"] !== undefined;
    if (isException && this.config.exception_events_enabled)
      return this.envelope("Exception", time, tags, exceptionOf(attributes, properties, severityLevel));
    const message = cut(body, MAX_MESSAGE);
    return this.envelope("Message", time, tags, { ver: 2, message, severityLevel, properties });
  }

  span(b: Uint8Array, start: number, end: number, resource: PlainAttributes): string[] {
    span.read(b, start, end);
    status.read(b, span.statusStart, span.statusEnd);
    const attributes = plainAttributes(b, start, end, SPAN_ATTRIBUTES_TAG);
    const [traceId, spanId] = [hexIn(b, span.traceStart, span.traceEnd), hexIn(b, span.spanStart, span.spanEnd)];
    const parentId = hexIn(b, span.parentStart, span.parentEnd);
    const name = Buffer.prototype.utf8Slice.call(b, span.nameStart, span.nameEnd);
    const [from, to] = [nanosAt(b, span.startAt), nanosAt(b, span.endAt)];
    const isRequest = span.kind === SERVER || span.kind === CONSUMER;
    const code = plainValueText(attributes["http.response.status_code"] ?? attributes["http.status_code"]);
    const url = plainValueText(attributes["url.full"] ?? attributes["http.url"] ?? attributes["http.target"]);
    const common = {
      ver: 2,
      id: spanId,
      name: cut(name, MAX_NAME),
      duration: durationText(to > from ? to - from : 0n),
      success: isSuccess(code),
      properties: textsOf({ ...resource, ...attributes }),
    };
    const data = isRequest
      ? { ...common, responseCode: code || String(status.code), ...(url !== "" && { url: cut(url, MAX_URL) }) }
      : { ...common, resultCode: code || String(status.code), ...dependencyOf(attributes, url, span.kind) };
    const tags = {
      ...tagsOf(resource),
      ...idsOf(traceId, parentId),
      ...(isRequest && { "ai.operation.name": cut(name, MAX_NAME) }),
    };
    const envelopes = [this.envelope(isRequest ? "Request" : "RemoteDependency", from, tags, data)];
    if (this.config.spaneventsenabled && span.hasEvents)
      envelopes.push(...this.eventsOf(b, start, end, { ...tagsOf(resource), ...idsOf(traceId, spanId) }));
    return envelopes;
  }

  private eventsOf(b: Uint8Array, start: number, end: number, tags: object): string[] {
    const { events = [] } = decodeMessage(MESSAGES["Span"]!, b, start, end) as { events?: readonly Tree[] };
    return events.map((event) => {
      const attributes = plainObject(event["attributes"] as unknown as KeyValueTree[]);
      const properties = textsOf(attributes);
      const time = (event["timeUnixNano"] as bigint | undefined) ?? 0n;
      if (event["name"] === "exception")
        return this.envelope("Exception", time, tags, exceptionOf(attributes, properties, ERROR_LEVEL));
      return this.envelope("Message", time, tags, { ver: 2, message: plainValueText(event["name"]), properties });
    });
  }

  private envelope(type: string, nanos: bigint, tags: object, baseData: object): string {
    return JSON.stringify({
      name: `Microsoft.ApplicationInsights.${type}`,
      time: isoNanos(nanos),
      iKey: this.key,
      tags,
      data: { baseType: `${type}Data`, baseData },
    });
  }
}

const log = new LogFields();
const span = new SpanFields();
const status = new StatusFields();

function metricOf({ name, dataTag }: VendorMetric, { value, count, sum }: PointReader) {
  const isNumber = dataTag === GAUGE_TAG || dataTag === SUM_TAG;
  const short = cut(name, MAX_NAME);
  return isNumber
    ? { name: short, kind: MEASUREMENT, value, count: 1 }
    : { name: short, kind: AGGREGATION, value: sum, count };
}

/** The service's role, as the application map shows it. */
export function tagsOf(resource: PlainAttributes): Record<string, string> {
  const [name, namespace, instance] = ["service.name", "service.namespace", "service.instance.id"].map((key) =>
    plainValueText(resource[key]),
  );
  return {
    "ai.internal.sdkVersion": "sluice:1",
    ...(name !== "" && { "ai.cloud.role": cut(namespace === "" ? name! : `${namespace}.${name}`, MAX_ROLE) }),
    ...(instance !== "" && { "ai.cloud.roleInstance": cut(instance!, MAX_ROLE) }),
  };
}

function idsOf(traceId: string, parentId: string): Record<string, string> {
  return {
    ...(traceId !== "" && { "ai.operation.id": traceId }),
    ...(parentId !== "" && { "ai.operation.parentId": parentId }),
  };
}

function dependencyOf(attributes: PlainAttributes, url: string, kind: number): object {
  const text = (...keys: string[]) =>
    plainValueText(keys.map((key) => attributes[key]).find((each) => each !== undefined));
  const database = text("db.system.name", "db.system");
  const remote = database || text("messaging.system", "rpc.system") || (url === "" ? "InProc" : "HTTP");
  const type = kind <= INTERNAL ? "InProc" : cut(remote, MAX_NAME);
  const data = text("db.query.text", "db.statement") || url;
  const target = text("peer.service", "server.address", "net.peer.name");
  return {
    type,
    ...(data !== "" && { data: cut(data, MAX_VALUE) }),
    ...(target !== "" && { target: cut(target, MAX_NAME) }),
  };
}

function exceptionOf(attributes: PlainAttributes, properties: object, severityLevel: number | undefined): object {
  const stack = plainValueText(attributes["exception.stacktrace"]);
  const exception = {
    typeName: cut(plainValueText(attributes["exception.type"]) || "Error", MAX_NAME),
    message: cut(plainValueText(attributes["exception.message"]) || "no message", MAX_MESSAGE),
    hasFullStack: stack !== "",
    ...(stack !== "" && { stack: cut(stack, MAX_MESSAGE) }),
  };
  return { ver: 2, exceptions: [exception], severityLevel, properties };
}

const ERROR_LEVEL = 3;

/** Verbose, Information, Warning, Error, Critical. A record without a severity is information. */
export function severityOf(number: number): number {
  if (number === 0) return 1;
  return number < 9 ? 0 : number < 13 ? 1 : number < 17 ? 2 : number < 21 ? ERROR_LEVEL : 4;
}

/** Returns attributes as texts that are not too long. */
export function textsOf(attributes: PlainAttributes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [cut(key, MAX_KEY), cut(plainValueText(value), MAX_VALUE)]),
  );
}

function cut(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "");
}

/** The status of HTTP decides, and without one that of the span. */
function isSuccess(code: string): boolean {
  const number = Number(code || 0);
  return number === 0 ? status.code !== ERROR : number >= 100 && number < 400;
}

function hexIn(b: Uint8Array, start: number, end: number): string {
  return Buffer.prototype.hexSlice.call(b, start, end);
}

function nanosAt(b: Uint8Array, at: number): bigint {
  return at < 0 ? 0n : new DataView(b.buffer, b.byteOffset + at, 8).getBigUint64(0, true);
}

function isoNanos(nanos: bigint): string {
  const seconds = Math.min(Number(nanos / 1_000_000_000n), MAX_SECONDS);
  const rest = String(nanos % 1_000_000_000n).padStart(9, "0");
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${rest}Z`;
}

/** The end of the year 9999, beyond which there is no such time. */
const MAX_SECONDS = 253_402_300_799;

/** Days, hours, minutes, seconds: 0.00:00:01.500000. */
function durationText(nanos: bigint): string {
  const micros = nanos / 1000n;
  const seconds = micros / 1_000_000n;
  const two = (value: bigint) => String(value).padStart(2, "0");
  const clock = [(seconds / 3600n) % 24n, (seconds / 60n) % 60n, seconds % 60n].map(two).join(":");
  return `${seconds / 86_400n}.${clock}.${String(micros % 1_000_000n).padStart(6, "0")}`;
}
