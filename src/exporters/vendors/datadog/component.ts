import type { Http1Answer } from "#net";
import { decodeResponse, refusalOfUnreadable } from "#net/otlp";
import { answerReader, HttpPoster } from "#net/sending";
import { listOf } from "#text/json";
import { type Batch, defineExporter, type ExporterContext, Refusal, SIGNALS } from "../../../plugin.js";
import { recordPages, writtenText } from "../record-pages.js";
import { type Destination, VendorExporter, type VendorPart } from "../vendor-exporter.js";
import { type DatadogConfig, datadogSchema } from "./config.js";
import { DatadogLogWriter } from "./log-json.js";
import { DatadogSeries } from "./series-json.js";

/** Sends metrics and logs to Datadog's API, and traces to its OTLP intake. */
export const datadogExporter = defineExporter<DatadogConfig>({
  type: "datadog",
  summary: "Sends metrics and logs to Datadog's HTTP API, and traces to its OTLP intake.",
  signals: SIGNALS,
  schema: datadogSchema,
  create: createExporter,
});

/** The API takes 1000 logs and 5 MB in a request. Written as JSON, records become longer. */
const LOG_LIMITS = { maxRecords: 1000, maxBytes: 1024 * 1024 };

function createExporter(config: DatadogConfig, context: ExporterContext): VendorExporter {
  const { site, key } = config.api;
  if (config.metrics.histograms.mode === "distributions")
    context.logger.info(
      {},
      "Datadog's intake of distributions is not published: histograms are sent as <name>.count and <name>.sum",
    );
  const to = (
    base: URL | undefined,
    usual: string,
    path: string,
    type: string,
    isCompressed = true,
    more: Readonly<Record<string, string>> = {},
  ): Destination => {
    const url = new URL(base ?? usual);
    url.pathname = `${url.pathname.replace(/\/$/, "")}${path}`;
    const headers = {
      "Content-Type": type,
      "DD-API-KEY": key.trim(),
      ...(isCompressed && { "Content-Encoding": "gzip" }),
      ...more,
    };
    const poster = new HttpPoster(url, config, headers, context);
    return { poster, compression: isCompressed ? "gzip" : "none", read: answerOf(context) };
  };
  const metrics = to(config.metrics.endpoint, `https://api.${site}`, "/api/v2/series", "application/json");
  const { endpoint: logsUrl, use_compression: isCompressed } = config.logs;
  const logs = to(logsUrl, `https://http-intake.logs.${site}`, "/api/v2/logs", "application/json", isCompressed);
  const agentIntake = config.traces.endpoint?.hostname.startsWith("trace.agent.") ? undefined : config.traces.endpoint;
  const traces: Destination = {
    ...to(agentIntake, `https://otlp.${site}`, "/v1/traces", "application/x-protobuf", true, traceHeaders(config)),
    read: otlpAnswer(answerReader(context.clock)),
  };
  const series = new DatadogSeries(config, context.clock.now());
  const requestsOf = (batch: Batch): readonly VendorPart[] => {
    if (batch.signal === "metrics") return series.requests(batch, context.clock.now(), metrics);
    if (batch.signal === "traces")
      return [{ records: Array.from({ length: batch.count }, (_, i) => i), to: traces, encode: () => batch.bytes }];
    return recordPages(batch.bytes, LOG_LIMITS).map(({ page }) => ({
      records: page.records,
      to: logs,
      encode: () => writtenText((out) => new DatadogLogWriter(batch.bytes, out, config.hostname).write(page)),
    }));
  };
  return new VendorExporter([metrics, logs, traces], requestsOf, context);
}

/** Headers that tell the intake how to treat spans, as Datadog documents them. */
function traceHeaders({ traces }: DatadogConfig): Readonly<Record<string, string>> {
  const { span_name_as_resource_name, span_name_remappings, ignore_resources } = traces;
  const mapping = JSON.stringify({
    span_name_as_resource_name,
    ...(span_name_remappings && { span_name_remappings }),
    ...(ignore_resources && { ignore_resources }),
  });
  return { compute_stats: String(traces.compute_stats), "dd-otel-span-mapping": inAscii(mapping) };
}

/** Headers have only characters of ASCII; JSON can escape the others. */
function inAscii(json: string): string {
  return json.replace(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Datadog answers 403 to an unknown key. A request that it accepts with 202 can still have errors, which do not say what
 * they concern.
 */
function answerOf({ clock }: ExporterContext): Destination["read"] {
  const read = answerReader(clock);
  return (answer) => {
    read(answer);
    const errors = errorsIn(answer.body);
    if (errors.length > 0)
      throw new Refusal("permanent", `HTTP ${answer.status}: ${errors.join("; ").slice(0, 300)}`, {
        status: `HTTP ${answer.status}`,
        category: "schema",
      });
    return undefined;
  };
}

function errorsIn(body: Buffer): readonly unknown[] {
  if (!body.includes('"errors"')) return [];
  try {
    return listOf(JSON.parse(body.toString("utf8")), "errors");
  } catch {
    return [];
  }
}

function otlpAnswer(read: (answer: Http1Answer) => void): Destination["read"] {
  return (answer) => {
    read(answer);
    const partial = decodeResponse("traces", "proto", answer.body);
    if (partial === "unreadable") throw refusalOfUnreadable("/v1/traces", "it is not an answer to an export");
    if (partial !== undefined && partial.rejected > 0)
      throw new Refusal("permanent", partial.message || "spans were rejected", { category: "schema" });
    return undefined;
  };
}
