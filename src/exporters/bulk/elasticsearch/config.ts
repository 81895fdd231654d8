import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, deprecated, ignored, secret, section } from "../../../plugin.js";

const MAPPING_MODES = ["otel", "ecs", "none", "raw", "bodymap"] as const;

const index = (what: string, stream: string) =>
  z
    .string()
    .default("")
    .meta({
      description: `The index, alias or data stream of all ${what}; empty: a data stream by their attributes, ${stream}.`,
    });

const ALWAYS = "attributes always choose the index if none is named here";
const dynamic = () => ignored(ALWAYS);
const enabled = (what: string) =>
  section(z.strictObject({ enabled: z.boolean().default(false).meta({ description: "Turns it on." }) }))
    .prefault({})
    .meta({ description: what });

export const elasticsearchSchema = z
  .strictObject({
    endpoint: httpUrl().optional().meta({ description: "The URL of the server." }),
    endpoints: z
      .array(httpUrl())
      .nullish()
      .meta({ description: "URLs of several servers. One of them is used until it stops answering." }),
    cloudid: z.string().default("").meta({ description: "The id of a cluster of Elastic Cloud, in place of a URL." }),
    ...httpClientKeys(),
    user: z.string().default("").meta({ description: "The name for Basic authentication." }),
    password: secret().default("").meta({ description: "The password of user." }),
    api_key: secret().default("").meta({ description: "An API key, encoded, in place of user and password." }),
    compression: wordOrNone(caseInsensitiveEnum(["gzip", "none"]))
      .default("gzip")
      .meta({ description: "How requests are compressed." }),
    compression_params: ignored("gzip has one level here"),
    logs_index: index("log records", "logs-generic.otel-default"),
    traces_index: index("spans", "traces-generic.otel-default"),
    metrics_index: index("data points", "metrics-generic.otel-default"),
    index: deprecated(z.string().default("").meta({ description: "The index of log records." }), "use logs_index"),
    logs_dynamic_index: dynamic(),
    traces_dynamic_index: dynamic(),
    metrics_dynamic_index: dynamic(),
    logs_dynamic_id: enabled("The attribute elasticsearch.document_id of a log record is the id of its document."),
    traces_dynamic_id: enabled("The attribute elasticsearch.document_id of a span is the id of its document."),
    logs_dynamic_pipeline: enabled(
      "The attribute elasticsearch.document_pipeline names the ingest pipeline of a log record.",
    ),
    pipeline: z.string().default("").meta({ description: "The ingest pipeline of all documents." }),
    mapping: section(
      z.strictObject({
        mode: caseInsensitiveEnum(MAPPING_MODES).default("otel").meta({ description: "What documents look like." }),
        allowed_modes: ignored("all documents use the mode of the config"),
        fields: ignored("the Collector has removed it"),
        file: ignored("the Collector has removed it"),
        dedup: ignored("a document has every field once"),
        dedot: ignored("Elasticsearch treats names with dots as nested fields"),
      }),
    )
      .prefault({})
      .meta({ description: "What documents look like." }),
    logstash_format: section(
      z.strictObject({
        enabled: z.boolean().default(false).meta({ description: "Append the date to the index name." }),
        prefix_separator: z.string().default("-").meta({ description: "The separator between index name and date." }),
        date_format: z
          .string()
          .default("%Y.%m.%d")
          .meta({ description: "The date format, made of %Y, %m, %d and %H." }),
      }),
    )
      .prefault({})
      .meta({ description: "Indexes with a date, as Logstash names them." }),
    num_workers: ignored("use sending_queue.num_consumers"),
    flush: ignored("use sending_queue.batch"),
    batcher: ignored("use sending_queue.batch"),
    retry: ignored("use retry_on_failure"),
    discover: ignored("name the servers under endpoints"),
    suppress_conflict_errors: ignored("a document whose id exists already counts as delivered"),
    telemetry: ignored("sluice tap shows what passes"),
    include_source_on_error: ignored("dead letters have the record"),
    metadata_keys: ignored("they are about the Collector's own metrics"),
    bulk_response_filter_path: ignored("only the needed part of an answer is requested"),
  })
  .superRefine(({ endpoint, endpoints, cloudid }, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    const written = [endpoint !== undefined, (endpoints?.length ?? 0) > 0, cloudid !== ""].filter(Boolean).length;
    if (written !== 1) issue("endpoint", "expected one of endpoint, endpoints and cloudid");
    if (cloudid !== "" && parseCloudId(cloudid) === undefined)
      issue("cloudid", "expected the id of a cluster of Elastic Cloud");
  });

export type ElasticsearchConfig = z.infer<typeof elasticsearchSchema>;

/** Returns the URLs of the servers. */
export function serversOf({ endpoint, endpoints, cloudid }: ElasticsearchConfig): readonly URL[] {
  if (endpoint !== undefined) return [endpoint];
  return endpoints?.length ? endpoints : [parseCloudId(cloudid)!];
}

/**
 * Returns the URL that an Elastic Cloud id stands for: `name:` and, in base64, `host[:port]$elasticsearch[:port]$...`.
 * Returns undefined for any other text.
 */
export function parseCloudId(id: string): URL | undefined {
  const [host = "", own = ""] = Buffer.from(id.slice(id.lastIndexOf(":") + 1), "base64")
    .toString("utf8")
    .split("$");
  const [domain = "", domainPort] = host.split(":");
  const [name = "", ownPort] = own.split(":");
  const text = `https://${name}.${domain}:${ownPort ?? domainPort ?? "443"}`;
  const isHost = /^[\w.-]+$/.test(name) && /^[\w.-]+$/.test(domain);
  return isHost && URL.canParse(text) ? new URL(text) : undefined;
}
