import {
  type FormatAnswer,
  joinPieces,
  type ReceivedHead,
  type RequestBatches,
  type RequestFormat,
  type RequestRefusals,
  standardRefusals,
} from "#receiving/requests";
import { JsonReader } from "#text/json";
import type { Steps } from "#work";
import type { ReceiverContext } from "../../plugin.js";
import type { SplunkHecReceiverConfig } from "./config.js";
import {
  CHANNEL_MISSING,
  HEC_HEALTHY,
  HEC_OK,
  HecError,
  hecErrorAnswer,
  INVALID_CHANNEL,
  NO_DATA,
  POST_ONLY,
} from "./hec-answers.js";
import { isFlat, metricsOf, type ReceivedEvent, readEvent } from "./hec-event.js";
import { HecLogWriter, HecMetricWriter } from "./write-events.js";

const RAW = "other/raw";
const OPEN_LIST = 0x5b;
const UUID = /^(?:urn:uuid:|\{)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?$/i;

/** Events as JSON, one after the other or as a list, and raw text. */
export function hecFormat(config: SplunkHecReceiverConfig, context: ReceiverContext): RequestFormat {
  const hasLogs = context.intakes.logs !== undefined;
  return {
    refusals: hecRefusals(),
    answerError: hecErrorAnswer,
    answerHead: (head) => answerHead(head, config.health_path),
    encodingOf: (_type, url) => (hasLogs && pathOf(url) === config.raw_path ? RAW : "other"),
    *toBatches(head, encoding, pieces, maxElements) {
      const body = joinPieces(pieces);
      const request = new HecRequest(config, context, tokenOf(head, config), maxElements);
      return yield* encoding === RAW ? request.readRaw(body, queryOf(head)) : request.readEvents(body);
    },
  };
}

function hecRefusals(): RequestRefusals {
  const standard = standardRefusals("An event", "any Content-Type");
  return {
    ...standard,
    unreadable: (error, limit) =>
      error instanceof HecError
        ? { httpStatus: error.answer.status, code: 3, message: error.answer.body }
        : standard.unreadable(error, limit),
  };
}

function pathOf(url = "/"): string {
  return url.split("?", 1)[0]!;
}

function queryOf({ url = "/" }: ReceivedHead): URLSearchParams {
  return new URLSearchParams(url.slice(pathOf(url).length));
}

function answerHead(head: ReceivedHead, healthPath: string): FormatAnswer | undefined {
  const path = pathOf(head.url);
  if (path === healthPath || (path === `${healthPath}/1.0` && head.method === "GET")) return HEC_HEALTHY;
  if (head.method !== "POST") return POST_ONLY;
  const channel = channelOf(head);
  if (channel === "") return CHANNEL_MISSING;
  if (channel !== undefined && !UUID.test(channel)) return INVALID_CHANNEL;
  const { headers } = head;
  if (Number(headers["content-length"] ?? 0) === 0 && headers["transfer-encoding"] === undefined) return NO_DATA;
  return undefined;
}

function channelOf(head: ReceivedHead): string | undefined {
  const header = head.headersDistinct["x-splunk-request-channel"]?.[0];
  if (header !== undefined || !head.url?.includes("?")) return header;
  return [...queryOf(head)].find(([name]) => name.toLowerCase() === "channel")?.[1];
}

function tokenOf({ headers }: ReceivedHead, { access_token_passthrough }: SplunkHecReceiverConfig): string {
  const { authorization = "" } = headers;
  return access_token_passthrough && authorization.startsWith("Splunk ") ? authorization.slice(7) : "";
}

/** One request on its way to batches. */
class HecRequest {
  private readonly context: ReceiverContext;
  private readonly splitting: SplunkHecReceiverConfig["splitting"];
  private readonly logs: HecLogWriter;
  private readonly metrics: HecMetricWriter;
  private readonly maxEvents: number;
  private count = 0;

  constructor(config: SplunkHecReceiverConfig, context: ReceiverContext, token: string, maxEvents: number) {
    this.context = context;
    this.splitting = config.splitting;
    this.maxEvents = maxEvents;
    this.logs = new HecLogWriter(config.hec_metadata_to_otel_attrs, token);
    this.metrics = new HecMetricWriter(config.hec_metadata_to_otel_attrs, token);
  }

  /** Throws a `HecError` if an event cannot be taken. */
  *readEvents(body: Buffer): Steps<RequestBatches> {
    const values = new JsonReader(body, () => HecError.invalidFormat());
    if (!values.hasNext) throw HecError.invalidFormat();
    for (const _ of values.isAt(OPEN_LIST) ? values.elements() : eventsIn(values)) {
      this.add(readEvent(values.next()));
      yield;
    }
    values.expectEnd();
    if (this.count === 0) throw new HecError(NO_DATA);
    return { batches: [...this.logs.finish(), ...this.metrics.finish()], success: HEC_OK };
  }

  private add(event: ReceivedEvent): void {
    if (!isFlat(event)) throw HecError.nestedFields(this.count);
    if (++this.count > this.maxEvents) throw HecError.invalidFormat();
    const metrics = metricsOf(event);
    const { intakes } = this.context;
    if (event.event === "metric" || metrics.length > 0) {
      if (intakes.metrics === undefined) throw HecError.unsupported("metric");
      this.metrics.add(event, metrics);
      return;
    }
    if (event.event === undefined) throw HecError.eventRequired();
    if (event.event === "") throw HecError.eventBlank();
    if (intakes.logs === undefined) throw HecError.unsupported("log");
    this.logs.add(event);
  }

  *readRaw(body: Buffer, query: URLSearchParams): Steps<RequestBatches> {
    const [host, source, sourcetype, index] = ["host", "source", "sourcetype", "index"].map(
      (name) => query.get(name) ?? "",
    ) as [string, string, string, string];
    const owner = { event: undefined, fields: {}, host, source, sourcetype, index, time: rawTime(query) };
    for (const line of this.splitting === "none" ? [body] : linesOf(body)) {
      if (line.length > MAX_RAW_BYTES) throw HecError.invalidFormat();
      this.logs.add({ ...owner, event: line.toString() });
      if (++this.count > this.maxEvents) throw HecError.invalidFormat();
      yield;
    }
    return { batches: [...this.logs.finish()], success: HEC_OK };
  }
}

/** Stops in front of each event; between two of them there may be blanks or a comma. */
function* eventsIn(values: JsonReader): Generator<void> {
  for (; values.hasNext; values.skipComma()) yield;
}

/** The parameter `time` of raw text, in seconds. */
function rawTime(query: URLSearchParams): number {
  const time = query.get("time");
  if (time === null) return 0;
  if (!/^\+?\d{1,10}$/.test(time)) throw HecError.invalidFormat();
  return Number(time) * 1e9;
}

/** Empty lines count, except behind the last newline. */
function* linesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; ) {
    const found = body.indexOf(NEWLINE, at);
    const end = found < 0 ? body.length : found;
    yield body.subarray(at, body[end - 1] === RETURN && end > at ? end - 1 : end);
    at = end + 1;
  }
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** A line is one event, and written in one go. */
const MAX_RAW_BYTES = 4 * 1024 * 1024;
