import type { Client, ClientConfig, Pool, PoolClient, QueryResult } from "pg";
import { rejectOnAbort } from "#brokers";
import {
  FORGET_INTERVAL_MS,
  forgetHandledText,
  hangUp,
  loadPostgres,
  type PostgresClients,
  postgresErrorMessage,
  postgresOptions,
  renewPostgresTls,
  sqlState,
} from "#brokers/postgres";
import { waitAtMost } from "#contract/time";
import {
  type Batch,
  type Counter,
  defineExporter,
  type Exporter,
  type ExporterContext,
  limitedLog,
  Refusal,
  type SendOptions,
  SIGNALS,
  type Signal,
} from "../../plugin.js";
import { batchRows, type Row } from "./batch-rows.js";
import { type PostgresExporterConfig, postgresExporterSchema } from "./config.js";
import { copyData, copyIn } from "./copy-in.js";
import { freshRows, keyedRows, rememberText } from "./handled-keys.js";
import { COLUMNS, copyText, ensureTables, tableDrift } from "./table-shape.js";

/** Stores records as rows. A batch is delivered once its transaction is committed. */
export const postgresExporter = defineExporter<PostgresExporterConfig>({
  type: "postgres",
  summary: "Stores log records, spans and data points as rows of tables in PostgreSQL, each once.",
  signals: SIGNALS,
  schema: postgresExporterSchema,
  create: (config, context) => new PostgresExporter(config, context),
});

/**
 * Each send is one transaction: it stores the idempotency keys of the batch, and copies the rows whose keys were new.
 * So a batch that is sent again, after a lost answer or a crash, finds its keys and is stored once. A concurrent send
 * with the same key waits for the first one to end.
 */
class PostgresExporter implements Exporter {
  private readonly config: PostgresExporterConfig;
  private readonly context: ExporterContext;
  private readonly duplicates: Counter;
  private readonly logLost: (error: unknown) => void;
  private pg: PostgresClients | undefined;
  private pool: Pool | undefined;
  private options: ClientConfig = {};
  /** Signals whose tables are known to exist. */
  private readonly ready = new Set<Signal>();
  private forgotAt: number | undefined;

  constructor(config: PostgresExporterConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const description = "Records that were recognised as duplicates by their idempotency key and not stored again.";
    this.duplicates = context.metrics.counter("sluice_exporter_duplicates", { description }, { exporter: context.id });
    this.logLost = limitedLog(context.clock, (error, suppressed) =>
      context.logger.warn(
        { endpoint: config.endpoint, reason: postgresErrorMessage(error), suppressed },
        "a connection to PostgreSQL was lost",
      ),
    );
  }

  async start(): Promise<void> {
    this.pg = await loadPostgres();
    this.options = await postgresOptions(this.config, this.context.id);
    this.pool = new this.pg.Pool({ ...this.options, max: this.config.max_connections, idleTimeoutMillis: IDLE_MS });
    this.pool.on("error", this.logLost);
    // The pool listens only while a connection is idle, and an error without a listener would end the process.
    this.pool.on("connect", (client) => client.on("error", this.logLost));
  }

  async send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<undefined> {
    const { signal } = batch;
    const rows = batchRows(batch);
    const keyed = keyedRows(rows, batch.count, options?.idempotencyKey);
    await this.withClient(abort, signal, async (client) => {
      if (!this.ready.has(signal)) {
        await ensureTables(client, this.config, signal);
        this.ready.add(signal);
      }
      await this.store(client, signal, rows, keyed);
    });
    return undefined;
  }

  async check(abort: AbortSignal): Promise<void> {
    await this.withClient(abort, undefined, async (client) => void (await client.query("SELECT 1")));
  }

  async stop(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    // A silent server never answers the goodbye, so the wait is limited.
    if (pool !== undefined) await waitAtMost(GOODBYE_MS, pool.end(), this.context.clock);
  }

  private async store(
    client: Client,
    signal: Signal,
    rows: readonly Row[],
    keyed: ReturnType<typeof keyedRows>,
  ): Promise<void> {
    const { table } = this.config[signal];
    const copy = copyText(signal, table);
    const { handled_table } = this.config;
    if (handled_table === "" || keyed.keys.length === 0) return copyIn(this.pg!, client, copy, copyData(rows));
    const results = (await client.query(rememberText(handled_table, table, keyed.keys))) as unknown as QueryResult<{
      idempotency_key: string;
    }>[];
    const fresh = freshRows(rows, keyed, new Set(results.at(-1)!.rows.map((row) => row.idempotency_key)));
    if (fresh.length < rows.length) this.duplicates.add(rows.length - fresh.length);
    if (fresh.length > 0) await copyIn(this.pg!, client, copy, copyData(fresh));
    await client.query("COMMIT");
    await this.forget(client);
  }

  /** Deletes old idempotency keys from time to time. A failure does not affect the committed rows. */
  private async forget(client: Client): Promise<void> {
    const now = this.context.clock.monotonic();
    this.forgotAt ??= now;
    if (now - this.forgotAt < FORGET_INTERVAL_MS) return;
    this.forgotAt = now;
    const { handled_table, handled_retention } = this.config;
    await client.query(forgetHandledText(handled_table, handled_retention)).catch(this.logLost);
  }

  /**
   * Lends a connection of the pool for this work alone. If its state is unknown afterwards, the connection is closed,
   * so that the server rolls back what is not committed and releases its locks.
   */
  private async withClient(
    abort: AbortSignal,
    signal: Signal | undefined,
    work: (client: Client) => Promise<void>,
  ): Promise<void> {
    const { endpoint } = this.config;
    const client = await this.connect(abort);
    try {
      await rejectOnAbort(endpoint, abort, work(client));
      client.release();
    } catch (error) {
      const drift = await this.undo(client, error, abort, signal);
      throw error instanceof Refusal ? error : this.refusalOf(error, signal, drift);
    }
  }

  private async connect(abort: AbortSignal): Promise<PoolClient> {
    const { endpoint } = this.config;
    if (this.pool === undefined) throw new Refusal("transient", `${endpoint}: not started`, { blame: "backend" });
    const connecting = this.pool.connect();
    try {
      return await rejectOnAbort(endpoint, abort, connecting);
    } catch (error) {
      void connecting.then((late) => late.release()).catch(() => {});
      void renewPostgresTls(this.options, this.config);
      throw error instanceof Refusal ? error : refusalOfPostgres(error, endpoint, NO_COLUMNS);
    }
  }

  /** Rolls back or closes the connection, and finds out whether the table is at fault. */
  private async undo(
    client: PoolClient,
    error: unknown,
    abort: AbortSignal,
    signal: Signal | undefined,
  ): Promise<string | undefined> {
    try {
      if (sqlState(error) === undefined || signal === undefined) throw error;
      this.ready.delete(signal);
      const { endpoint } = this.config;
      const drift = await rejectOnAbort(endpoint, abort, tableDrift(client, signal, this.config[signal].table));
      client.release();
      return drift;
    } catch {
      hangUp(client);
      client.release(true);
      return undefined;
    }
  }

  /**
   * Values may not fit because the table has changed. If its columns differ from what rows need, the table must be
   * fixed.
   */
  private refusalOf(error: unknown, signal: Signal | undefined, drift: string | undefined): Refusal {
    const { endpoint } = this.config;
    const columns = signal === undefined ? NO_COLUMNS : new Set(COLUMNS[signal].map(({ name }) => name));
    const refusal = refusalOfPostgres(error, endpoint, columns);
    if (drift === undefined) return refusal;
    const { status } = refusal;
    return new Refusal("transient", `${endpoint}: ${drift}`, {
      ...(status && { status }),
      blame: "backend",
      cause: error,
    });
  }
}

const GOODBYE_MS = 2000;
/** Unused connections are closed after this time. */
const IDLE_MS = 30_000;
const NO_COLUMNS: ReadonlySet<string> = new Set();

interface ServerError {
  readonly message: string;
  readonly column?: string;
}

/**
 * SQLSTATE classes for data that a column cannot hold, for violated constraints of the table, and for data larger than
 * the server can store.
 */
const DATA_CLASSES: ReadonlySet<string> = new Set(["22", "23", "54"]);

/**
 * Only data errors are permanent: values that the server cannot hold, and violated constraints. All other problems can
 * be resolved (the server is down, the disk is full, a permission or a table is missing), and the data is not at fault.
 */
function refusalOfPostgres(error: unknown, peer: string, ownColumns: ReadonlySet<string>): Refusal {
  const state = sqlState(error);
  const message = `${peer}: ${postgresErrorMessage(error)}`;
  if (state === undefined) return new Refusal("transient", message, { blame: "backend", cause: error });
  const isData = DATA_CLASSES.has(state.slice(0, 2)) && !isTableError(state, error as ServerError, ownColumns);
  if (!isData) return new Refusal("transient", message, { status: state, cause: error });
  const category = state.startsWith("23") ? "business" : "schema";
  return new Refusal("permanent", message, { status: state, category, cause: error });
}

/** A required column that the exporter does not fill, or a missing partition: the table must be fixed. */
function isTableError(state: string, { column, message }: ServerError, ownColumns: ReadonlySet<string>): boolean {
  if (state === "23502") return column !== undefined && !ownColumns.has(column);
  return state === "23514" && message.startsWith("no partition of relation");
}
