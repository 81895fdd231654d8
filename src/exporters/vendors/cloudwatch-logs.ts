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

/** The service takes 10,000 events and 1 MiB in a request, and counts 26 bytes more for each event. */
const MAX_EVENTS = 10_000;
const MAX_BYTES = 1_000_000;
const EVENT_OVERHEAD = 26;

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
      headersOf: (body) => this.requests.sign(body, targetOf("PutLogEvents")),
      read: (answer) => this.readPut(answer),
    };
  }

  /** Makes the requests for the events of one stream, which are sorted by time. */
  requestsOf(group: string, stream: string, events: LogEvent[]): VendorRequest[] {
    events.sort((a, b) => a.timeMs - b.timeMs);
    const requests: VendorRequest[] = [];
    for (let from = 0; from < events.length; ) {
      let to = from;
      for (let bytes = 0; to < events.length && to - from < MAX_EVENTS; to++) {
        bytes += Buffer.byteLength(events[to]!.message) + EVENT_OVERHEAD;
        if (bytes > MAX_BYTES && to > from) break;
      }
      const page = events.slice(from, to);
      requests.push({
        records: [...new Set(page.flatMap(({ records }) => records))],
        itemRecords: page.map(({ records }) => records),
        to: this.destination,
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

  private readPut(answer: Http1Answer): readonly RefusedItems[] | undefined {
    const error = this.requests.readError(answer, (type) => /ResourceNotFound|DataAlreadyAccepted/.test(type));
    if (error === "ResourceNotFoundException") {
      this.known.clear(); // somebody has deleted the stream: the next attempt makes it again
      throw new Refusal("transient", "the log group or stream does not exist any more", { status: error });
    }
    return error === undefined ? refusedEvents(answer.body) : undefined;
  }
}

function targetOf(action: string): Readonly<Record<string, string>> {
  return { "x-amz-target": `Logs_20140328.${action}` };
}

function bodyOf(group: string, stream: string, events: readonly LogEvent[]): Uint8Array {
  const items = events.map(({ timeMs, message }) => `{"timestamp":${timeMs},"message":${message}}`);
  const head = `{"logGroupName":${JSON.stringify(group)},"logStreamName":${JSON.stringify(stream)}`;
  return Buffer.from(`${head},"logEvents":[${items.join(",")}]}`);
}

/** A success may tell that events were too old or too new: the others were stored. */
function refusedEvents(body: Buffer): readonly RefusedItems[] | undefined {
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
      : [refused(places(info.tooNewLogEventStartIndex, MAX_EVENTS), "too far in the future")]),
  ];
}

/** Names in braces that log groups and streams may contain, and the resource attributes they stand for. */
const PLACEHOLDERS: Readonly<Record<string, readonly string[]>> = {
  ClusterName: ["ClusterName", "k8s.cluster.name", "aws.ecs.cluster.name"],
  NodeName: ["NodeName", "k8s.node.name"],
  TaskId: ["TaskId", "aws.ecs.task.id"],
  ServiceName: ["ServiceName", "service.name"],
  PodName: ["PodName", "k8s.pod.name"],
  ContainerInstanceId: ["ContainerInstanceId", "aws.ecs.container.instance.id"],
  TaskDefinitionFamily: ["TaskDefinitionFamily", "aws.ecs.task.family"],
  InstanceId: ["InstanceId", "service.instance.id"],
  FaasName: ["FaasName", "faas.name"],
  FaasVersion: ["FaasVersion", "faas.version"],
};

/** Returns the name of a log group or stream for a resource. What the resource lacks is "undefined", as in the Collector. */
export function nameFor(pattern: string, resource: PlainAttributes): string {
  if (!pattern.includes("{")) return pattern;
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const keys = PLACEHOLDERS[name];
    if (keys === undefined) return whole;
    const key = keys.find((each) => resource[each] !== undefined);
    const text = key === undefined ? "undefined" : plainValueText(resource[key]);
    return text.replace(/[^\w./#-]/g, "_").slice(0, MAX_NAME_PART);
  });
}

const MAX_NAME_PART = 256;
