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
import { waitAtMost } from "#contract";
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
import { COLUMNS, copyText } from "./table-shape.js";
import { ensureTables, tableDrift } from "./tables.js";

/** Stores records as rows; a batch is delivered once its transaction is committed. */
export const postgresExporter = defineExporter<PostgresExporterConfig>({
  type: "postgres",
  summary: "Stores log records, spans and data points as rows of tables in PostgreSQL, each once.",
  signals: SIGNALS,
  schema: postgresExporterSchema,
  create: (config, context) => new PostgresExporter(config, context),
});

/**
 * One send is one transaction: the idempotency keys of what it brings are remembered in it, and the rows of those that
 * were new are copied. So whatever is sent again, after a lost answer or a crash, finds its key and is stored once; what comes
 * with the same key meanwhile waits for the first to end.
 */
class PostgresExporter implements Exporter {
  private readonly config: PostgresExporterConfig;
  private readonly context: ExporterContext;
  private readonly duplicates: Counter;
  private readonly logLost: (error: unknown) => void;
  private pg: PostgresClients | undefined;
  private pool: Pool | undefined;
  private options: ClientConfig = {};
  /** Signals whose tables are there, as far as is known. */
  private readonly ready = new Set<Signal>();
  private forgotAt: number | undefined;

  constructor(config: PostgresExporterConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    const description = "Records that had been stored before, by their idempotency key, and were not stored again.";
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
    // The pool listens only while nobody has the connection, and an error without a listener would end the process.
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
    // A server that is silent does not say goodbye.
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

  /** What was committed stays so, whatever becomes of this. */
  private async forget(client: Client): Promise<void> {
    const now = this.context.clock.monotonic();
    this.forgotAt ??= now;
    if (now - this.forgotAt < FORGET_INTERVAL_MS) return;
    this.forgotAt = now;
    const { handled_table, handled_retention } = this.config;
    await client.query(forgetHandledText(handled_table, handled_retention)).catch(this.logLost);
  }

  /**
   * A connection of the pool, for this work alone. One on which it is not known what is under way is ended: so the server
   * undoes what is not committed, and nobody waits for it.
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

  /** Leaves the connection as it was, or ends it, and finds out whether the table is to blame. */
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

  /** Values that do not fit may be the table's fault: when its columns are not what they were, it is that which must be mended. */
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
/** A connection that nobody has used for so long is closed. */
const IDLE_MS = 30_000;
const NO_COLUMNS: ReadonlySet<string> = new Set();

interface ServerError {
  readonly message: string;
  readonly column?: string;
}

/** Data that a column cannot hold, a rule of the table's that it breaks, and what is larger than the server can store. */
const DATA_CLASSES: ReadonlySet<string> = new Set(["22", "23", "54"]);

/**
 * What the server says no to for good is data: values that it cannot hold, rules of a table that they break. All else may be
 * mended (the server is away, the disk is full, a right or a table is missing), and nothing is wrong with the data.
 */
function refusalOfPostgres(error: unknown, peer: string, ownColumns: ReadonlySet<string>): Refusal {
  const state = sqlState(error);
  const message = `${peer}: ${postgresErrorMessage(error)}`;
  if (state === undefined) return new Refusal("transient", message, { blame: "backend", cause: error });
  const isData = DATA_CLASSES.has(state.slice(0, 2)) && !isAboutTable(state, error as ServerError, ownColumns);
  if (!isData) return new Refusal("transient", message, { status: state, cause: error });
  const category = state.startsWith("23") ? "business" : "schema";
  return new Refusal("permanent", message, { status: state, category, cause: error });
}

/** A column of others that must be filled, or a partition that is not there: it is the table that must be mended. */
function isAboutTable(state: string, { column, message }: ServerError, ownColumns: ReadonlySet<string>): boolean {
  if (state === "23502") return column !== undefined && !ownColumns.has(column);
  return state === "23514" && message.startsWith("no partition of relation");
}
