import { decodeMessage, MESSAGES } from "#otlp/bytes";
import { jsonText, plainAttributes, plainValue, plainValueText } from "#otlp/json";
import { LOG_ATTRIBUTES_TAG } from "#otlp/tags";
import { type Batch, defineExporter, type ExporterContext } from "../../../plugin.js";
import { CloudWatchLogs, type LogEvent, nameFor } from "../cloudwatch-logs.js";
import { VendorLogFields } from "../record-fields.generated.js";
import { type RecordOwner, recordPages } from "../record-pages.js";
import { VendorExporter } from "../vendor-exporter.js";
import { type AwsCloudWatchLogsConfig, awsCloudWatchLogsSchema } from "./config.js";

/** Puts log records into CloudWatch Logs. */
export const awsCloudWatchLogsExporter = defineExporter<AwsCloudWatchLogsConfig>({
  type: "awscloudwatchlogs",
  summary: "Puts log records into log streams of Amazon CloudWatch.",
  signals: ["logs"],
  schema: awsCloudWatchLogsSchema,
  create: (config, context) => createExporter(config, context),
});

const NO_LIMITS = { maxRecords: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

function createExporter(config: AwsCloudWatchLogsConfig, context: ExporterContext): VendorExporter {
  const client = new CloudWatchLogs(config, context);
  const { log_group_name: group, log_stream_name: stream } = config;
  const requestsOf = (batch: Batch) =>
    recordPages(batch.bytes, NO_LIMITS, (resource) =>
      JSON.stringify([nameFor(group, resource), nameFor(stream, resource)]),
    ).flatMap(({ key, page }) => {
      const [groupName, streamName] = JSON.parse(key) as [string, string];
      const events: LogEvent[] = [];
      let at = 0;
      page.each((start, end, owner) => {
        const records = [page.records[at++]!];
        events.push({ ...eventOf(batch.bytes, start, end, owner, config, context.clock.now()), records });
      });
      return client.requestsOf(groupName, streamName, events);
    });
  return new VendorExporter([client.destination], requestsOf, context);
}

/** An event has a text as its message, which is the record as JSON, so its JSON is JSON in quotes. */
function eventOf(
  b: Uint8Array,
  start: number,
  end: number,
  { resource }: RecordOwner,
  { raw_log: isRaw }: AwsCloudWatchLogsConfig,
  now: number,
): Omit<LogEvent, "records"> {
  log.read(b, start, end);
  const time = timeMsAt(b, log.timeAt) || timeMsAt(b, log.observedAt) || now;
  const body = plainValue(decodeMessage(ANY_VALUE, b, log.bodyStart, log.bodyEnd));
  if (isRaw) return { timeMs: time, message: JSON.stringify(plainValueText(body) || " ") };
  const text = (from: number, to: number) => Buffer.prototype.utf8Slice.call(b, from, to);
  const hex = (from: number, to: number) => Buffer.prototype.hexSlice.call(b, from, to);
  const message = jsonText({
    body,
    severity_number: log.severityNumber || undefined,
    severity_text: text(log.severityStart, log.severityEnd) || undefined,
    trace_id: hex(log.traceStart, log.traceEnd) || undefined,
    span_id: hex(log.spanStart, log.spanEnd) || undefined,
    attributes: plainAttributes(b, start, end, LOG_ATTRIBUTES_TAG),
    resource,
  });
  return { timeMs: time, message: JSON.stringify(message) };
}

function timeMsAt(b: Uint8Array, at: number): number {
  if (at < 0) return 0;
  const view = new DataView(b.buffer, b.byteOffset + at, 8);
  return Number(view.getBigUint64(0, true) / 1_000_000n);
}

const log = new VendorLogFields();
const ANY_VALUE = MESSAGES["AnyValue"]!;
