import { z } from "zod";
import { duration, lazySection, secret } from "#contract/schema";
import { tlsClient } from "#net";

/** Package of the PostgreSQL client. */
export const POSTGRES_CLIENT = "pg";

/** Connection keys of every component that uses PostgreSQL. */
export const postgresConnectionKeys = () => ({
  endpoint: z
    .string()
    .regex(/^(?:\[[^\]]+\]|[^\s:/]+):\d+$|^\//, "expected host:port, or the folder of a socket")
    .default("localhost:5432")
    .meta({ description: "The address of the server, host:port or the folder of its socket." }),
  database: z.string().min(1).default("postgres").meta({ description: "The name of the database." }),
  username: z.string().min(1).default("postgres").meta({ description: "The name of the role." }),
  password: secret().optional().meta({ description: "The password of the role." }),
  tls: lazySection(tlsClient)
    .optional()
    .meta({ description: "Encrypts connections; without it, or with insecure: true, they are plain text." }),
  connect_timeout: duration().default(5000).meta({ description: "Time limit for connecting to the server." }),
});

export type PostgresConnectionConfig = z.infer<z.ZodObject<ReturnType<typeof postgresConnectionKeys>>>;

/** A table name: `outbox`, or with its schema `core.outbox`. */
export function tableName() {
  return z
    .string()
    .regex(/^[^."\0]+(?:\.[^."\0]+)?$/, "expected the name of a table, such as outbox or core.outbox")
    .refine((name) => name.split(".").every(isShort), "expected names of at most 63 bytes");
}

export function columnName() {
  return z
    .string()
    .regex(/^[^"\0]*$/, "expected the name of a column")
    .refine(isShort, "expected a name of at most 63 bytes");
}

/** The server truncates longer names. */
function isShort(name: string): boolean {
  return Buffer.byteLength(name) <= 63;
}

/** Quotes a table name for SQL, whatever characters it has. */
export function quoteTable(name: string): string {
  return name.split(".").map(quoteName).join(".");
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes("\\") ? ` E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}
