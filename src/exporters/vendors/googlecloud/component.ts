import { type Batch, defineExporter, type ExporterContext, Refusal, SIGNALS } from "../../../plugin.js";
import { endpointUrl, type GoogleApi, type GoogleError, GoogleExporter, refusedSeries } from "../google-exporter.js";
import { monitoredResource } from "../google-resource.js";
import { GoogleMetrics, googleLabels, resourceLabels } from "../google-series.js";
import { recordPages, writtenText } from "../record-pages.js";
import type { Destination, RefusedItems } from "../vendor-exporter.js";
import { type GoogleCloudConfig, googleCloudSchema } from "./config.js";
import { GoogleLogWriter } from "./log-entries.js";
import { GoogleSpanWriter } from "./trace-spans.js";

/** Sends to Cloud Logging, Cloud Monitoring and Cloud Trace. */
export const googleCloudExporter = defineExporter<GoogleCloudConfig>({
  type: "googlecloud",
  summary: "Sends logs, metrics and spans to Google Cloud's Logging, Monitoring and Trace.",
  signals: SIGNALS,
  schema: googleCloudSchema,
  create: (config, context) => createExporter(config, context),
});

/** Cloud Logging takes 10 MB in a request; a thousand records are far below. */
const LOG_LIMITS = { maxRecords: 1000, maxBytes: 2 * 1024 * 1024 };
const SPAN_LIMITS = { maxRecords: 500, maxBytes: 1024 * 1024 };

function createExporter(config: GoogleCloudConfig, context: ExporterContext): GoogleExporter {
  const { metric, trace, log } = config;
  const monitoring: GoogleApi = {
    endpoint: endpointUrl(metric.endpoint, "monitoring.googleapis.com", metric.use_insecure),
    pathOf: (project) => `/v3/projects/${project}/timeSeries`,
    readItems: refusedSeries,
  };
  const tracing: GoogleApi = {
    endpoint: endpointUrl(trace.endpoint, "cloudtrace.googleapis.com", trace.use_insecure),
    pathOf: (project) => `/v2/projects/${project}/traces:batchWrite`,
  };
  const logging: GoogleApi = {
    endpoint: endpointUrl(log.endpoint, "logging.googleapis.com", log.use_insecure),
    pathOf: () => "/v2/entries:write",
    readItems: refusedEntries,
  };
  const metrics = new GoogleMetrics({
    resourceOf: (resource) => monitoredResource(resource),
    typeOf: ({ name }, suffix) => metricType(name + suffix, config),
    labelsOf: ({ resource, scopeName, scopeVersion }, attributes) => ({
      ...googleLabels(attributes),
      ...(metric.instrumentation_library_labels && {
        ...(scopeName !== "" && { instrumentation_source: scopeName }),
        ...(scopeVersion !== "" && { instrumentation_version: scopeVersion }),
      }),
      ...googleLabels(resourceLabels(resource, metric.service_resource_labels, metric.resource_filters)),
    }),
  });
  const requestsOf = (batch: Batch, project: string, to: (api: GoogleApi) => Destination) => {
    if (batch.signal === "metrics") return metrics.requests(batch, context.clock.now(), to(monitoring));
    const { bytes } = batch;
    if (batch.signal === "logs")
      return recordPages(bytes, LOG_LIMITS).map(({ page }) => ({
        records: page.records,
        to: to(logging),
        encode: () => writtenText((out) => new GoogleLogWriter(bytes, out, project, config).write(page)),
      }));
    return recordPages(bytes, SPAN_LIMITS).map(({ page }) => ({
      records: page.records,
      to: to(tracing),
      encode() {
        const writer = new GoogleSpanWriter(bytes, project, config);
        const spans: string[] = [];
        page.each((start, end, owner) => {
          spans.push(JSON.stringify(writer.span(start, end, owner)));
        });
        return Buffer.from(`{"spans":[${spans.join(",")}]}`);
      },
    }));
  };
  const settings = {
    project: config.project,
    userAgent: config.user_agent.replace(/\s?\{\{version\}\}/g, ""),
    hasQuotaProject: config.destination_project_quota,
  };
  return new GoogleExporter(settings, context, [monitoring, tracing, logging], requestsOf);
}

function metricType(name: string, { metric }: GoogleCloudConfig): string {
  const isKnown = metric.known_domains.some((known) => name.includes(known));
  return isKnown || metric.prefix === "" ? name : `${metric.prefix}/${name}`;
}

/**
 * Entries are written apart from each other (`partialSuccess`). The error names those that were refused for good by
 * their places; the others were written.
 */
function refusedEntries({ details }: GoogleError): readonly RefusedItems[] | undefined {
  const errors = details.find((each) => each["logEntryErrors"] !== undefined)?.["logEntryErrors"];
  if (typeof errors !== "object" || errors === null) return undefined;
  const groups = new Map<string, { items: number[]; refusal: Refusal }>();
  for (const [place, each] of Object.entries(errors)) {
    const { code = INVALID_ARGUMENT, message = "" } = each as { code?: number; message?: string };
    const key = `${code} ${message}`;
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { items: [], refusal: refusalOfEntry(code, message) }));
    group.items.push(Number(place));
  }
  return [...groups.values()];
}

/** Codes of google.rpc.Code. */
const INVALID_ARGUMENT = 3;
/** DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE. */
const RETRYABLE: ReadonlySet<number> = new Set([4, 8, 10, 13, 14]);
/** NOT_FOUND, PERMISSION_DENIED, UNAUTHENTICATED: about the log's project, not about the entry. */
const ABOUT_PROJECT: ReadonlySet<number> = new Set([5, 7, 16]);

function refusalOfEntry(code: number, message: string): Refusal {
  const text = message || "the entry was refused";
  if (RETRYABLE.has(code)) return new Refusal("transient", text);
  return new Refusal("permanent", text, { category: ABOUT_PROJECT.has(code) ? "integration" : "schema" });
}
