import { z } from "zod";
import { POSTGRES_CLIENT } from "#brokers/postgres";
import { scrapingKeys } from "#receiving";
import { hasClient, missingClient } from "#system";
import { ignored, secret, section } from "../../plugin.js";
import { dataSourceOf } from "./data-source.js";

const text = (description: string) => z.string().default("").meta({ description });
const name = (description: string) => z.string().min(1).meta({ description });
const columns = () =>
  z
    .array(z.string())
    .nullish()
    .transform((names) => names ?? [])
    .meta({ description: "Columns that become attributes." });

const logs = section(
  z.strictObject({
    body_column: name("The column of the body."),
    attribute_columns: columns(),
  }),
);

const metric = section(
  z
    .strictObject({
      metric_name: name("The name of the metric."),
      value_column: name("The column of the value."),
      attribute_columns: columns(),
      static_attributes: z
        .record(z.string(), z.coerce.string())
        .nullish()
        .transform((values) => values ?? {})
        .meta({ description: "Attributes that are the same for all rows." }),
      data_type: z.enum(["", "gauge", "sum"]).default("").meta({ description: "gauge (default) or sum." }),
      value_type: z.enum(["", "int", "double"]).default("").meta({ description: "int (default) or double." }),
      monotonic: z.boolean().default(false).meta({ description: "Whether a sum never falls." }),
      aggregation: z
        .enum(["", "cumulative", "delta"])
        .default("")
        .meta({ description: "Of a sum: cumulative (default) or delta." }),
      unit: text("The unit of the metric."),
      description: text("The description of the metric."),
      start_ts_column: text("The column of the start time of a cumulative sum, in nanoseconds."),
      ts_column: text("The column of the time of the point, in nanoseconds."),
      row_condition: section(
        z.strictObject({ column: name("The column to look at."), value: text("The value that it must have.") }),
      )
        .optional()
        .meta({ description: "Only rows whose column has this value." }),
    })
    .refine(({ data_type, aggregation }) => data_type !== "gauge" || aggregation === "", {
      path: ["aggregation"],
      message: "expected none: a gauge is not aggregated",
    }),
);

const query = section(
  z
    .strictObject({
      sql: name("The statement."),
      metrics: z.array(metric).default([]).meta({ description: "The metrics of each row." }),
      logs: z.array(logs).default([]).meta({ description: "The log records of each row." }),
      tracking_column: text("For logs: the column whose last value is the parameter of the next run."),
      tracking_start_value: z.coerce
        .string()
        .default("")
        .meta({ description: "For logs: the parameter of the first run." }),
      ignore_null_values: z.boolean().default(false).meta({ description: "No warning about NULL in unused columns." }),
    })
    .refine(({ metrics, logs: records }) => metrics.length + records.length > 0, "expected metrics or logs"),
);

const DRIVERS: ReadonlySet<string> = new Set(["mysql", "postgres"]);

export const sqlQuerySchema = z
  .strictObject({
    driver: z.string().meta({ description: "The kind of database: mysql or postgres." }),
    datasource: secret().optional().meta({ description: "The address of the database as its Go driver takes it." }),
    host: text("The host, instead of datasource."),
    port: z.number().int().min(0).max(65_535).default(0).meta({ description: "The port." }),
    database: text("The name of the database."),
    username: text("The name of the user."),
    password: secret().optional().meta({ description: "The password of the user." }),
    additional_params: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
      .nullish()
      .transform((params) => params ?? {})
      .meta({ description: "More parameters of the connection, as in datasource." }),
    queries: z.array(query).min(1, "expected at least one query").meta({ description: "The queries." }),
    ...scrapingKeys(10_000),
    max_open_conn: z.number().int().default(0).meta({ description: "The most connections; 0: one per query." }),
    storage: z.string().nullish().meta({
      description: "Accepted for compatibility with the Collector: tracking values are always kept on disk.",
    }),
    offsets_directory: z.string().min(1).default("./data/offsets").meta({
      privileged: true,
      description: "The directory for tracking values; each receiver has its own file there.",
    }),
    telemetry: ignored("statements are not logged"),
  })
  .superRefine((config, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
    const { driver, datasource, host, port, database, username, password, additional_params: params } = config;
    if (!DRIVERS.has(driver))
      return issue("driver", "expected mysql or postgres; scrape an exporter of other databases with prometheus");
    if (driver === "postgres" && !hasClient(POSTGRES_CLIENT)) issue("driver", missingClient(POSTGRES_CLIENT));
    if (datasource === undefined || datasource === "") {
      for (const [key, value] of Object.entries({ host, port, database }))
        if (!value) issue(key, "expected a value, or datasource instead");
    } else
      for (const [key, value] of Object.entries({ host, port, database, username, password }))
        if (value) issue(key, "expected none beside datasource");
    if (datasource && Object.keys(params).length > 0) issue("additional_params", "expected none beside datasource");
    try {
      dataSourceOf(config as SqlQueryConfig);
    } catch (error) {
      issue(datasource ? "datasource" : "additional_params", (error as Error).message);
    }
  });

export type SqlQueryConfig = z.infer<typeof sqlQuerySchema>;
export type QueryConfig = SqlQueryConfig["queries"][number];
export type MetricConfig = QueryConfig["metrics"][number];
export type LogsConfig = QueryConfig["logs"][number];
