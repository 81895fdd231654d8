import { z } from "zod";
import { ignored, section } from "../../plugin.js";

const BY_EXPORTER = "set it under traces of the exporter datadog";
const BY_INTAKE = "Datadog computes trace metrics from the spans that it gets";

export const datadogConnectorSchema = z.strictObject({
  traces: section(
    z.strictObject({
      ignore_resources: ignored(BY_EXPORTER),
      span_name_remappings: ignored(BY_EXPORTER),
      span_name_as_resource_name: ignored(BY_EXPORTER),
      compute_stats_by_span_kind: ignored(BY_INTAKE),
      compute_top_level_by_span_kind: ignored(BY_INTAKE),
      peer_service_aggregation: ignored(BY_INTAKE),
      peer_tags_aggregation: ignored(BY_INTAKE),
      peer_tags: ignored(BY_INTAKE),
      resource_attributes_as_container_tags: ignored(BY_INTAKE),
      bucket_interval: ignored(BY_INTAKE),
      trace_buffer: ignored("nothing is held here"),
      obfuscation: ignored("use the processor redaction or pii"),
    }),
  )
    .prefault({})
    .meta({ description: "The Collector's keys. They have no effect here." }),
});

export type DatadogConnectorConfig = z.infer<typeof datadogConnectorSchema>;
