import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { MysqlConnection, type MysqlSettings } from "#brokers/mysql";
import { connectionErrorMessage, isLoopbackHost, loadClientTls, parseHostPort, renewClientTls } from "#net";
import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { defineReceiver } from "../../plugin.js";
import { type MysqlConfig, mysqlSchema } from "./config.js";
import { MYSQL_METRICS, type MysqlMetric } from "./metrics.js";
import { type MysqlStatistics, POOL_SIZE, statementStatistics, TABLE_STATISTICS } from "./statistics.js";
import { DIRTY_AND_TOTAL, REPLICA_TEMP_TABLES, STATUS_POINTS } from "./status-variables.js";

/** Metrics of a MySQL or MariaDB server from its own statistics. */
export const mysqlReceiver = defineReceiver<MysqlConfig>({
  type: "mysql",
  summary: "Collects statistics of a MySQL or MariaDB server: InnoDB, tables, statements and replicas.",
  signals: ["metrics"],
  workers: "one",
  schema: mysqlSchema,
  create: (config, context) =>
    new MysqlReceiver(config, context, {
      table: MYSQL_METRICS,
      transport: "mysql",
      timeout: config.timeout || DEFAULT_TIMEOUT_MS,
    }),
});

const DEFAULT_TIMEOUT_MS = 30_000;
/** Statistics of 10,000 tables have about 5 MB. */
const MAX_RESULT_BYTES = 64 * 1024 * 1024;
const SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/mysqlreceiver";

type StatusRow = Readonly<Record<string, string | undefined>>;

class MysqlReceiver extends ScrapingReceiver<MysqlConfig, typeof MYSQL_METRICS> {
  private settings: MysqlSettings | undefined;
  private connection: MysqlConnection | undefined;

  protected override async open(): Promise<void> {
    const { config } = this;
    const { username, password = "", tls, database } = config;
    this.settings = {
      address: addressOf(config),
      tls: tls === undefined || tls.insecure ? undefined : await loadClientTls(tls, ["tls"]),
      credentials: {
        username,
        password,
        allowsNativePassword: config.allow_native_passwords,
        allowsClearPassword: false,
      },
      database,
      program: `sluice ${this.context.id}`,
      maxResultBytes: MAX_RESULT_BYTES,
    };
  }

  protected override async close(): Promise<void> {
    this.connection?.close();
  }

  /** Hands in what was measured before the time ran out. */
  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    const { now, abort } = moment;
    const connection = await this.connected(abort);
    const { rows } = await this.ask(connection, "SHOW GLOBAL STATUS", abort);
    const status = new Map(rows.map(([name = "", value = ""]) => [name, value]));
    const uptime = numberOf(status.get("Uptime"));
    if (uptime === undefined) throw new Error(`${this.config.endpoint}: SHOW GLOBAL STATUS reports no Uptime`);
    const points = new PointCollector(now - uptime * 1000, this.resourceOf(connection.serverVersion), { scope: SCOPE });
    this.addStatus(status, points);
    const failed = (what: string) => (error: unknown) => moment.failed(what, error);
    await this.addPoolSize(connection, points, abort).catch(failed("buffer pool"));
    for (const statistics of [...TABLE_STATISTICS, statementStatistics(this.config.statement_events)])
      await this.addStatistics(connection, statistics, points, abort).catch(failed(statistics.name));
    await this.addReplicas(connection, points, abort).catch(failed("replicas"));
    return [points];
  }

  private addStatus(status: ReadonlyMap<string, string>, points: PointCollector): void {
    for (const [variable, { metric, attributes, factor }] of STATUS_POINTS) {
      const value = numberOf(status.get(variable));
      if (value !== undefined) this.output.add(points, metric, value * factor, attributes);
    }
    for (const [metric, dirtyName, totalName] of DIRTY_AND_TOTAL) {
      const [dirty, total] = [numberOf(status.get(dirtyName)), numberOf(status.get(totalName))];
      this.output.add(points, metric, dirty, { status: "dirty" });
      if (dirty !== undefined && total !== undefined)
        this.output.add(points, metric, total - dirty, { status: "clean" });
    }
    const tables = REPLICA_TEMP_TABLES.map((name) => status.get(name)).find((text) => text !== undefined);
    this.output.add(points, "mysql.replica.temp_table.open", numberOf(tables));
  }

  private async addPoolSize(connection: MysqlConnection, points: PointCollector, abort: AbortSignal): Promise<void> {
    if (!this.output.wants("mysql.buffer_pool.limit")) return;
    const [row] = await this.rows(connection, POOL_SIZE, abort);
    this.output.add(points, "mysql.buffer_pool.limit", numberOf(row?.["COUNT"]));
  }

  private async addStatistics(
    connection: MysqlConnection,
    { text, points: columns, attributes: names }: MysqlStatistics,
    points: PointCollector,
    abort: AbortSignal,
  ): Promise<void> {
    if (!columns.some(([, metric]) => this.output.wants(metric))) return;
    const { columns: found, rows } = await this.ask(connection, text, abort);
    const places = new Map(found.map(({ name }, i) => [name, i]));
    const ofRows = Object.entries(names).map(([name, column]) => [name, places.get(column) ?? -1] as const);
    const wanted = columns.filter(([, metric]) => this.output.wants(metric));
    for (const row of rows) {
      const ofRow: Record<string, string> = {};
      for (const [name, place] of ofRows) ofRow[name] = row[place] ?? "";
      for (const [column, metric, attributes] of wanted)
        this.output.add(points, metric, numberOf(row[places.get(column) ?? -1]), { ...ofRow, ...attributes });
    }
  }

  private async addReplicas(connection: MysqlConnection, points: PointCollector, abort: AbortSignal): Promise<void> {
    if (!REPLICA_METRICS.some((metric) => this.output.wants(metric))) return;
    for (const row of await this.rows(connection, replicaStatement(connection.serverVersion), abort)) {
      const { channel_name: channel = "" } = row;
      this.output.add(points, "mysql.replica.time_behind_source", numberOf(either(row, "seconds_behind_")));
      this.output.add(points, "mysql.replica.sql_delay", numberOf(row["sql_delay"] ?? "0"));
      for (const type of ["io", "sql"]) {
        const state = row[`replica_${type}_running`] ?? row[`slave_${type}_running`];
        this.output.add(points, "mysql.replica.thread.running", state?.toLowerCase() === "yes" ? 1 : 0, {
          "mysql.replica.thread.type": type,
          "mysql.replica.channel.name": channel,
        });
      }
    }
  }

  /** The rows of a statement. Names of columns are as the server writes them; those of SHOW are in lower case. */
  private async rows(connection: MysqlConnection, text: string, abort: AbortSignal): Promise<StatusRow[]> {
    const { columns, rows } = await this.ask(connection, text, abort);
    const isShow = text.startsWith("SHOW");
    const names = columns.map(({ name }) => (isShow ? name.toLowerCase() : name));
    return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
  }

  private ask(connection: MysqlConnection, text: string, abort: AbortSignal) {
    return connection.query(text, abort).catch((error: unknown) => {
      throw new Error(`${this.config.endpoint}: ${connectionErrorMessage(error)}`, { cause: error });
    });
  }

  /** The connection is kept until something fails. */
  private async connected(abort: AbortSignal): Promise<MysqlConnection> {
    if (this.connection?.isOpen) return this.connection;
    const settings = this.settings!;
    try {
      this.connection = await MysqlConnection.open(settings, abort);
      return this.connection;
    } catch (error) {
      if (settings.tls !== undefined) await renewClientTls(settings.tls, this.config.tls!);
      throw new Error(`${this.config.endpoint}: ${connectionErrorMessage(error)}`, { cause: error });
    }
  }

  private resourceOf(serverVersion: string): Record<string, string> {
    const { endpoint, resource_attributes: wanted } = this.config;
    const version = /^\d+(?:\.\d+)*/.exec(serverVersion)?.[0];
    const values = {
      "mysql.instance.endpoint": endpoint,
      "service.instance.id": instanceId(endpoint),
      "service.name": "unknown_service:mysql",
      "service.namespace": "",
      "db.system.name": serverVersion.includes("MariaDB") ? "mariadb" : "mysql",
      "db.system.version": version ?? "",
    };
    const names = Object.keys(values) as (keyof typeof values)[];
    return Object.fromEntries(
      names
        .filter((name) => wanted[name].enabled)
        .map((name) => [name, wanted[name].override_value ?? values[name]] as const),
    );
  }
}

function addressOf({ transport, endpoint }: MysqlConfig): MysqlSettings["address"] {
  if (transport === "unix") return { path: endpoint };
  const { host = "localhost", port } = parseHostPort(endpoint)!;
  return { host, port };
}

const REPLICA_METRICS: readonly MysqlMetric[] = [
  ...(["mysql.replica.time_behind_source", "mysql.replica.sql_delay", "mysql.replica.thread.running"] as const),
];

/** MySQL 8.0.22 has renamed the statement, and MySQL 8.4 does not know the old name. */
function replicaStatement(version: string): string {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const isNew = !version.includes("MariaDB") && major * 10_000 + minor * 100 + patch >= 80_022;
  return isNew ? "SHOW REPLICA STATUS" : "SHOW SLAVE STATUS";
}

function either(row: StatusRow, prefix: string): string | undefined {
  return row[`${prefix}source`] ?? row[`${prefix}master`];
}

/** All numbers of the server are whole. Other values, such as ON, are not numbers. */
function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : undefined;
}

/** OpenTelemetry's namespace of names that service.instance.id is made of. */
const NAMESPACE = Buffer.from("4d63009a8d0f11eeaad74c796ed8e320", "hex");

/** The Collector's id: a UUID of version 5 of the endpoint, with this machine's name in place of a local host. */
function instanceId(endpoint: string): string {
  const [, host, port] = /^(.*):(\d+)$/.exec(endpoint) ?? [];
  const isLocal = host !== undefined && isLoopbackHost(host.replace(/^\[(.*)\]$/, "$1"));
  const hash = createHash("sha1")
    .update(NAMESPACE)
    .update(isLocal ? `${hostname()}:${port}` : endpoint)
    .digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  return hash.toString("hex", 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
