import { z } from "zod";
import { ignored, section } from "../../../plugin.js";
import { googleCommonKeys, googleMetricKeys } from "../googlecloud/config.js";

export const googleManagedPrometheusSchema = z.strictObject({
  ...googleCommonKeys,
  metric: section(
    z.strictObject({
      ...googleMetricKeys,
      prefix: z.string().default("prometheus.googleapis.com").meta({ description: "The beginning of metric types." }),
      add_metric_suffixes: z
        .boolean()
        .default(true)
        .meta({ description: "Give metrics the suffixes of unit and type that Prometheus has." }),
      extra_metrics_config: section(
        z.strictObject({
          enable_target_info: ignored("target_info is not made"),
          enable_scope_info: z
            .boolean()
            .default(true)
            .meta({ description: "Make the scope the labels otel_scope_name and otel_scope_version." }),
        }),
      )
        .prefault({})
        .meta({ description: "Labels of the scope." }),
      known_domains: ignored("every metric is one of Prometheus"),
      service_resource_labels: ignored("job and instance identify the service"),
      instrumentation_library_labels: ignored("use extra_metrics_config.enable_scope_info"),
    }),
  )
    .prefault({})
    .meta({ description: "How metrics are sent." }),
  untyped_double_export: ignored("metrics of unknown type are gauges"),
});

export type GoogleManagedPrometheusConfig = z.infer<typeof googleManagedPrometheusSchema>;
