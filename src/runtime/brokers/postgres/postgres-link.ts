import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Client, ClientConfig } from "pg";
import { connectionErrorMessage, loadClientTls, renewClientTls, type TlsClientOptions } from "#net";
import { loadClient } from "#system";
import { POSTGRES_CLIENT, type PostgresConnectionConfig } from "./postgres-config.js";

export type PostgresClients = typeof import("pg");

/** A result whose values are the texts that the server sent. */
export type TextRow = Readonly<Record<string, string | null>>;

/** Given to a query, it leaves every value the text that the server sent: numbers and JSON keep what a program would lose. */
export const AS_TEXT = { getTypeParser: () => (text: string) => text } as never;

/** What connections are made with. Nothing of it is looked up in the environment or in files of the user's. */
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
    ssl: tls === undefined ? false : { ...(await loadClientTls(tls, ["tls"])), ...identityCheck(tls) },
    connectionTimeoutMillis: connect_timeout,
    application_name: `sluice ${name}`.slice(0, 63),
    keepAlive: true,
  };
}

/** For the next connection, when one could not be made: certificates may have been renewed. */
export function renewPostgresTls(options: ClientConfig, { tls }: Pick<PostgresConnectionConfig, "tls">): Promise<void> {
  return tls === undefined ? Promise.resolve() : renewClientTls(options.ssl as TlsClientOptions, tls);
}

/** The client asks for the name in the endpoint, whatever it is told. */
function identityCheck({ server_name_override: name }: NonNullable<PostgresConnectionConfig["tls"]>) {
  if (!name) return {};
  return {
    checkServerIdentity: (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate),
  };
}

export function loadPostgres(): Promise<PostgresClients> {
  return loadClient<PostgresClients>(POSTGRES_CLIENT);
}

/** Opens a connection, or rejects with why there is none. `onLost` is called when it ends by itself. */
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

/** Ends the connection at once: nothing that is under way on it is waited for. */
export function hangUp(client: Client): void {
  client.end().catch(() => {});
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream?.destroy();
}

/** The five letters of SQLSTATE, when it is the server that says no. */
export function sqlState(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as object) ? code : undefined;
}

/** What the server or the client says, with the server's hint and its own word for it. */
export function postgresErrorMessage(error: unknown): string {
  const { hint } = (error ?? {}) as { readonly hint?: string };
  const state = sqlState(error);
  if (state === undefined) return connectionErrorMessage(error);
  return `${connectionErrorMessage(error)}${hint === undefined ? "" : `; ${hint}`} (${state})`;
}
