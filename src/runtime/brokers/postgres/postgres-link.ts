import type { PeerCertificate } from "node:tls";
import type { Client, ClientConfig } from "pg";
import { connectionErrorMessage, loadClientTls, renewClientTls, type TlsClientOptions } from "#net";
import { loadClient } from "#system";
import { POSTGRES_CLIENT, type PostgresConnectionConfig } from "./postgres-config.js";

export type PostgresClients = typeof import("pg");

/** A row whose values are strings as the server sent them. */
export type TextRow = Readonly<Record<string, string | null>>;

/**
 * Passed to a query, it keeps every value as the string that the server sent: JavaScript would lose precision of
 * numbers and JSON.
 */
export const AS_TEXT = { getTypeParser: () => (text: string) => text } as never;

/** Connection options. Nothing is read from the environment or from files in the user's home. */
export async function postgresOptions(config: PostgresConnectionConfig, name: string): Promise<ClientConfig> {
  const { endpoint, database, username, password = "", tls, connect_timeout } = config;
  const [, host = "", port] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const address = endpoint.startsWith("/")
    ? { host: endpoint, port: 5432 }
    : { host: host.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
  return {
    ...address,
    database,
    user: username,
    password: () => password,
    ssl: tls === undefined || tls.insecure ? false : { ...(await loadClientTls(tls, ["tls"])), ...identityCheck(tls) },
    connectionTimeoutMillis: connect_timeout,
    application_name: `sluice ${name}`.slice(0, 63),
    keepAlive: true,
  };
}

/** Reloads certificates after a failed connection, because they may have been renewed. */
export function renewPostgresTls(options: ClientConfig, { tls }: Pick<PostgresConnectionConfig, "tls">): Promise<void> {
  return tls === undefined || tls.insecure ? Promise.resolve() : renewClientTls(options.ssl as TlsClientOptions, tls);
}

/** Checks the certificate against the overriding name: the client always sends the name of the endpoint. */
function identityCheck({ server_name_override: name }: NonNullable<PostgresConnectionConfig["tls"]>) {
  if (!name) return {};
  const { checkServerIdentity } = process.getBuiltinModule("node:tls");
  return {
    checkServerIdentity: (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate),
  };
}

export function loadPostgres(): Promise<PostgresClients> {
  return loadClient<PostgresClients>(POSTGRES_CLIENT);
}

/** Opens a connection, or rejects with the reason. `onLost` is called when the connection ends by itself. */
export async function openPostgres(
  { Client: Connection }: PostgresClients,
  options: ClientConfig,
  onLost: (error: unknown, client: Client) => void,
): Promise<Client> {
  const client = new Connection(options);
  client.on("error", (error) => onLost(error, client));
  client.on("end", () => onLost(new Error("the connection was closed"), client));
  try {
    await client.connect();
  } catch (error) {
    hangUp(client);
    throw error;
  }
  return client;
}

/** Closes the connection at once, without waiting for queries under way. */
export function hangUp(client: Client): void {
  client.end().catch(() => {});
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

/** The five characters of SQLSTATE, if the error came from the server. */
export function sqlState(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as object) ? code : undefined;
}

/** The error message of the server or client, with the server's hint and SQLSTATE. */
export function postgresErrorMessage(error: unknown): string {
  const { hint } = (error ?? {}) as { readonly hint?: string };
  const state = sqlState(error);
  if (state === undefined) return connectionErrorMessage(error);
  return `${connectionErrorMessage(error)}${hint === undefined ? "" : `; ${hint}`} (${state})`;
}
