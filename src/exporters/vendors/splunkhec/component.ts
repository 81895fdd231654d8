import { type Http1Answer, isHeader } from "#net";
import { answerReader, HttpPoster } from "#net/sending";
import { decodeText, message } from "#otlp/bytes";
import { type PlainAttributes, plainValueText } from "#otlp/json";
import { SCOPE_NAME_TAG } from "#otlp/tags";
import { type Batch, defineExporter, type ExporterContext, Refusal, SIGNALS } from "../../../plugin.js";
import { type RecordOwner, recordPages } from "../record-pages.js";
import { type Destination, VendorExporter, type VendorPart, type VendorRequest } from "../vendor-exporter.js";
import { type SplunkHecConfig, splunkHecSchema } from "./config.js";
import { type HecEvent, TOKEN_ATTRIBUTE } from "./event-head.js";
import { MetricEvents } from "./metric-events.js";
import { RecordEvents } from "./record-events.js";

/** Sends to Splunk's HTTP Event Collector. */
export const splunkHecExporter = defineExporter<SplunkHecConfig>({
  type: "splunk_hec",
  summary: "Sends logs, metrics and spans to Splunk's HTTP Event Collector, as events.",
  signals: SIGNALS,
  schema: splunkHecSchema,
  create: (config, context) => createExporter(config, context),
});

const DEFAULT_PATH = "/services/collector";
const APP_VERSION = "1";
const PROFILING_SCOPE = "otel.profiling";

function createExporter(config: SplunkHecConfig, context: ExporterContext): VendorExporter {
  const destination = destinationOf(config, context);
  const records = new RecordEvents(config);
  const ownToken = config.token.trim();
  const tokenOf = (resource: PlainAttributes) => plainValueText(resource[TOKEN_ATTRIBUTE]) || ownToken;
  const metrics = new MetricEvents(config, tokenOf);
  const to = (token: string, more: Readonly<Record<string, string>> = {}): Destination => ({
    ...(token === ownToken ? destination : { ...destination, read: (answer) => readForeign(answer, destination) }),
    headersOf: () => ({ Authorization: authorization(token), ...more }),
  });
  const metricRequests = (batch: Batch): VendorPart[] =>
    [...metrics.ofBatch(batch, context.clock.now())].flatMap(([token, events]) =>
      requestsOf(events, config.max_content_length_metrics, config.max_event_size, to(token)),
    );
  const recordRequests = (batch: Batch): VendorPart[] => {
    const isLogs = batch.signal === "logs";
    const maxBytes = isLogs ? config.max_content_length_logs : config.max_content_length_traces;
    const longest = Math.min(maxBytes, config.max_event_size);
    const pages = recordPages(batch.bytes, { maxRecords: Number.POSITIVE_INFINITY, maxBytes }, tokenOf);
    return pages.flatMap(({ key: token, page }) => {
      const events: HecEvent[] = [];
      const profiles: HecEvent[] = [];
      const refused: VendorPart[] = [];
      let at = 0;
      page.each((start, end, owner) => {
        const place = page.records[at++]!;
        const isProfile = isLogs && isProfiling(batch.bytes, owner);
        if (isLogs && !(isProfile ? config.profiling_data_enabled : config.log_data_enabled)) return;
        const atLeast = isLogs && end - start > longest ? records.bodyLength(batch.bytes, start, end) : 0;
        if (atLeast > longest) return void refused.push({ records: [place], refusal: tooLong(atLeast, longest) });
        const text = eventOf(batch, start, end, owner);
        if (text !== undefined) (isProfile ? profiles : events).push({ text, records: [place] });
      });
      return [
        ...refused,
        ...requestsOf(events, maxBytes, config.max_event_size, to(token)),
        ...requestsOf(
          profiles,
          maxBytes,
          config.max_event_size,
          to(token, { "X-Splunk-Instrumentation-Library": PROFILING_SCOPE }),
        ),
      ];
    });
  };
  const eventOf = ({ bytes, signal }: Batch, start: number, end: number, { resource }: RecordOwner) => {
    if (signal === "traces") return records.span(bytes, start, end, resource);
    return config.export_raw ? records.rawLog(bytes, start, end) : records.log(bytes, start, end, resource);
  };
  const partsOf = (batch: Batch) => (batch.signal === "metrics" ? metricRequests(batch) : recordRequests(batch));
  return new VendorExporter([destination], partsOf, context);
}

function destinationOf(config: SplunkHecConfig, context: ExporterContext): Destination {
  const url = new URL(config.endpoint);
  if (url.pathname === "/") url.pathname = DEFAULT_PATH;
  const { splunk_app_name: app, splunk_app_version: version, disable_compression: isPlain } = config;
  const headers = {
    "Content-Type": "application/json",
    "User-Agent": `${app}/${version || APP_VERSION}`,
    __splunk_app_name: app,
    __splunk_app_version: version || APP_VERSION,
    ...(!isPlain && { "Content-Encoding": "gzip" }),
  };
  const read = answerReader(context.clock);
  return {
    poster: new HttpPoster(url, config, headers, context),
    compression: isPlain ? "none" : "gzip",
    read: (answer) => void read(answer),
  };
}

/**
 * Reads the answer to a request with the token of a resource. If Splunk does not know that token, only these records are
 * refused: a client must not be able to hold the data of all others.
 */
function readForeign(answer: Http1Answer, { read }: Destination): ReturnType<Destination["read"]> {
  if (answer.status === 401 || answer.status === 403) throw badToken("Splunk does not accept it");
  return read(answer);
}

function authorization(token: string): string {
  const value = `Splunk ${token}`;
  if (!isHeader("Authorization", value)) throw badToken("it has characters that no header may have");
  return value;
}

function badToken(reason: string): Refusal {
  const message = `the token in the resource attribute ${TOKEN_ATTRIBUTE} cannot be used: ${reason}`;
  return new Refusal("permanent", message, { category: "schema" });
}

/** Divides events into requests of at most `maxBytes`. Those longer than `maxEventSize` are not sent. */
function requestsOf(
  events: readonly HecEvent[],
  maxBytes: number,
  maxEventSize: number,
  to: Destination,
): VendorPart[] {
  const requests: VendorPart[] = [];
  let page: HecEvent[] = [];
  let length = 0;
  const end = () => {
    if (page.length > 0) requests.push(requestOf(page, to));
    page = [];
    length = 0;
  };
  for (const event of events) {
    const size = Buffer.byteLength(event.text);
    if (size > maxEventSize || size > maxBytes) {
      requests.push({ records: event.records, refusal: tooLong(size, Math.min(maxEventSize, maxBytes)) });
      continue;
    }
    if (length + size > maxBytes) end();
    page.push(event);
    length += size;
  }
  end();
  return requests;
}

function requestOf(events: readonly HecEvent[], to: Destination): VendorRequest {
  return {
    records: [...new Set(events.flatMap(({ records }) => records))],
    to,
    encode: () => Buffer.from(events.map(({ text }) => text).join("")),
  };
}

function tooLong(size: number, limit: number): Refusal {
  const message = `the event has at least ${size} bytes; max_event_size and max_content_length allow ${limit}`;
  return new Refusal("permanent", message, { category: "schema" });
}

function isProfiling(b: Uint8Array, { scopeStart, scopeEnd }: RecordOwner): boolean {
  return decodeText(b, ...message(b, scopeStart, scopeEnd, SCOPE_NAME_TAG)) === PROFILING_SCOPE;
}
