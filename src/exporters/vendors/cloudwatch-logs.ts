import type { Http1Answer } from "#net";
import type { PlainAttributes } from "#otlp/json";
import { plainValueText } from "#otlp/json";
import { type ExporterContext, Refusal } from "../../plugin.js";
import type { AwsSessionConfig } from "./aws-keys.js";
import { AwsRequests } from "./aws-requests.js";
import type { Destination, RefusedItems, VendorRequest } from "./vendor-exporter.js";

/** An event of a log stream, and the records in it. */
export interface LogEvent {
  readonly timeMs: number;
  /** The message as JSON, in quotes. */
  readonly message: string;
  readonly records: readonly number[];
}

interface LogGroupSettings extends AwsSessionConfig {
  readonly log_retention: number;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/**
 * PutLogEvents takes 10,000 events and 1 MiB in a request, and counts 26 bytes more for each event. It refuses a request
 * whose events are more than 24 hours apart.
 */
const MAX_EVENTS = 10_000;
const MAX_BYTES = 1_048_576;
const EVENT_OVERHEAD = 26;
const MAX_SPAN_MS = 24 * 3_600_000;

/** Puts events into log streams of CloudWatch, and makes groups and streams that are missing. */
export class CloudWatchLogs {
  readonly destination: Destination;
  private readonly requests: AwsRequests;
  private readonly settings: LogGroupSettings;
  /** Streams that exist. */
  private readonly known = new Set<string>();

  constructor(settings: LogGroupSettings, context: ExporterContext) {
    this.settings = settings;
    this.requests = new AwsRequests("logs", "/", "application/x-amz-json-1.1", settings, context);
    this.destination = {
      poster: this.requests.poster,
      compression: "none",
      headersOf: (body) => this.requests.sign(body, { ...targetOf("PutLogEvents"), ...EMF_HEADER }),
      read: (answer) => this.readPut(answer, 0),
    };
  }

  /** Makes the requests for the events of one stream, which are sorted by time. */
  requestsOf(group: string, stream: string, events: LogEvent[]): VendorRequest[] {
    events.sort((a, b) => a.timeMs - b.timeMs);
    const requests: VendorRequest[] = [];
    for (let from = 0; from < events.length; ) {
      let to = from;
      for (let bytes = 0; to < events.length && to - from < MAX_EVENTS; to++) {
        const { message, timeMs } = events[to]!;
        // Quotes and escapes count too, which is a little too much.
        bytes += Buffer.byteLength(message) + EVENT_OVERHEAD;
        if (to > from && (bytes > MAX_BYTES || timeMs - events[from]!.timeMs > MAX_SPAN_MS)) break;
      }
      const page = events.slice(from, to);
      requests.push({
        records: [...new Set(page.flatMap(({ records }) => records))],
        itemRecords: page.map(({ records }) => records),
        to: { ...this.destination, read: (answer) => this.readPut(answer, page.length) },
        prepare: (abort) => this.makeStream(group, stream, abort),
        encode: () => bodyOf(group, stream, page),
      });
      from = to;
    }
    return requests;
  }

  private async makeStream(group: string, stream: string, abort: AbortSignal): Promise<void> {
    const key = `${group}\n${stream}`;
    if (this.known.has(key)) return;
    const names = { logGroupName: group, logStreamName: stream };
    const missing = await this.call("CreateLogStream", names, abort, /ResourceAlreadyExists|ResourceNotFound/);
    if (missing === "ResourceNotFoundException") {
      const { tags, log_retention: days } = this.settings;
      await this.call("CreateLogGroup", { logGroupName: group, ...(tags && { tags }) }, abort, /ResourceAlreadyExists/);
      if (days > 0) await this.call("PutRetentionPolicy", { logGroupName: group, retentionInDays: days }, abort);
      await this.call("CreateLogStream", names, abort, /ResourceAlreadyExists/);
    }
    this.known.add(key);
  }

  /** Returns the type of an error that is expected. */
  private async call(
    action: string,
    parameters: object,
    abort: AbortSignal,
    expected = /^$/,
  ): Promise<string | undefined> {
    const body = Buffer.from(JSON.stringify(parameters));
    const headers = await this.requests.sign(body, targetOf(action));
    const read = (answer: Http1Answer) => this.requests.readError(answer, (type) => expected.test(type));
    return this.requests.poster.post([body], abort, undefined, read, headers);
  }

  private readPut(answer: Http1Answer, count: number): readonly RefusedItems[] | undefined {
    const error = this.requests.readError(answer, (type) => /ResourceNotFound|DataAlreadyAccepted/.test(type));
    if (error === "ResourceNotFoundException") {
      this.known.clear(); // the stream was deleted: the next attempt makes it again
      throw new Refusal("transient", "the log group or stream no longer exists", { status: error });
    }
    return error === undefined ? refusedEvents(answer.body, count) : undefined;
  }
}

/** Asks CloudWatch to make metrics of events in the embedded metric format. Others stay as they are. */
const EMF_HEADER = { "x-amzn-logs-format": "json/emf" };

function targetOf(action: string): Readonly<Record<string, string>> {
  return { "x-amz-target": `Logs_20140328.${action}` };
}

function bodyOf(group: string, stream: string, events: readonly LogEvent[]): Uint8Array {
  const items = events.map(({ timeMs, message }) => `{"timestamp":${timeMs},"message":${message}}`);
  const head = `{"logGroupName":${JSON.stringify(group)},"logStreamName":${JSON.stringify(stream)}`;
  return Buffer.from(`${head},"logEvents":[${items.join(",")}]}`);
}

/** A success may tell that events were too old or too new: the others were stored. */
function refusedEvents(body: Buffer, count: number): readonly RefusedItems[] | undefined {
  const text = body.toString("utf8");
  if (!text.includes("rejectedLogEventsInfo")) return undefined;
  const { rejectedLogEventsInfo: info } = JSON.parse(text) as {
    rejectedLogEventsInfo?: {
      tooNewLogEventStartIndex?: number;
      tooOldLogEventEndIndex?: number;
      expiredLogEventEndIndex?: number;
    };
  };
  const refused = (items: readonly number[], problem: string): RefusedItems => ({
    items,
    refusal: new Refusal("permanent", `the event is ${problem}`, { category: "business" }),
  });
  const places = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
  const oldEnd = Math.max(info?.tooOldLogEventEndIndex ?? 0, info?.expiredLogEventEndIndex ?? 0);
  return [
    ...(oldEnd > 0 ? [refused(places(0, oldEnd), "too old for its log group")] : []),
    ...(info?.tooNewLogEventStartIndex === undefined
      ? []
      : [refused(places(info.tooNewLogEventStartIndex, count), "too far in the future")]),
  ];
}

/**
 * Names in braces that log groups and streams may contain, and the resource attributes they stand for, beside one of the
 * same name.
 */
const PLACEHOLDERS: Readonly<Record<string, readonly string[]>> = {
  ClusterName: ["aws.ecs.cluster.name", "k8s.cluster.name"],
  NodeName: ["k8s.node.name"],
  TaskId: ["aws.ecs.task.id"],
  ServiceName: ["service.name"],
  PodName: ["pod", "k8s.pod.name"],
  ContainerInstanceId: ["aws.ecs.container.instance.id"],
  TaskDefinitionFamily: ["aws.ecs.task.family"],
  InstanceId: ["service.instance.id"],
  FaasName: ["faas.name"],
  FaasVersion: ["faas.version"],
};

/** Returns the first name in braces that has no meaning. */
export function unknownPlaceholder(pattern: string): string | undefined {
  for (const [, name = ""] of pattern.matchAll(/\{([^{}]*)\}/g)) if (PLACEHOLDERS[name] === undefined) return name;
  return undefined;
}

/** Returns the name of a log group for a resource. Characters that CloudWatch does not take are underscores. */
export function groupNameFor(pattern: string, resource: PlainAttributes): string {
  return nameFor(pattern, resource)
    .replace(/[^\w./#-]/g, "_")
    .slice(0, MAX_NAME);
}

/** Returns the name of a log stream for a resource. */
export function streamNameFor(pattern: string, resource: PlainAttributes): string {
  return nameFor(pattern, resource).replace(/[:*]/g, "_").slice(0, MAX_NAME);
}

/** An attribute that the resource lacks becomes "undefined", as in the Collector. */
function nameFor(pattern: string, resource: PlainAttributes): string {
  if (!pattern.includes("{")) return pattern;
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const keys = PLACEHOLDERS[name];
    if (keys === undefined) return whole;
    const key = [name, ...keys].find((each) => resource[each] !== undefined);
    return (key === undefined ? "" : plainValueText(resource[key])) || "undefined";
  });
}

const MAX_NAME = 512;
