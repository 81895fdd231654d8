import { z } from "zod";
import { tlsClient } from "#net";
import { availableCompression, wordOrNone } from "#net/otlp";
import { caseInsensitiveEnum, deprecated, duration, ignored, secret, section } from "../../plugin.js";
import { parseEndpoint } from "./endpoint.js";

const DAY_MS = 24 * 3_600_000;

const metricTable = (kind: string, name: string) =>
  section(
    z.strictObject({
      name: z
        .string()
        .default("")
        .meta({ description: `The table of ${kind}; empty: ${name}.` }),
    }),
  )
    .prefault({})
    .meta({ description: `Where points of ${kind} go.` });

const table = (name: string, what: string) =>
  z
    .string()
    .min(1, "expected the name of a table")
    .default(name)
    .meta({ description: `The table for ${what}.` });

/** A value as a URL or `connection_params` may contain it. */
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);

export const clickhouseSchema = z
  .strictObject({
    endpoint: z.string().default("").meta({
      secret: true,
      description:
        "The server's HTTP interface, such as http://clickhouse:8123; several are separated by commas, and one of them is used until it fails. tcp:// and clickhouse:// stand for the HTTP interface of the same host: port 8123, or 8443 with secure=true.",
    }),
    dsn: deprecated(z.string().optional().meta({ secret: true, description: "The same." }), "use endpoint"),
    username: z.string().default("").meta({ description: "The user name; overrides the one in the endpoint." }),
    password: secret().default("").meta({ description: "The password of username." }),
    database: z.string().default("").meta({
      description: "The database of the tables; overrides the one in the endpoint. Default: `default`.",
    }),
    tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for https." }),
    connection_params: z
      .record(z.string(), text)
      .nullish()
      .transform((params) => params ?? {})
      .meta({
        description: "Parameters that could also follow the ? of the endpoint: server settings for every insert.",
      }),
    logs_table_name: table("otel_logs", "log records"),
    traces_table_name: table("otel_traces", "spans"),
    metrics_table_name: deprecated(
      z.string().default("").meta({ description: "Prefix of the names of metrics tables." }),
      "name each table under metrics_tables",
    ),
    metrics_tables: section(
      z.strictObject({
        gauge: metricTable("gauges", "otel_metrics_gauge"),
        sum: metricTable("sums", "otel_metrics_sum"),
        summary: metricTable("summaries", "otel_metrics_summary"),
        histogram: metricTable("histograms", "otel_metrics_histogram"),
        exponential_histogram: metricTable("exponential histograms", "otel_metrics_exponential_histogram"),
      }),
    )
      .prefault({})
      .meta({ description: "The tables of metrics, one for each kind." }),
    profiles_table_name: ignored("profiles are not supported"),
    ttl: duration().default(0).meta({ description: "How long tables created by the exporter keep rows; 0: forever." }),
    ttl_days: deprecated(
      z.number().int().nonnegative().optional().meta({ description: "The same in days." }),
      "use ttl",
    ),
    table_engine: section(
      z.strictObject({
        name: z
          .string()
          .default("")
          .meta({ description: "The engine of tables created by the exporter; empty: MergeTree." }),
        params: z.string().default("").meta({ description: "The parameters in brackets after the engine name." }),
      }),
    )
      .prefault({})
      .meta({ description: "The engine of tables created by the exporter." }),
    cluster_name: z.string().default("").meta({ description: "Create tables ON CLUSTER with this name." }),
    create_schema: z.boolean().default(true).meta({
      description: "Create the database and tables if they are missing. Existing tables are never changed.",
    }),
    compress: availableCompression(
      wordOrNone(z.preprocess(trueIsLz4, caseInsensitiveEnum(["none", "lz4", "zstd", "gzip", "deflate", "br"]))),
    )
      .default("lz4")
      .meta({ description: "How requests are compressed. br is sent as gzip." }),
    async_insert: z.boolean().default(true).meta({
      description:
        "Let the server collect the rows of several requests. It answers when they are written, unless wait_for_async_insert is 0.",
    }),
    json: z
      .boolean()
      .default(false)
      .meta({ description: "Create tables whose attribute columns have the type JSON instead of Map." }),
  })
  .superRefine(({ endpoint, dsn }, context) => {
    const key = endpoint === "" && dsn !== undefined ? "dsn" : "endpoint";
    const problem = parseEndpoint(endpoint || (dsn ?? ""), {});
    if (typeof problem === "string") context.addIssue({ code: "custom", path: [key], message: problem });
  });

function trueIsLz4(value: unknown): unknown {
  return value === true || value === "true" ? "lz4" : value === false || value === "false" ? "none" : value;
}

export type ClickhouseConfig = z.infer<typeof clickhouseSchema>;

/** Returns for how many milliseconds rows are kept; 0 means for ever. */
export function ttlOf({ ttl, ttl_days: days = 0 }: ClickhouseConfig): number {
  return ttl || days * DAY_MS;
}
