import { z } from "zod";
import { POSTGRES_CLIENT } from "#brokers/postgres";
import { tlsClient } from "#net";
import { metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { withClient } from "#system";
import { ignored, secret, section } from "../../plugin.js";
import { POSTGRESQL_METRICS } from "./metrics.js";

const databases = (description: string) =>
  z
    .array(z.string())
    .nullish()
    .transform((names) => names ?? [])
    .meta({ description });

const postgresqlKeys = z.strictObject({
  endpoint: z
    .string()
    .regex(/^(?:\[[^\]]+\]|[^\s:]+):\d+$/, "expected host:port; of a socket, its folder and the port")
    .default("localhost:5432")
    .meta({ description: "The address of the server, host:port; with transport unix the folder of its socket:port." }),
  transport: z.enum(["tcp", "unix"]).default("tcp").meta({ description: "What the endpoint is an address of." }),
  username: z.string().min(1).meta({ description: "The name of a role that may read statistics." }),
  password: secret().optional().meta({ description: "The password of the role." }),
  databases: databases("The databases to measure. Default: all but templates."),
  exclude_databases: databases("Databases that are left out."),
  tls: section(tlsClient()).prefault({ insecure_skip_verify: true }).meta({
    description:
      "Certificates. By default connections are encrypted and any certificate is accepted; insecure: true means plain text.",
  }),
  ...scrapingKeys(10_000, 60_000),
  connection_pool: ignored("each collection has connections of its own, two at a time"),
  db_auth: ignored("no extension here provides database passwords; use username and password"),
  events: ignored("only metrics are collected"),
  query_sample_collection: ignored("only metrics are collected"),
  top_query_collection: ignored("only metrics are collected"),
  ...metricKeys(POSTGRESQL_METRICS),
  resource_attributes: section(
    z
      .object({
        "postgresql.database.name": resourceAttributeKey(true),
        "postgresql.table.name": resourceAttributeKey(true),
        "postgresql.index.name": resourceAttributeKey(true),
        "service.instance.id": resourceAttributeKey(true),
      })
      .catchall(z.unknown()),
  )
    .prefault({})
    .meta({ description: "Which attributes resources have." }),
});

export const postgresqlSchema = withClient(POSTGRES_CLIENT, postgresqlKeys);

export type PostgresqlConfig = z.infer<typeof postgresqlKeys>;
