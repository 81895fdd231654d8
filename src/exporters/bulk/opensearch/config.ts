import { z } from "zod";
import { httpClientKeys, httpUrl } from "#net";
import { wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, ignored, section } from "../../../plugin.js";

const DATE_FORMAT = /^(?:yy|MM|dd|HH|mm|ss|[-._+])*$/;

const dateFormat = (index: string) =>
  z
    .string()
    .regex(DATE_FORMAT, "expected a date format such as yyyy.MM.dd")
    .default("")
    .meta({ description: `A date to append to ${index}, such as yyyy.MM.dd.` });

const index = (what: string, usual: string) =>
  z
    .string()
    .default("")
    .meta({
      description: `The index, alias or data stream of ${what}; %{name} is an attribute of the record, its scope or resource. Empty: ${usual}.`,
    });

const fallback = () =>
  z.string().default("").meta({ description: "The text for a missing attribute; empty: unknown." });

export const openSearchSchema = z.strictObject({
  http: section(
    z.strictObject({
      endpoint: httpUrl().meta({ description: "The URL of the server." }),
      ...httpClientKeys(),
      compression: wordOrNone(caseInsensitiveEnum(["gzip", "none"]))
        .default("none")
        .meta({ description: "How requests are compressed." }),
      compression_params: ignored("gzip has one level here"),
      timeout: ignored("use the exporter's timeout"),
    }),
  ).meta({ description: "The server, and how it is reached." }),
  dataset: z.string().min(1).default("default").meta({ description: "The dataset in names of data streams." }),
  namespace: z.string().min(1).default("namespace").meta({ description: "The namespace in names of data streams." }),
  logs_index: index("log records", "ss4o_logs-{dataset}-{namespace}"),
  logs_index_fallback: fallback(),
  logs_index_time_format: dateFormat("logs_index"),
  traces_index: index("spans", "ss4o_traces-{dataset}-{namespace}"),
  traces_index_fallback: fallback(),
  traces_index_time_format: dateFormat("traces_index"),
  bulk_action: z
    .enum(["create", "index"])
    .default("create")
    .meta({ description: "Whether documents are created or indexed." }),
  pipeline: z.string().default("").meta({ description: "The ingest pipeline of all documents." }),
  mapping: section(
    z.strictObject({
      mode: caseInsensitiveEnum(["ss4o", "ecs", "flatten_attributes", "bodymap"]).default("ss4o").meta({
        description:
          "The format of documents. All modes except ss4o apply to log records only; spans are always as in ss4o.",
      }),
      timestamp_field: z
        .string()
        .default("")
        .meta({ description: "The field for the time in the modes ecs and flatten_attributes; empty: @timestamp." }),
      unix_timestamp: z.boolean().default(false).meta({ description: "Write the time as milliseconds." }),
      fields: ignored("the Collector ignores it too"),
      file: ignored("the Collector ignores it too"),
      dedup: ignored("a document has every field once"),
      dedot: ignored("OpenSearch treats names with dots as nested fields"),
      manage_index_template: ignored("it belongs to the mode otel-v1, which is not supported"),
    }),
  )
    .prefault({})
    .meta({ description: "What documents look like." }),
});

export type OpenSearchConfig = z.infer<typeof openSearchSchema>;
