import { z } from "zod";
import { tlsClient } from "#net";
import { wordOrNone } from "#net/otlp";
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
    .meta({ description: `The table that ${what} are rows of.` });

/** A value as a URL or `connection_params` may contain it. */
const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);

export const clickhouseSchema = z
  .strictObject({
    endpoint: z.string().default("").meta({
      secret: true,
      description:
        "The server's HTTP interface, such as http://clickhouse:8123; several with commas, of which one is used until it fails. tcp:// and clickhouse:// mean the HTTP interface of the same host: port 8123, or 8443 with secure=true.",
    }),
    dsn: deprecated(z.string().optional().meta({ secret: true, description: "The same." }), "use endpoint"),
    username: z
      .string()
      .default("")
      .meta({ description: "Who we are to the server, in place of what the endpoint says." }),
    password: secret().default("").meta({ description: "The password of username." }),
    database: z.string().default("").meta({
      description:
        "The database of the tables, in place of what the endpoint says. It is `default` where neither says it.",
    }),
    tls: section(tlsClient()).optional().meta({ description: "Certificates and versions of TLS, for https." }),
    connection_params: z
      .record(z.string(), text)
      .nullish()
      .transform((params) => params ?? {})
      .meta({ description: "What could stand behind the ? of the endpoint: settings of the server for every insert." }),
    logs_table_name: table("otel_logs", "log records"),
    traces_table_name: table("otel_traces", "spans"),
    metrics_table_name: deprecated(
      z.string().default("").meta({ description: "The beginning of the names of the tables of metrics." }),
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
    profiles_table_name: ignored("there are no profiles here"),
    ttl: duration().default(0).meta({ description: "For how long tables that are made here keep rows; 0: for ever." }),
    ttl_days: deprecated(
      z.number().int().nonnegative().optional().meta({ description: "The same in days." }),
      "use ttl",
    ),
    table_engine: section(
      z.strictObject({
        name: z
          .string()
          .default("")
          .meta({ description: "The engine of tables that are made here; empty: MergeTree." }),
        params: z.string().default("").meta({ description: "What stands in the brackets behind its name." }),
      }),
    )
      .prefault({})
      .meta({ description: "The engine of tables that are made here." }),
    cluster_name: z.string().default("").meta({ description: "Make tables ON CLUSTER of this name." }),
    create_schema: z.boolean().default(true).meta({
      description: "Make the database and the tables that are not there. A table that is there is never changed.",
    }),
    compress: wordOrNone(z.preprocess(trueIsLz4, caseInsensitiveEnum(["none", "lz4", "zstd", "gzip", "deflate", "br"])))
      .default("lz4")
      .meta({ description: "How requests are compressed. br is sent as gzip." }),
    async_insert: z.boolean().default(true).meta({
      description:
        "Let the server gather rows of several requests. It answers when they are written, unless wait_for_async_insert says otherwise.",
    }),
    json: z
      .boolean()
      .default(false)
      .meta({ description: "Make tables whose attributes are columns of the type JSON, not Map." }),
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
