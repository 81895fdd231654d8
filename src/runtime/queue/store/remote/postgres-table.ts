import { randomUUID } from "node:crypto";
import type { Client, QueryResult } from "pg";
import { hangUp, loadPostgres, openPostgres, postgresOptions } from "#brokers/postgres";
import { newIdTag } from "../format/entry.js";
import { type EntryRef, StoreError } from "../store.js";
import { type PostgresStoreConfig, type PostgresTables, postgresStoreError, tablesOf } from "./postgres-config.js";
import { type CommitStatement, CommitStatements, createTablesText, lockNumber } from "./postgres-statements.js";
import { type NoteRow, ROW_STATES, type RowChange, type RowContents, type RowTable } from "./row-table.js";

interface PostgresTableOptions {
  /** How often locking the queue is tried. The server may still hold the lock of an agent that has just died. */
  readonly lockTries?: number;
}

const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 500;
const PAGE = 5000;
const NOTES_PAGE = 1000;

/** The rows of a queue in PostgreSQL tables. */
export class PostgresTable implements RowTable {
  private readonly config: PostgresStoreConfig;
  private readonly names: readonly string[];
  private readonly tables: PostgresTables;
  private readonly statements: CommitStatements;
  private readonly lockTries: number;
  private queueName: string;
  /** Identifies this session as the owner. Another agent that takes the queue over replaces it in the table. */
  private ownerName = "";
  private client: Client | undefined;
  private last: Promise<unknown> = Promise.resolve();
  private onLost: (error: unknown) => void = () => {};

  /** The queue has the first of these names that exists in the table, or the first one if none does. */
  constructor(config: PostgresStoreConfig, names: readonly [string, ...string[]], options: PostgresTableOptions = {}) {
    this.config = config;
    this.names = names;
    this.queueName = names[0];
    this.tables = tablesOf(config);
    this.statements = new CommitStatements(this.tables);
    this.lockTries = options.lockTries ?? LOCK_TRIES;
  }

  get queue(): string {
    return this.queueName;
  }

  get owner(): string {
    return this.ownerName;
  }

  async open(onLost: (error: unknown) => void): Promise<RowContents> {
    try {
      await this.connect(onLost);
      await this.createTables();
      await this.findName();
      await this.lock();
      return await this.read();
    } catch (error) {
      await this.close();
      const { code, message, cause } = this.errorOf(error);
      // A server without free connections is treated like an unreachable one, because it may have some later.
      throw new StoreError(code === "full" ? "io" : code, message, { cause });
    }
  }

  async setQueueId(id: string): Promise<void> {
    const text = `UPDATE ${this.tables.queues} SET id = $2 WHERE queue = $1 AND owner = $3`;
    await this.query(text, [this.queue, id, this.owner]);
  }

  async commit(change: RowChange): Promise<void> {
    const { rowCount } = await this.run(this.statements.of(this, change));
    if (rowCount === 1) return;
    throw this.lose(new StoreError("locked", `another agent has taken over the queue ${this.queue}`));
  }

  async payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Buffer>> {
    const text = `SELECT ref, payload FROM ${this.tables.entries} WHERE queue = $1 AND ref = ANY ($2::bigint[])`;
    const { rows } = await this.query(text, [this.queue, refs]);
    return new Map(rows.map(({ ref, payload }) => [Number(ref), payload as Buffer]));
  }

  async notes(): Promise<NoteRow[]> {
    const notes: NoteRow[] = [];
    const text = `SELECT number, note FROM ${this.tables.notes} WHERE queue = $1 AND number > $2 ORDER BY number LIMIT ${NOTES_PAGE}`;
    for (let after = 0; ; after = notes.at(-1)!.number) {
      const { rows } = await this.query(text, [this.queue, after]);
      for (const { number, note } of rows) notes.push({ number: Number(number), value: note as Buffer });
      if (rows.length < NOTES_PAGE) return notes;
    }
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    if (client !== undefined) hangUp(client);
  }

  private async connect(onLost: (error: unknown) => void): Promise<void> {
    const options = await postgresOptions(this.config, this.queue);
    const clients = await loadPostgres();
    this.onLost = onLost;
    const settings = { ...options, query_timeout: this.config.timeout };
    this.client = await openPostgres(clients, settings, (error, client) => {
      if (this.client !== client) return;
      this.client = undefined;
      onLost(this.errorOf(error));
    });
    // Within half a minute the server notices that an agent is cut off, and releases its queue.
    await this.query("SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3");
  }

  private async createTables(): Promise<void> {
    const { rows } = await this.query("SELECT count(to_regclass(name))::int AS n FROM unnest($1::text[]) name", [
      Object.values(this.tables),
    ]);
    if (rows[0]!["n"] !== Object.keys(this.tables).length) await this.query(createTablesText(this.tables));
  }

  private async findName(): Promise<void> {
    if (this.names.length === 1) return;
    const text = `SELECT queue FROM ${this.tables.queues} WHERE queue = ANY ($1)`;
    const { rows } = await this.query(text, [this.names]);
    const there = new Set(rows.map(({ queue }) => queue));
    this.queueName = this.names.find((name) => there.has(name)) ?? this.names[0]!;
  }

  /**
   * The lock ends with the connection. The owner's name stops an agent that has not noticed yet that its connection has
   * ended.
   */
  private async lock(): Promise<void> {
    const text = `SELECT pg_try_advisory_lock(${lockNumber(this.tables, "$1::text")}) AS taken`;
    for (let tries = 1; ; tries++) {
      const { rows } = await this.query(text, [this.queue]);
      if (rows[0]!["taken"] === true) break;
      if (tries >= this.lockTries)
        throw new StoreError(
          "locked",
          `another agent has the queue ${this.queue} open; give each a name of its own with store: postgres: agent:`,
        );
      await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS));
    }
    this.ownerName = randomUUID();
  }

  private async read(): Promise<RowContents> {
    const newTag = newIdTag();
    const { rows: queues } = await this.query(
      `INSERT INTO ${this.tables.queues} AS q (queue, tag, last_ref, owner) VALUES ($1, $2, 0, $3)
       ON CONFLICT (queue) DO UPDATE SET owner = $3 RETURNING tag, last_ref, id`,
      [this.queue, newTag, this.owner],
    );
    const rows: { ref: EntryRef; head: string }[] = [];
    const text = `SELECT ref, entry FROM ${this.tables.entries} WHERE queue = $1 AND ref > $2 AND state <> ${ROW_STATES.setAside} ORDER BY ref LIMIT ${PAGE}`;
    for (let after = 0; ; after = rows.at(-1)!.ref) {
      const { rows: page } = await this.query(text, [this.queue, after]);
      for (const { ref, entry } of page) rows.push({ ref: Number(ref), head: String(entry) });
      if (page.length < PAGE) break;
    }
    const { tag, last_ref, id } = queues[0]!;
    const lastRef = Math.max(Number(last_ref), rows.at(-1)?.ref ?? 0);
    const queueId = /^[\da-f]{16}$/.test(String(id)) ? String(id) : undefined;
    return { isNew: tag === newTag, tag: String(tag), lastRef, queueId, rows, setAside: await this.countSetAside() };
  }

  private async countSetAside(): Promise<number> {
    const text = `SELECT count(*) AS n FROM ${this.tables.entries} WHERE queue = $1 AND state = ${ROW_STATES.setAside}`;
    const { rows } = await this.query(text, [this.queue]);
    return Number(rows[0]!["n"]);
  }

  private query(text: string, values: readonly unknown[] = []): Promise<QueryResult<Record<string, unknown>>> {
    return this.run({ text, values: [...values] });
  }

  /** Runs one statement at a time, because a connection can handle only one. */
  private run(statement: CommitStatement): Promise<QueryResult<Record<string, unknown>>> {
    const result = this.last.then(() => this.ask(statement));
    this.last = result.catch(() => {});
    return result;
  }

  private async ask(statement: CommitStatement) {
    const { client } = this;
    if (client === undefined) throw new StoreError("io", `${this.config.endpoint} is not connected`);
    try {
      return await client.query<Record<string, unknown>>(statement);
    } catch (error) {
      const refusal = this.errorOf(error);
      // It is not known whether the statement was executed. Only a new connection can tell.
      throw refusal.code === "io" ? this.lose(refusal) : refusal;
    }
  }

  private lose(error: StoreError): StoreError {
    const { client } = this;
    this.client = undefined;
    if (client !== undefined) {
      hangUp(client);
      this.onLost(error);
    }
    return error;
  }

  private errorOf(error: unknown): StoreError {
    return postgresStoreError(this.config, error);
  }
}
