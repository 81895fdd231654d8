import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { ignored, secret } from "../../../plugin.js";

const FILTER = "use the processor filter or metrics_transform";
const HOST = "properties of hosts are sent by Splunk's own distribution";
const url = () => z.preprocess((text) => (text === "" ? undefined : text), httpUrl().optional());

export const signalFxSchema = z
  .strictObject({
    access_token: secret().default("").meta({ harmless: true, description: "The access token of the organization." }),
    realm: z.string().default("").meta({ description: "The realm, such as us1." }),
    ingest_url: url().meta({
      description: "The URL for data points. Default: https://ingest.<realm>.observability.splunkcloud.com.",
    }),
    api_url: ignored(HOST),
    api_tls: ignored(HOST),
    ingest_tls: ignored("use tls"),
    nonalphanumeric_dimension_chars: z
      .string()
      .default("_-.")
      .meta({ description: "Characters beside letters and digits that names of dimensions keep." }),
    drop_histogram_buckets: z.boolean().default(false).meta({ description: "Leave out the buckets of histograms." }),
    send_otlp_histograms: ignored("histograms are sent as counts, sums and buckets"),
    access_token_passthrough: ignored("all data has the exporter's token"),
    translation_rules: ignored(FILTER),
    disable_default_translation_rules: ignored("metrics keep their names"),
    exclude_metrics: ignored(FILTER),
    include_metrics: ignored(FILTER),
    exclude_properties: ignored(HOST),
    sync_host_metadata: ignored(HOST),
    dimension_client: ignored(HOST),
    default_properties: ignored(HOST),
    correlation: ignored("spans are related to hosts by Splunk's own distribution"),
    root_path: ignored(HOST),
    delta_translation_ttl: ignored("there are no translation rules"),
    max_connections: ignored("use max_conns_per_host"),
    log_data_points: ignored("sluice tap shows what passes"),
    log_dimension_updates: ignored("sluice tap shows what passes"),
    ...httpClientKeys(),
    compression: ignored("requests are compressed with gzip"),
  })
  .superRefine(({ access_token: token, realm, ingest_url: ingest }, context) => {
    if (token.trim() === "")
      context.addIssue({ code: "custom", path: ["access_token"], message: "expected an access token" });
    if (realm === "" && ingest === undefined)
      context.addIssue({ code: "custom", path: ["realm"], message: "expected a realm such as us1, or an ingest_url" });
  });

export type SignalFxConfig = z.infer<typeof signalFxSchema>;
