import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { availableCompression } from "#net/otlp";
import { ignored, secret } from "../../../plugin.js";

export const sapmExporterSchema = z.strictObject({
  ...httpClientKeys(),
  endpoint: z
    .preprocess(
      (url) => (typeof url === "string" && url !== "" && !url.includes("://") ? `https://${url}` : url),
      httpUrl(),
    )
    .meta({ description: "The URL for spans, such as https://ingest.us1.signalfx.com/v2/trace." }),
  access_token: secret().default("").meta({ harmless: true, description: "The access token of the organization." }),
  compression: availableCompression(z.enum(["", "none", "gzip", "zstd"]))
    .default("gzip")
    .meta({ description: "The compression of requests: gzip, zstd or none." }),
  disable_compression: z.boolean().default(false).meta({ description: "Send requests without compression." }),
  access_token_passthrough: ignored("all spans have the exporter's token; tokens in attributes are left out"),
  num_workers: ignored("use sending_queue.num_consumers"),
  max_connections: ignored("use max_conns_per_host"),
  log_detailed_response: ignored("errors are logged with what the server said"),
  correlation: ignored("spans are related to hosts by Splunk's own distribution"),
});

export type SapmExporterConfig = z.infer<typeof sapmExporterSchema>;
