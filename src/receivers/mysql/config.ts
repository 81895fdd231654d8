import { z } from "zod";
import { tlsClient } from "#net";
import { metricKeys, scrapingKeys } from "#receiving";
import { duration, ignored, secret, section } from "../../plugin.js";
import { MYSQL_METRICS } from "./metrics.js";

const attribute = (isOn: boolean) =>
  section(
    z.strictObject({
      enabled: z.boolean().default(isOn).meta({ description: "Whether the resource gets this attribute." }),
      override_value: z.string().optional().meta({ description: "The value to give instead." }),
      metrics_include: ignored("use the processor filter"),
      metrics_exclude: ignored("use the processor filter"),
    }),
  )
    .prefault({})
    .meta({ description: `${isOn ? "On" : "Off"} by default.` });

const count = (fallback: number, description: string) =>
  z.number().int().min(0).max(1_000_000).default(fallback).meta({ description });

const ONLY_METRICS = "only metrics are collected";

export const mysqlSchema = z
  .strictObject({
    endpoint: z
      .string()
      .default("localhost:3306")
      .meta({ description: "The address of the server, host:port; with transport unix the path of its socket." }),
    transport: z
      .enum(["tcp", "tcp4", "tcp6", "unix"])
      .default("tcp")
      .meta({ description: "What the endpoint is an address of." }),
    username: z.string().default("root").meta({ description: "The name of the user." }),
    password: secret().optional().meta({ description: "The password of the user." }),
    database: z.string().default("").meta({ description: "The database to connect to; statistics are of all." }),
    allow_native_passwords: z
      .boolean()
      .default(true)
      .meta({ description: "Whether the server may ask for mysql_native_password, whose hash is weak." }),
    tls: section(tlsClient())
      .optional()
      .meta({ description: "Encrypts the connection; without it, or with insecure: true, it is plain text." }),
    ...scrapingKeys(10_000),
    statement_events: section(
      z.strictObject({
        digest_text_limit: count(120, "Longer texts of statements are cut."),
        limit: count(250, "The maximum number of different statements, the slowest first."),
        time_limit: duration()
          .default(86_400_000)
          .meta({ description: "Statements not seen for longer are left out." }),
      }),
    )
      .prefault({})
      .meta({ description: "Which statements mysql.statement_event.* reports." }),
    dialer: ignored("timeout is the limit of a collection and its connection"),
    events: ignored(ONLY_METRICS),
    query_sample_collection: ignored(ONLY_METRICS),
    top_query_collection: ignored(ONLY_METRICS),
    ...metricKeys(MYSQL_METRICS),
    resource_attributes: section(
      z.strictObject({
        "mysql.instance.endpoint": attribute(true),
        "service.instance.id": attribute(true),
        "service.name": attribute(false),
        "service.namespace": attribute(false),
        "db.system.name": attribute(false),
        "db.system.version": attribute(false),
      }),
    )
      .prefault({})
      .meta({ description: "Which attributes the resource has." }),
  })
  .superRefine(({ endpoint, transport }, context) => {
    const isSocket = transport === "unix";
    if (isSocket ? endpoint.startsWith("/") : /^(?:\[[^\]]+\]|[^\s:/]+):\d{1,5}$/.test(endpoint)) return;
    const expected = isSocket ? "the path of a socket" : "host:port such as localhost:3306";
    context.addIssue({ code: "custom", path: ["endpoint"], message: `expected ${expected}` });
  });

export type MysqlConfig = z.infer<typeof mysqlSchema>;
