import { readFile } from "node:fs/promises";
import type { Client, ClientConfig } from "pg";
import { MysqlConnection, type MysqlSettings } from "#brokers/mysql";
import {
  AS_TEXT,
  hangUp,
  loadPostgres,
  openPostgres,
  type PostgresClients,
  postgresErrorMessage,
} from "#brokers/postgres";
import { connectionErrorMessage } from "#net";
import type { DataSource } from "./data-source.js";
import { bytesText, doubleText, integerText, timeText } from "./value-text.js";

/** The rows of a statement: the text of each column as the Collector writes it, undefined for NULL. */
export interface SqlRows {
  /** The place of each column in rows. */
  readonly columns: ReadonlyMap<string, number>;
  readonly rows: readonly (readonly (string | undefined)[])[];
}

/** A larger result is refused: its rows are in memory together. */
const MAX_RESULT_BYTES = 64 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * One connection to a database, which runs one statement after the other. It is opened for the first one, kept until
 * something fails, and opened again for the next.
 */
export abstract class SqlDatabase {
  private last: Promise<unknown> = Promise.resolve();

  /** Rejects with the reason if the statement fails, or when `abort` fires. */
  query(text: string, parameter: string | undefined, abort: AbortSignal): Promise<SqlRows> {
    const run = async () => {
      abort.throwIfAborted();
      return this.run(text, parameter, abort);
    };
    const result = this.last.then(run, run);
    this.last = result.catch(() => {});
    return result;
  }

  protected abstract run(text: string, parameter: string | undefined, abort: AbortSignal): Promise<SqlRows>;
  abstract close(): void;
}

export function openDatabase(source: DataSource, program: string): SqlDatabase {
  return source.driver === "mysql" ? new MysqlDatabase(source, program) : new PostgresDatabase(source, program);
}

/** Rows with a converter for each column that needs one. */
function converted(
  names: readonly string[],
  converters: readonly (((text: string) => string) | undefined)[],
  rows: readonly (readonly (string | null | undefined)[])[],
): SqlRows {
  const columns = new Map(names.map((name, i) => [name, i]));
  const convert = (text: string | null | undefined, i: number) =>
    text === null || text === undefined ? undefined : (converters[i]?.(text) ?? text);
  return { columns, rows: rows.map((row) => row.map(convert)) };
}

/** Parameters of Go's driver that are no variables of the server. */
const MYSQL_OPTIONS: ReadonlySet<string> = new Set(
  `allowAllFiles allowCleartextPasswords allowFallbackToPlaintext allowNativePasswords allowOldPasswords charset
  checkConnLiveness clientFoundRows collation columnsWithAlias compress connectionAttributes interpolateParams loc
  maxAllowedPacket multiStatements parseTime readTimeout rejectReadOnly serverPubKey timeTruncate timeout tls
  writeTimeout`.split(/\s+/),
);
const MYSQL_INTEGERS: ReadonlySet<number> = new Set([1, 2, 3, 8, 9, 13]);
const MYSQL_DOUBLES: ReadonlySet<number> = new Set([4, 5]);
const MYSQL_TIMES: ReadonlySet<number> = new Set([7, 10, 12]);

class MysqlDatabase extends SqlDatabase {
  private readonly settings: MysqlSettings;
  private readonly variables: readonly string[];
  private readonly parsesTimes: boolean;
  private connection: MysqlConnection | undefined;

  constructor({ host, port, database, username, password, params }: DataSource, program: string) {
    super();
    const flag = (name: string, fallback: string) => /^(true|1)$/i.test(params.get(name) ?? fallback);
    const tls = (params.get("tls") ?? "false").toLowerCase();
    this.settings = {
      address: host.startsWith("/") ? { path: host } : { host, port },
      tls: /^(false|0)$/.test(tls) ? undefined : { rejectUnauthorized: /^(true|1)$/.test(tls) },
      isTlsOptional: tls === "preferred",
      credentials: {
        username,
        password,
        allowsNativePassword: flag("allowNativePasswords", "true"),
        allowsClearPassword: flag("allowCleartextPasswords", "false"),
      },
      database,
      program,
      maxResultBytes: MAX_RESULT_BYTES,
    };
    this.parsesTimes = flag("parseTime", "false");
    this.variables = [...params]
      .filter(([name]) => !MYSQL_OPTIONS.has(name))
      .map(([name, value]) => `${name} = ${value}`);
  }

  protected async run(text: string, parameter: string | undefined, abort: AbortSignal): Promise<SqlRows> {
    try {
      const connection = await this.connected(abort);
      const { columns, rows } =
        parameter === undefined
          ? await connection.query(text, abort)
          : await withParameter(connection, text, parameter, abort);
      const names = columns.map(({ name }) => name);
      return converted(
        names,
        columns.map(({ type }) => this.converterOf(type)),
        rows,
      );
    } catch (error) {
      throw new Error(connectionErrorMessage(error), { cause: error });
    }
  }

  close(): void {
    this.connection?.close();
  }

  private async connected(abort: AbortSignal): Promise<MysqlConnection> {
    if (this.connection?.isOpen) return this.connection;
    const connection = await MysqlConnection.open(this.settings, abort);
    this.connection = connection;
    if (this.variables.length > 0) await connection.query(`SET ${this.variables.join(", ")}`, abort);
    return connection;
  }

  private converterOf(type: number) {
    if (MYSQL_INTEGERS.has(type)) return integerText;
    if (MYSQL_DOUBLES.has(type)) return doubleText;
    return this.parsesTimes && MYSQL_TIMES.has(type) ? timeText : undefined;
  }
}

/** In hexadecimal nothing has to be quoted, whatever the server's SQL mode is. */
async function withParameter(connection: MysqlConnection, text: string, parameter: string, abort: AbortSignal) {
  const [statement, value] = [text, parameter].map(
    (each) => `CONVERT(x'${Buffer.from(each).toString("hex")}' USING utf8mb4)`,
  );
  await connection.query(`SET @sluice_statement = ${statement}, @sluice_value = ${value}`, abort);
  await connection.query("PREPARE sluice FROM @sluice_statement", abort);
  return connection.query("EXECUTE sluice USING @sluice_value", abort);
}

/** Parameters of the address that are no settings of the session. */
const POSTGRES_OPTIONS: ReadonlySet<string> = new Set(
  `sslmode sslcert sslkey sslrootcert sslinline sslsni connect_timeout binary_parameters application_name
  fallback_application_name options disable_prepared_binary_result client_encoding`.split(/\s+/),
);

/** Types by their numbers in the server's catalog. */
const POSTGRES_CONVERTERS: ReadonlyMap<number, (text: string) => string> = new Map([
  [16, (text: string) => (text === "t" ? "true" : text === "f" ? "false" : text)],
  [17, bytesText],
  [700, doubleText],
  [701, doubleText],
  ...[1082, 1083, 1114, 1184, 1266].map((type) => [type, timeText] as const),
]);

class PostgresDatabase extends SqlDatabase {
  private readonly source: DataSource;
  private readonly program: string;
  private clients: PostgresClients | undefined;
  private client: Client | undefined;

  constructor(source: DataSource, program: string) {
    super();
    this.source = source;
    this.program = program;
  }

  protected async run(text: string, parameter: string | undefined, abort: AbortSignal): Promise<SqlRows> {
    const onAbort = () => this.close(new Error("it took too long"));
    abort.addEventListener("abort", onAbort, { once: true });
    try {
      const client = await this.connected();
      abort.throwIfAborted();
      return await rowsOf(this.clients!, client, text, parameter);
    } catch (error) {
      throw new Error(abort.aborted ? "it took too long" : postgresErrorMessage(error), { cause: error });
    } finally {
      abort.removeEventListener("abort", onAbort);
    }
  }

  close(_reason?: Error): void {
    if (this.client !== undefined) hangUp(this.client);
    this.client = undefined;
  }

  private async connected(): Promise<Client> {
    if (this.client !== undefined) return this.client;
    this.clients ??= await loadPostgres();
    const forget = (_error: unknown, client: Client) => {
      if (this.client === client) this.client = undefined;
    };
    this.client = await openPostgres(this.clients, await this.options(), forget);
    return this.client;
  }

  private async options(): Promise<ClientConfig> {
    const { host, port, database, username, password, params } = this.source;
    const session = [...params].filter(([name]) => !POSTGRES_OPTIONS.has(name));
    const settings = session.map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, "\\$&")}`);
    const options = [params.get("options"), ...settings].filter(Boolean).join(" ");
    return {
      host,
      port,
      database,
      user: username,
      password: () => password,
      ssl: host.startsWith("/") ? false : await sslOf(params),
      connectionTimeoutMillis: Number(params.get("connect_timeout")) * 1000 || CONNECT_TIMEOUT_MS,
      application_name: (params.get("application_name") ?? this.program).slice(0, 63),
      ...(options !== "" && { options }),
      keepAlive: true,
    };
  }
}

/** As libpq: only verify-full checks the name, and require checks nothing unless there is a root certificate. */
async function sslOf(params: ReadonlyMap<string, string>): Promise<ClientConfig["ssl"]> {
  const mode = params.get("sslmode") ?? "require";
  if (mode === "disable") return false;
  const pem = async (name: string) => (params.has(name) ? await readFile(params.get(name)!, "utf8") : undefined);
  const [ca, cert, key] = await Promise.all([pem("sslrootcert"), pem("sslcert"), pem("sslkey")]);
  const files = {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  if (mode === "require" && ca === undefined) return { ...files, rejectUnauthorized: false };
  return {
    ...files,
    rejectUnauthorized: true,
    ...(mode !== "verify-full" && { checkServerIdentity: () => undefined }),
  };
}

function rowsOf(
  { Query }: PostgresClients,
  client: Client,
  text: string,
  parameter: string | undefined,
): Promise<SqlRows> {
  return new Promise((resolve, reject) => {
    const values = parameter === undefined ? [] : [parameter];
    const config = { text, values, rowMode: "array", types: AS_TEXT };
    const query = client.query(new Query(config as never) as never) as unknown as RowQuery;
    const rows: (string | null)[][] = [];
    let fields: readonly ResultField[] = [];
    let size = 0;
    query.on("row", (row, result) => {
      if (fields.length === 0) fields = result.fields;
      if (fields !== result.fields || size > MAX_RESULT_BYTES) return;
      for (const value of row) size += value?.length ?? 0;
      rows.push(row);
      if (size <= MAX_RESULT_BYTES) return;
      reject(new Error(`the result has more than ${MAX_RESULT_BYTES} bytes; limit it, as with LIMIT`));
      hangUp(client);
    });
    query.on("error", reject);
    query.on("end", () => {
      const names = fields.map(({ name }) => name);
      resolve(
        converted(
          names,
          fields.map(({ dataTypeID }) => POSTGRES_CONVERTERS.get(dataTypeID)),
          rows,
        ),
      );
    });
  });
}

interface ResultField {
  readonly name: string;
  readonly dataTypeID: number;
}

/** A query whose rows are arrays, as the package gives them. */
interface RowQuery {
  on(event: "row", run: (row: (string | null)[], result: { readonly fields: readonly ResultField[] }) => void): void;
  on(event: "error", run: (error: unknown) => void): void;
  on(event: "end", run: () => void): void;
}
