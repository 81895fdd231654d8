import { type Batch, defineExporter, type ExporterContext, Refusal, SIGNALS } from "../../../plugin.js";
import { endpointUrl, type GoogleApi, GoogleExporter } from "../google-exporter.js";
import { monitoredResource } from "../google-resource.js";
import { GoogleMetrics, googleLabels, resourceLabels } from "../google-series.js";
import { recordPages, writtenText } from "../record-pages.js";
import type { Destination, RefusedItems } from "../vendor-exporter.js";
import { type GoogleCloudConfig, googleCloudSchema } from "./config.js";
import { GoogleLogWriter } from "./log-entries.js";
import { googleSpan } from "./trace-spans.js";

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
    labelsOf: ({ resource, scopeName }, attributes) => ({
      ...resourceLabels(resource, metric.service_resource_labels, metric.resource_filters),
      ...(metric.instrumentation_library_labels && scopeName !== "" && { instrumentation_source: scopeName }),
      ...googleLabels(attributes),
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
        const spans: string[] = [];
        page.each((start, end, { resource }) => {
          spans.push(JSON.stringify(googleSpan(bytes, start, end, resource, project, config)));
        });
        return Buffer.from(`{"spans":[${spans.join(",")}]}`);
      },
    }));
  };
  const settings = {
    project: config.project,
    userAgent: config.user_agent.replace(/\s*\{\{version\}\}/g, ""),
    hasQuotaProject: config.destination_project_quota,
  };
  return new GoogleExporter(settings, context, [monitoring, tracing, logging], requestsOf);
}

function metricType(name: string, { metric }: GoogleCloudConfig): string {
  const [domain = ""] = name.split("/");
  const isKnown = metric.known_domains.some((known) => domain === known || domain.endsWith(`.${known}`));
  return isKnown || metric.prefix === "" ? name : `${metric.prefix}/${name}`;
}

/** Entries are written apart from each other: the error names those that were refused by their places. */
function refusedEntries(body: string): readonly RefusedItems[] | undefined {
  if (!body.includes("logEntryErrors")) return undefined;
  const { error } = JSON.parse(body) as {
    error?: { details?: { logEntryErrors?: Record<string, { message?: string }> }[] };
  };
  const errors = error?.details?.find((each) => each.logEntryErrors !== undefined)?.logEntryErrors;
  if (errors === undefined) return undefined;
  const byMessage = new Map<string, number[]>();
  for (const [place, { message = "" }] of Object.entries(errors))
    byMessage.set(message, [...(byMessage.get(message) ?? []), Number(place)]);
  return [...byMessage].map(([message, items]) => ({
    items,
    refusal: new Refusal("permanent", message || "the entry was refused", { category: "schema" }),
  }));
}
