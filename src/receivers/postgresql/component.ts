import { hostname } from "node:os";
import type { Client, ClientConfig } from "pg";
import {
  AS_TEXT,
  hangUp,
  loadPostgres,
  openPostgres,
  type PostgresClients,
  postgresErrorMessage,
  postgresOptions,
  renewPostgresTls,
  type TextRow,
} from "#brokers/postgres";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { defineReceiver } from "../../plugin.js";
import { type PostgresqlConfig, postgresqlSchema } from "./config.js";
import { POSTGRESQL_METRICS } from "./metrics.js";
import {
  DATABASE_STATISTICS,
  DATABASES,
  EXTRA_DATABASE_STATISTICS,
  INDEXES,
  pointsOfRow,
  SERVER,
  SERVER_STATISTICS,
  type Statistics,
  TABLES,
} from "./statistics.js";

/** Metrics of a PostgreSQL server from its own statistics. */
export const postgresqlReceiver = defineReceiver<PostgresqlConfig>({
  type: "postgresql",
  summary: "Collects a PostgreSQL server's statistics: databases, tables, indexes, writer, replicas and locks.",
  signals: ["metrics"],
  workers: "one",
  schema: postgresqlSchema,
  create: (config, context) =>
    new PostgresqlReceiver(config, context, { table: POSTGRESQL_METRICS, transport: "postgresql" }),
});

type ReportFailure = ScrapeMoment["failed"];

/** Statistics are not worth waiting for a lock, and later statements would wait too. */
const LOCK_TIMEOUT_MS = 2000;
/** The database to ask for the list of databases, because every server has it. */
const DEFAULT_DATABASE = "postgres";

class PostgresqlReceiver extends ScrapingReceiver<PostgresqlConfig, typeof POSTGRESQL_METRICS> {
  private clients: PostgresClients | undefined;
  private options: ClientConfig = {};

  protected override async open(): Promise<void> {
    this.clients = await loadPostgres();
    this.options = await connectionOptions(this.config, this.context.id);
  }

  /** Hands in what was measured before the time ran out. */
  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    const failed: ReportFailure = (what, error) => moment.failed(what, new Error(postgresErrorMessage(error)));
    const collectors: PointCollector[] = [];
    try {
      await this.measureAll(collectors, { ...moment, failed });
    } catch (error) {
      failed(this.config.endpoint, error);
    }
    return collectors;
  }

  private measureAll(collectors: PointCollector[], { now, abort, failed }: ScrapeMoment): Promise<void> {
    return this.connected(DEFAULT_DATABASE, abort, async (client) => {
      const [{ version, start_ms } = {}] = await rowsOf(client, SERVER);
      const server = new PointCollector(Number(start_ms ?? now), this.resource({}));
      const all = await rowsOf(client, DATABASES.text(0));
      const measured = all.filter(({ name }) => this.isMeasured(name!));
      const databases = new Map(measured.map((row) => [row["name"]!, this.databasePoints(row)]));
      collectors.push(...databases.values());
      for (const row of measured) this.add(databases.get(row["name"]!)!, DATABASES, row);
      for (const statistics of EXTRA_DATABASE_STATISTICS)
        for (const row of await this.ask(client, statistics, failed)) {
          const points = databases.get(row["name"] ?? "");
          if (points !== undefined) this.add(points, statistics, row);
        }
      for (const [name, points] of databases)
        await this.connected(name, abort, (own) => this.measureDatabase(name, own, points, collectors, failed)).catch(
          (error: unknown) => failed(name, error),
        );
      this.output.add(server, "postgresql.database.count", databases.size);
      for (const statistics of SERVER_STATISTICS)
        for (const row of await this.ask(client, statistics, failed, Number(version)))
          this.add(server, statistics, row);
      collectors.push(server);
    });
  }

  private async measureDatabase(
    name: string,
    client: Client,
    points: PointCollector,
    collectors: PointCollector[],
    failed: ReportFailure,
  ): Promise<void> {
    const ofDatabase = { "postgresql.database.name": name };
    const tables = await this.ask(client, TABLES, failed);
    this.output.add(points, "postgresql.table.count", tables.length);
    for (const statistics of DATABASE_STATISTICS)
      for (const row of await this.ask(client, statistics, failed)) this.add(points, statistics, row);
    const add = (statistics: Statistics, row: TextRow, resource: Readonly<Record<string, string>>) => {
      const own = points.forResource(this.resource({ ...ofDatabase, ...resource }));
      this.add(own, statistics, row);
      collectors.push(own);
    };
    for (const row of tables) add(TABLES, row, { "postgresql.table.name": row["table_name"]! });
    for (const row of await this.ask(client, INDEXES, failed))
      add(INDEXES, row, {
        "postgresql.table.name": row["table_name"]!,
        "postgresql.index.name": row["index_name"]!,
      });
  }

  private add(points: PointCollector, statistics: Statistics, row: TextRow): void {
    for (const { metric, value, attributes } of pointsOfRow(statistics, row))
      this.output.add(points, metric, value, attributes);
  }

  /** Returns no rows if no metric needs them or the server does not provide them. */
  private async ask(
    client: Client,
    { name, onlyFor, text }: Statistics,
    failed: ReportFailure,
    versionNumber = 0,
  ): Promise<TextRow[]> {
    if (onlyFor !== undefined && !onlyFor.some((metric) => this.output.wants(metric))) return [];
    try {
      return await rowsOf(client, text(versionNumber));
    } catch (error) {
      failed(name, error);
      return [];
    }
  }

  private databasePoints(row: TextRow): PointCollector {
    return new PointCollector(Number(row["start_ms"]), this.resource({ "postgresql.database.name": row["name"]! }));
  }

  private isMeasured(name: string): boolean {
    const { databases, exclude_databases: excluded } = this.config;
    return (databases.length === 0 || databases.includes(name)) && !excluded.includes(name);
  }

  private resource(attributes: Readonly<Record<string, string>>): Record<string, string> {
    const all = { ...attributes, "service.instance.id": instanceId(this.config.endpoint) };
    const { resource_attributes: wanted } = this.config;
    return Object.fromEntries(
      Object.entries(all).filter(([name]) => wanted[name as keyof typeof all & keyof typeof wanted]?.enabled !== false),
    );
  }

  /** Runs with a connection to a database. The connection is closed afterwards, or at once when `abort` fires. */
  private async connected(database: string, abort: AbortSignal, run: (client: Client) => Promise<void>): Promise<void> {
    const client = await this.connect(database, abort);
    const close = () => hangUp(client);
    abort.addEventListener("abort", close, { once: true });
    try {
      await run(client);
    } finally {
      await client.end().catch(() => {});
      abort.removeEventListener("abort", close);
    }
  }

  private async connect(database: string, abort: AbortSignal): Promise<Client> {
    abort.throwIfAborted();
    const opening = openPostgres(this.clients!, { ...this.options, database }, () => {});
    opening.then((client) => abort.aborted && hangUp(client)).catch(() => {});
    try {
      return await orAborted(opening, abort);
    } catch (error) {
      if (this.options.ssl !== false) await renewPostgresTls(this.options, this.config);
      throw error;
    }
  }
}

async function connectionOptions(config: PostgresqlConfig, name: string): Promise<ClientConfig> {
  const { endpoint, transport, username, password, timeout, tls } = config;
  const options = await postgresOptions(
    {
      endpoint,
      username,
      ...(password !== undefined && { password }),
      ...(!tls.insecure && { tls }),
      database: DEFAULT_DATABASE,
      connect_timeout: timeout,
    },
    name,
  );
  // As in the Collector, a socket's folder may lack the leading slash. Sockets are never encrypted.
  const socket = transport === "unix" ? { host: `/${options.host!.replace(/^\//, "")}`, ssl: false as const } : {};
  return { ...options, ...socket, lock_timeout: LOCK_TIMEOUT_MS };
}

async function rowsOf(client: Client, text: string): Promise<TextRow[]> {
  return (await client.query({ text, types: AS_TEXT })).rows as TextRow[];
}

/** Rejects at once when `abort` fires; the work itself continues. */
function orAborted<T>(work: Promise<T>, abort: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abort.reason);
    abort.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => abort.removeEventListener("abort", onAbort));
  });
}

/** The Collector's instance id: the endpoint, with this machine's name in place of a local host. */
function instanceId(endpoint: string): string {
  const [, host = "", port] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const isLocal = /^(localhost|127\.[\d.]+|\[?::1\]?)$/i.test(host);
  return `${isLocal ? hostname() : host}:${port}`;
}
