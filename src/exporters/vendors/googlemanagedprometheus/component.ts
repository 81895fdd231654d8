import { metricName, nameRules } from "#metrics";
import { EXPONENTIAL_HISTOGRAM_TAG, HISTOGRAM_TAG, SUM_TAG, SUMMARY_TAG } from "#otlp/metric-tags";
import { defineExporter, type ExporterContext } from "../../../plugin.js";
import { endpointUrl, type GoogleApi, GoogleExporter, refusedSeries } from "../google-exporter.js";
import { prometheusTarget } from "../google-resource.js";
import { GoogleMetrics, googleLabels, resourceLabels } from "../google-series.js";
import type { VendorMetric } from "../series-walk.js";
import { type GoogleManagedPrometheusConfig, googleManagedPrometheusSchema } from "./config.js";

/** Sends metrics to Google's managed service for Prometheus. */
export const googleManagedPrometheusExporter = defineExporter<GoogleManagedPrometheusConfig>({
  type: "googlemanagedprometheus",
  summary: "Sends metrics to Google Cloud's managed service for Prometheus.",
  signals: ["metrics"],
  schema: googleManagedPrometheusSchema,
  create: (config, context) => createExporter(config, context),
});

function createExporter(config: GoogleManagedPrometheusConfig, context: ExporterContext): GoogleExporter {
  const { metric } = config;
  const monitoring: GoogleApi = {
    endpoint: endpointUrl(metric.endpoint, "monitoring.googleapis.com", metric.use_insecure),
    pathOf: (project) => `/v3/projects/${project}/timeSeries`,
    readItems: refusedSeries,
  };
  const rules = nameRules("", metric.add_metric_suffixes, undefined);
  const metrics = new GoogleMetrics({
    resourceOf: prometheusTarget,
    typeOf: (each, suffix) => {
      const kind = kindOf(each);
      const name = metricName(
        each.name,
        each.unit,
        kind === "counter" ? "counter" : kind === "gauge" ? "gauge" : "other",
        rules,
      );
      return `${metric.prefix}/${name}${suffix}/${suffix === "_sum" ? "summary:counter" : kind}`;
    },
    labelsOf: ({ resource, scopeName, scopeVersion }, attributes) => ({
      ...googleLabels(attributes),
      ...(metric.extra_metrics_config.enable_scope_info && {
        ...(scopeName !== "" && { otel_scope_name: scopeName }),
        ...(scopeVersion !== "" && { otel_scope_version: scopeVersion }),
      }),
      ...googleLabels(resourceLabels(resource, false, metric.resource_filters)),
    }),
  });
  const settings = {
    project: config.project,
    userAgent: config.user_agent.replace(/\s?\{\{version\}\}/g, ""),
    hasQuotaProject: config.destination_project_quota,
  };
  return new GoogleExporter(settings, context, [monitoring], (batch, _project, to) =>
    metrics.requests(batch, context.clock.now(), to(monitoring)),
  );
}

function kindOf({ dataTag, isMonotonic }: VendorMetric): "counter" | "gauge" | "histogram" | "summary" {
  if (dataTag === SUM_TAG && isMonotonic) return "counter";
  if (dataTag === HISTOGRAM_TAG || dataTag === EXPONENTIAL_HISTOGRAM_TAG) return "histogram";
  return dataTag === SUMMARY_TAG ? "summary" : "gauge";
}
