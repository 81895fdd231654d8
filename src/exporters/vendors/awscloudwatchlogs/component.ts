import { type Batch, defineExporter, type ExporterContext, Refusal } from "../../../plugin.js";
import { CloudWatchLogs, groupNameFor, type LogEvent, streamNameFor } from "../cloudwatch-logs.js";
import { recordPages } from "../record-pages.js";
import { VendorExporter, type VendorPart } from "../vendor-exporter.js";
import { type AwsCloudWatchLogsConfig, awsCloudWatchLogsSchema } from "./config.js";
import { LogMessages } from "./log-message.js";

/** Puts log records into CloudWatch Logs. */
export const awsCloudWatchLogsExporter = defineExporter<AwsCloudWatchLogsConfig>({
  type: "awscloudwatchlogs",
  summary: "Puts log records into log streams of Amazon CloudWatch.",
  signals: ["logs"],
  schema: awsCloudWatchLogsSchema,
  create: (config, context) => createExporter(config, context),
});

/** CloudWatch takes no longer event. */
const MAX_EVENT_BYTES = 1_048_576;
const NO_LIMITS = { maxRecords: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

function createExporter(config: AwsCloudWatchLogsConfig, context: ExporterContext): VendorExporter {
  const client = new CloudWatchLogs(config, context);
  const { log_group_name: group, log_stream_name: stream } = config;
  const requestsOf = (batch: Batch) =>
    recordPages(batch.bytes, NO_LIMITS, (resource) =>
      JSON.stringify([groupNameFor(group, resource), streamNameFor(stream, resource)]),
    ).flatMap(({ key, page }) => {
      const [groupName, streamName] = JSON.parse(key) as [string, string];
      const messages = new LogMessages(batch.bytes, config.raw_log);
      const now = context.clock.now();
      const events: LogEvent[] = [];
      const refused: VendorPart[] = [];
      let at = 0;
      page.each((start, end, owner) => {
        const records = [page.records[at++]!];
        const length = end - start > MAX_EVENT_BYTES ? messages.bodyLength(start, end) : 0;
        if (length > MAX_EVENT_BYTES) return void refused.push({ records, refusal: tooLong(length) });
        const message = messages.messageOf(start, end, owner);
        events.push({ timeMs: messages.timeMs || now, message, records });
      });
      return [...refused, ...client.requestsOf(groupName, streamName, events)];
    });
  return new VendorExporter([client.destination], requestsOf, context);
}

function tooLong(length: number): Refusal {
  const message = `the body has ${length} bytes; CloudWatch takes events of up to ${MAX_EVENT_BYTES}`;
  return new Refusal("permanent", message, { category: "schema" });
}
