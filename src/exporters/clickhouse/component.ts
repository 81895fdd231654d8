import { createHash } from "node:crypto";
import { compress } from "#codecs/compression";
import { type Http1Answer, httpClientDefaults, tlsClient } from "#net";
import { parseRetryAfter, refusalOfHttp } from "#net/otlp";
import { HttpPoster, PostersInTurn, plainText, sendEach } from "#net/sending";
import { cutByKey } from "#otlp/json";
import { SliceTimer } from "#work";
import {
  type Batch,
  defineExporter,
  type Exporter,
  type ExporterContext,
  Refusal,
  type SendOptions,
  SIGNALS,
} from "../../plugin.js";
import { type ClickhouseConfig, clickhouseSchema } from "./config.js";
import { createDatabaseText, createTableTexts, qualifiedName, quoteString, type TableName } from "./create-tables.js";
import { type ClickhouseEndpoint, parseEndpoint } from "./endpoint.js";
import { COLUMNS, KEY_COLUMNS, type RowShape } from "./table-shapes.js";
import { type TypedColumn, writeRows } from "./write-rows.js";

/** Inserts records into ClickHouse, into the tables of the Collector's exporter. */
export const clickhouseExporter = defineExporter<ClickhouseConfig>({
  type: "clickhouse",
  summary: "Inserts log records, spans and data points into tables of ClickHouse, over its HTTP interface.",
  signals: SIGNALS,
  defaults: { sending_queue: { merge_backlog: false } },
  schema: clickhouseSchema,
  create: (config, context) => new ClickhouseExporter(config, context),
});

/**
 * Approximate maximum size of an insert. Every row repeats its resource, so an insert is written only when it is sent.
 */
const MAX_INSERT_LENGTH = 8 * 1024 * 1024;

class ClickhouseExporter implements Exporter {
  private readonly config: ClickhouseConfig;
  private readonly context: ExporterContext;
  private readonly endpoint: ClickhouseEndpoint;
  private readonly database: string;
  private readonly compression: "none" | "lz4" | "zstd" | "gzip" | "deflate";
  private readonly isAsync: boolean;
  private readonly servers: PostersInTurn;
  private readonly tables = new Map<RowShape, Promise<readonly TypedColumn[]>>();

  constructor(config: ClickhouseConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.endpoint = parseEndpoint(config.endpoint || config.dsn!, config.connection_params) as ClickhouseEndpoint;
    this.database = config.database || this.endpoint.database || "default";
    this.compression = compressionOf(this.endpoint.compress ?? config.compress);
    const settings = settingsOf(config, this.endpoint);
    this.isAsync = /^(1|t|true)$/i.test(settings.get("async_insert")!);
    this.servers = new PostersInTurn(this.endpoint.urls.map((url) => this.posterOf(url, settings)));
  }

  async start(): Promise<void> {
    const { native, urls } = this.endpoint;
    if (native.length > 0)
      this.context.logger.warn(
        { endpoint: native.join(","), used: urls.map(({ origin }) => origin).join(",") },
        "the native protocol of ClickHouse is not supported: the HTTP interface of the same host is used instead. If it listens elsewhere, write its URL as the endpoint",
      );
    await this.servers.start();
  }

  /** Inserts that succeeded are not repeated when a later one is refused. */
  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const timer = new SliceTimer();
    const inserts = cutByKey<RowShape>(batch, MAX_INSERT_LENGTH, ({ kind }) => kind ?? (batch.signal as "logs"));
    const requests = inserts.map(({ key: shape, members }, i) => ({
      records: members.map(({ place }) => place),
      send: async () => {
        const columns = await this.columnsOf(shape, abort);
        if (timer.isOver) await timer.nextSlice();
        const rows = await writeRows(members, columns, timer);
        const head = this.insertText(shape, columns, this.tokenOf(options?.idempotencyKey, i, rows));
        if (timer.isOver) await timer.nextSlice();
        await this.insert(shape, Buffer.concat([Buffer.from(`${head}\n`), ...rows]), abort);
      },
    }));
    await sendEach(requests, batch.count);
  }

  async check(abort: AbortSignal): Promise<void> {
    await this.ask("SELECT 1", abort);
  }

  async stop(): Promise<void> {
    this.servers.stop();
  }

  private posterOf(from: URL, settings: ReadonlyMap<string, string>): HttpPoster {
    const { config, compression, endpoint } = this;
    const url = new URL(from);
    if (config.username !== "") url.username = encodeURIComponent(config.username);
    if (config.password !== "") {
      url.password = encodeURIComponent(config.password);
      url.username ||= "default";
    }
    url.search = new URLSearchParams([...settings]).toString();
    const headers = {
      "Content-Type": "text/plain; charset=utf-8",
      ...(compression !== "none" && { "Content-Encoding": compression }),
    };
    const tls = endpoint.skipVerify
      ? { ...(config.tls ?? tlsClient().parse({})), insecure_skip_verify: true }
      : config.tls;
    return new HttpPoster(url, { ...httpClientDefaults(), tls }, headers, this.context);
  }

  private async insert(shape: RowShape, text: Buffer, abort: AbortSignal): Promise<void> {
    try {
      await this.ask(text, abort);
    } catch (error) {
      // The table may have been changed or dropped in the meantime, so its columns are read again.
      this.tables.delete(shape);
      throw error;
    }
  }

  /**
   * The token lets a server with insert deduplication accept a repeated insert once. It has no effect on asynchronous
   * inserts. The rows are part of the token, because the rest of a batch may be sent under the same key as another
   * insert.
   */
  private tokenOf(key: string | undefined, part: number, rows: readonly Uint8Array[]): string | undefined {
    if (this.isAsync || key === undefined) return undefined;
    const hash = createHash("sha256");
    for (const piece of rows) hash.update(piece);
    return `${key}/${part}/${hash.digest("hex").slice(0, 32)}`;
  }

  private insertText(shape: RowShape, columns: readonly TypedColumn[], token: string | undefined): string {
    const { database, table } = this.tableOf(shape);
    const names = columns.map(({ name }) => `\`${name}\``).join(", ");
    const settings = token === undefined ? "" : ` SETTINGS insert_deduplication_token = ${quoteString(token)}`;
    return `INSERT INTO ${qualifiedName(database, table)} (${names})${settings} FORMAT JSONEachRow`;
  }

  private tableOf(shape: RowShape): TableName {
    const { database, config } = this;
    if (shape === "logs") return { database, table: config.logs_table_name };
    if (shape === "traces") return { database, table: config.traces_table_name };
    const kind = shape === "exponentialHistogram" ? "exponential_histogram" : shape;
    const tables = config.metrics_tables;
    const isNamed = Object.values(tables).some(({ name }) => name !== "");
    const prefix = isNamed ? "otel_metrics" : config.metrics_table_name || "otel_metrics";
    return { database, table: tables[kind].name || `${prefix}_${kind}` };
  }

  /**
   * Returns the columns of a table, and creates the table if it is missing. This happens once, and again after a failed
   * insert.
   */
  private columnsOf(shape: RowShape, abort: AbortSignal): Promise<readonly TypedColumn[]> {
    let columns = this.tables.get(shape);
    if (columns === undefined) {
      columns = this.readyTable(shape, abort);
      this.tables.set(shape, columns);
      columns.catch(() => this.tables.delete(shape));
    }
    return columns;
  }

  private async readyTable(shape: RowShape, abort: AbortSignal): Promise<readonly TypedColumn[]> {
    const { config, database } = this;
    const name = this.tableOf(shape);
    if (config.create_schema) {
      if (database !== "default") await this.ask(createDatabaseText(database, config), abort);
      for (const text of createTableTexts(shape, name, config)) await this.ask(text, abort);
    }
    const types = await this.columnTypes(name, abort);
    const all = [...COLUMNS[shape], ...(KEY_COLUMNS[shape] ?? [])];
    return all
      .filter((column) => types.has(column.name) || !column.isOptional)
      .map((column) => ({ ...column, actualType: types.get(column.name) ?? column.type }));
  }

  private async columnTypes({ database, table }: TableName, abort: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const where = `database = ${quoteString(database)} AND table = ${quoteString(table)}`;
    const text = await this.ask(
      `SELECT name, type FROM system.columns WHERE ${where} FORMAT JSONCompactEachRow`,
      abort,
    );
    const lines = text.split("\n").filter((line) => line.startsWith("["));
    return new Map(lines.map((line) => JSON.parse(line) as [string, string]));
  }

  private async ask(text: string | Buffer, abort: AbortSignal): Promise<string> {
    const plain = typeof text === "string" ? Buffer.from(text) : text;
    const body = this.compression === "none" ? plain : await compress(this.compression, plain);
    const read = (answer: Http1Answer): string => {
      readAnswer(answer, this.context.clock.now());
      return answer.body.toString("utf8");
    };
    return this.servers.use((poster) => poster.post([body], abort, undefined, read));
  }
}

function compressionOf(word: string): "none" | "lz4" | "zstd" | "gzip" | "deflate" {
  if (word === "lz4" || word === "zstd" || word === "gzip" || word === "deflate") return word;
  if (word === "br") return "gzip";
  return /^(true|1|lz4hc)$/i.test(word) ? "lz4" : "none";
}

/**
 * Returns the settings for every request: those of the config, and those which make sure that a success means that rows
 * are written.
 */
function settingsOf(
  { async_insert: isAsync }: ClickhouseConfig,
  { settings }: ClickhouseEndpoint,
): Map<string, string> {
  return new Map([
    ["async_insert", isAsync ? "1" : "0"],
    ["wait_for_async_insert", "1"],
    ["wait_end_of_query", "1"],
    ...settings,
  ]);
}

/**
 * The server's error codes for values that a column cannot hold and for rows that cannot be parsed. All other errors
 * are not caused by the data and may be resolved (memory, too many parts, a missing table or permission).
 */
const DATA_CODES: ReadonlySet<string> = new Set(
  "6 26 27 32 33 38 41 53 69 70 72 117 130 131 190 321 349 407 467 469".split(" "),
);
const VIOLATED_CONSTRAINT = "469";

/**
 * Throws the refusal for an answer that is not a success. The server sends the error code in a header, whatever the
 * status.
 */
function readAnswer({ status, headers, body }: Http1Answer, now: number): void {
  const code = headers.get("x-clickhouse-exception-code");
  if (code === undefined) {
    if (status >= 200 && status < 300) return;
    throw refusalOfHttp(status, plainText(body), parseRetryAfter(headers.get("retry-after"), now));
  }
  const message = `code ${code}: ${plainText(body)}`;
  if (!DATA_CODES.has(code)) throw new Refusal("transient", message, { status: `ClickHouse ${code}` });
  const category = code === VIOLATED_CONSTRAINT ? "business" : "schema";
  throw new Refusal("permanent", message, { status: `ClickHouse ${code}`, category });
}
