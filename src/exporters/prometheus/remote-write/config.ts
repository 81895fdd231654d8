import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored, section } from "../../../plugin.js";
import { labels, translationKeys } from "../config.js";

/** The messages of remote write 1.0 and 2.0, by their names in Prometheus. */
export const MESSAGE_TYPES = ["prometheus.WriteRequest", "io.prometheus.write.v2.Request"] as const;

const QUEUE = "every exporter has a durable queue instead; its keys are under sending_queue";

const clientKeys = {
  endpoint: httpUrl()
    .optional()
    .meta({ description: "The remote write URL, such as http://prometheus:9090/api/v1/write." }),
  ...httpClientKeys(),
  compression: wordOrNone(caseInsensitiveEnum(["snappy"]))
    .optional()
    .meta({ description: "Always snappy." }),
  compression_params: ignored("snappy has no levels"),
};

export const remoteWriteSchema = z
  .strictObject({
    ...clientKeys,
    http: section(z.strictObject(clientKeys))
      .optional()
      .meta({ description: "The keys of the HTTP client in their own section; they override those next to it." }),
    ...translationKeys(),
    external_labels: labels().meta({ description: "Labels added to every series that has no label of that name." }),
    target_info: section(
      z.strictObject({ enabled: z.boolean().default(true).meta({ description: "Send target_info." }) }),
    )
      .optional()
      .meta({ description: "The metric target_info, which holds resource attributes." }),
    disable_scope_info: z.boolean().default(false).meta({ description: "Leave out the labels otel_scope_*." }),
    send_metadata: z
      .boolean()
      .default(false)
      .meta({ description: "Send type, help and unit of each metric with 1.0; 2.0 always has them." }),
    protobuf_message: z
      .enum(MESSAGE_TYPES)
      .default("prometheus.WriteRequest")
      .meta({ description: "Remote write 1.0 (prometheus.WriteRequest) or 2.0 (io.prometheus.write.v2.Request)." }),
    max_batch_size_bytes: z
      .number()
      .int()
      .nonnegative()
      .default(3_000_000)
      .transform((bytes) => bytes || 3_000_000)
      .meta({ description: "Maximum request size before compression; larger requests are sent in parts." }),
    max_batch_request_parallelism: ignored(
      "the parts of a batch are sent one after another, which keeps samples in order",
    ),
    remote_write_queue: ignored(QUEUE),
    wal: ignored(QUEUE),
    include_metadata_keys: ignored("use the extension headers_setter under auth"),
    export_created_metric: ignored("the Collector has removed it"),
    convert_explicit_histograms_to_nhcb: ignored("histograms are sent as classic ones"),
    keep_classic_histograms: ignored("histograms are sent as classic ones"),
  })
  .refine((config) => (config.http ?? config).endpoint, {
    path: ["endpoint"],
    message: "expected an endpoint such as `endpoint: http://prometheus:9090/api/v1/write`",
  });

export type RemoteWriteConfig = z.infer<typeof remoteWriteSchema>;
