import type { Client, ClientConfig, Pool, PoolClient } from "pg";
import { type ExporterContext, limitedLog } from "#contract";
import { Refusal } from "#contract/errors";
import { waitAtMost } from "#contract/time";
import { quoteTable } from "../postgres/postgres-config.js";
import {
  ensureTable,
  FORGET_INTERVAL_MS,
  forgetHandledText,
  handledTableText,
  storableKey,
} from "../postgres/postgres-handled.js";
import {
  hangUp,
  loadPostgres,
  postgresErrorMessage,
  postgresOptions,
  renewPostgresTls,
  sqlState,
} from "../postgres/postgres-link.js";
import type { EventHandledConfig } from "./handler-config.js";
import type { MessageKey } from "./message-key.js";
import { rejectOnAbort } from "./reject-on-abort.js";

const GOODBYE_MS = 2000;
const IDLE_MS = 30_000;

/**
 * Handles each key once, for all agents that use the same table. The key is written in the transaction in which the
 * message is handled, so both are committed or neither is.
 *
 * - A key that is committed is not handled again.
 * - A second copy of a message that is being handled waits for the first one to end. It is handled only if the first
 *   one failed.
 * - Work that does not end before its abort is never committed: its connection is closed.
 */
export class HandledEvents {
  private readonly config: EventHandledConfig;
  private readonly context: ExporterContext;
  private readonly consumer: string;
  private readonly insert: string;
  private readonly logLost: (error: unknown) => void;
  private options: ClientConfig = {};
  private pool: Pool | undefined;
  private hasTable = false;
  private forgotAt: number | undefined;

  constructor(config: EventHandledConfig, context: ExporterContext) {
    this.config = config;
    this.context = context;
    this.consumer = config.consumer ?? context.id;
    this.insert = `INSERT INTO ${quoteTable(config.table)} (consumer, idempotency_key) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
    this.logLost = limitedLog(context.clock, (error, suppressed) =>
      context.logger.warn(
        { endpoint: config.endpoint, reason: postgresErrorMessage(error), suppressed },
        "a connection to PostgreSQL was lost",
      ),
    );
  }

  async start(): Promise<void> {
    const pg = await loadPostgres();
    this.options = await postgresOptions(this.config, this.context.id);
    this.pool = new pg.Pool({ ...this.options, max: this.config.max_connections, idleTimeoutMillis: IDLE_MS });
    this.pool.on("error", this.logLost);
    // The pool listens only while a connection is idle, and an error without a listener would end the process.
    this.pool.on("connect", (client) => client.on("error", this.logLost));
  }

  async stop(): Promise<void> {
    const { pool } = this;
    this.pool = undefined;
    if (pool !== undefined) await waitAtMost(GOODBYE_MS, pool.end(), this.context.clock);
  }

  /** Runs the work in a transaction unless its key is known. Resolves with whether the work was done now. */
  async handleOnce(key: MessageKey, abort: AbortSignal, work: (client: Client) => Promise<unknown>): Promise<boolean> {
    const client = await this.connect(abort);
    try {
      const isNew = await rejectOnAbort(this.config.endpoint, abort, this.run(client, storableKey(key), abort, work));
      client.release();
      return isNew;
    } catch (error) {
      await this.rollBack(client, error, abort);
      throw isDataError(error) ? refusalOfData(error) : error;
    }
  }

  private async run(
    client: Client,
    key: string,
    abort: AbortSignal,
    work: (client: Client) => Promise<unknown>,
  ): Promise<boolean> {
    await this.prepare(client);
    await client.query("BEGIN");
    const { rowCount } = await client.query(this.insert, [this.consumer, key]);
    if (rowCount === 0) {
      await client.query("ROLLBACK");
      return false;
    }
    await work(client);
    abort.throwIfAborted();
    const { command } = await client.query("COMMIT");
    // The server answers COMMIT with ROLLBACK if a statement has failed and the handler ignored that.
    if (command !== "COMMIT") throw new Error("nothing was committed, because a statement of the handler failed");
    return true;
  }

  private async prepare(client: Client): Promise<void> {
    const { table, create_table, retention } = this.config;
    if (!this.hasTable && create_table) await ensureTable(client, table, handledTableText(table));
    this.hasTable = true;
    const now = this.context.clock.monotonic();
    this.forgotAt ??= now;
    if (now - this.forgotAt < FORGET_INTERVAL_MS) return;
    this.forgotAt = now;
    await client.query(forgetHandledText(table, retention)).catch(this.logLost);
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
      if (error instanceof Refusal) throw error;
      const message = `event_handled: ${endpoint}: ${postgresErrorMessage(error)}`;
      throw new Refusal("transient", message, { blame: "backend", cause: error });
    }
  }

  /** Closes the connection if its state is unknown, so that the server rolls back and releases its locks. */
  private async rollBack(client: PoolClient, error: unknown, abort: AbortSignal): Promise<void> {
    this.hasTable = sqlState(error) !== "42P01" && this.hasTable;
    try {
      abort.throwIfAborted();
      await rejectOnAbort(this.config.endpoint, abort, client.query("ROLLBACK"));
      client.release();
    } catch {
      hangUp(client);
      client.release(true);
    }
  }
}

/** SQLSTATE classes for values that a column cannot hold, and for violated constraints. A retry cannot help. */
function isDataError(error: unknown): error is Error {
  return /^2[23]/.test(sqlState(error) ?? "");
}

function refusalOfData(error: Error): Refusal {
  const status = sqlState(error)!;
  const category = status.startsWith("23") ? "business" : "schema";
  return new Refusal("permanent", postgresErrorMessage(error), { status, category, cause: error });
}
