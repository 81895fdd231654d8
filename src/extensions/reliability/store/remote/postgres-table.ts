import { randomUUID } from "node:crypto";
import type { Client, QueryResult } from "pg";
import { z } from "zod";
import { duration } from "../../../../plugin.js";
import {
  type Entry,
  hangUp,
  loadPostgres,
  openPostgres,
  postgresConnectionKeys,
  postgresErrorMessage,
  postgresOptions,
  quoteTable,
  sqlState,
  tableName,
} from "../../../../runtime/kit.js";
import { newIdTag } from "../new-entry.js";
import { type EntryRef, isStoreError, StoreError } from "../store.js";
import type { EntryTable, TableChange, TableContents } from "./entry-table.js";

export const postgresStoreKeys = z.strictObject({
  ...postgresConnectionKeys,
  table: tableName().default("sluice_queue").meta({
    description:
      "The table of the queues; that of their entries has _entries behind it. They are made when there are none.",
  }),
  agent: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "The agent's name, the same after every restart. Default: its host's." }),
  timeout: duration()
    .refine((ms) => ms >= 100, "expected at least 100ms")
    .default(10_000)
    .meta({ description: "A server that takes longer to answer counts as gone." }),
});

export type PostgresStoreConfig = z.infer<typeof postgresStoreKeys>;

/** Another agent that has just died may still be there for the server. */
const LOCK_TRIES = 20;
const LOCK_WAIT_MS = 500;
const PAGE = 5000;

/** The entries of a queue as rows of a table in PostgreSQL. A commit is one statement, so it needs no transaction of its own. */
export class PostgresTable implements EntryTable {
  private readonly config: PostgresStoreConfig;
  private readonly queue: string;
  private readonly queues: string;
  private readonly entries: string;
  /** Whoever has written another one here since is the owner now. */
  private owner = "";
  private client: Client | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(config: PostgresStoreConfig, queue: string) {
    this.config = config;
    this.queue = queue;
    this.queues = quoteTable(config.table);
    this.entries = quoteTable(`${config.table}_entries`);
  }

  async open(onLost: (error: unknown) => void): Promise<TableContents> {
    try {
      await this.connect(onLost);
      await this.createTables();
      await this.lock();
      return await this.read();
    } catch (error) {
      await this.close();
      throw this.errorOf(error);
    }
  }

  async commit({ lastRef, inserts, moves, deletes }: TableChange): Promise<void> {
    const rows = inserts.map(
      (_, i) => `($${9 + 4 * i}::bigint,$${10 + 4 * i}::smallint,$${11 + 4 * i}::text,$${12 + 4 * i}::bytea)`,
    );
    const added = `, added AS (INSERT INTO ${this.entries} (queue, ref, state, entry, payload)
      SELECT $1, * FROM (VALUES ${rows.join(",")}) v WHERE EXISTS (SELECT FROM own))`;
    const text = `WITH own AS (UPDATE ${this.queues} SET last_ref = GREATEST(last_ref, $2) WHERE queue = $1 AND owner = $3 RETURNING 1),
      gone AS (DELETE FROM ${this.entries} WHERE queue = $1 AND ref = ANY ($4::bigint[]) AND EXISTS (SELECT FROM own)),
      moved AS (UPDATE ${this.entries} e SET ref = m.new, state = m.state, entry = m.entry
        FROM unnest($5::bigint[], $6::bigint[], $7::smallint[], $8::text[]) AS m (old, new, state, entry)
        WHERE e.queue = $1 AND e.ref = m.old AND EXISTS (SELECT FROM own))
      ${inserts.length > 0 ? added : ""} SELECT 1 FROM own`;
    const values = [
      ...[this.queue, lastRef, this.owner, deletes],
      ...[moves.map(({ from }) => from), moves.map(({ to }) => to)],
      ...[moves.map(({ entry }) => stateOf(entry)), moves.map(({ entry }) => JSON.stringify(entry))],
      ...inserts.flatMap(({ ref, entry, payload }) => [ref, stateOf(entry), JSON.stringify(entry), asBuffer(payload)]),
    ];
    const { rowCount } = await this.query(text, values);
    if (rowCount === 1) return;
    throw this.lose(new StoreError("locked", `another agent has taken over the queue ${this.queue}`));
  }

  async payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Uint8Array>> {
    const text = `SELECT ref, payload FROM ${this.entries} WHERE queue = $1 AND ref = ANY ($2::bigint[])`;
    const { rows } = await this.query(text, [this.queue, refs]);
    return new Map(rows.map(({ ref, payload }) => [Number(ref), payload as Buffer]));
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = undefined;
    if (client !== undefined) hangUp(client);
  }

  private onLost: (error: unknown) => void = () => {};

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
    // An agent that is cut off is noticed by the server within half a minute, and gives its queue up.
    await this.query("SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3");
  }

  private async createTables(): Promise<void> {
    const { rows } = await this.query("SELECT to_regclass($1) AS queues, to_regclass($2) AS entries", [
      this.queues,
      this.entries,
    ]);
    if (rows[0]!["queues"] !== null && rows[0]!["entries"] !== null) return;
    // Two agents that make the same table at once would hinder one another.
    await this.query(`BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('${this.queues.replaceAll("'", "''")}', 0));
      CREATE TABLE IF NOT EXISTS ${this.queues} (queue text PRIMARY KEY, tag text NOT NULL, last_ref bigint NOT NULL, owner text NOT NULL);
      CREATE TABLE IF NOT EXISTS ${this.entries} (queue text NOT NULL, ref bigint NOT NULL, state smallint NOT NULL, entry text NOT NULL, payload bytea NOT NULL, PRIMARY KEY (queue, ref));
      ALTER TABLE ${this.entries} ALTER payload SET STORAGE EXTERNAL; COMMIT`);
  }

  /** The lock ends with the connection; the owner's name holds off one that does not know yet that its connection has ended. */
  private async lock(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const { rows } = await this.query("SELECT pg_try_advisory_lock(hashtextextended($1, 1)) AS taken", [
        `${this.queues} ${this.queue}`,
      ]);
      if (rows[0]!["taken"] === true) break;
      if (tries === LOCK_TRIES)
        throw new StoreError(
          "locked",
          `another agent has the queue ${this.queue} open; give each a name of its own with store: postgres: agent:`,
        );
      await new Promise((resolve) => setTimeout(resolve, LOCK_WAIT_MS));
    }
    this.owner = randomUUID();
  }

  private async read(): Promise<TableContents> {
    const tag = newIdTag();
    const { rows } = await this.query(
      `INSERT INTO ${this.queues} AS q (queue, tag, last_ref, owner) VALUES ($1, $2, 0, $3)
       ON CONFLICT (queue) DO UPDATE SET owner = $3 RETURNING tag, last_ref`,
      [this.queue, tag, this.owner],
    );
    const entries: [EntryRef, Entry][] = [];
    let corrupt = 0;
    for (let after = 0; ; ) {
      const text = `SELECT ref, entry FROM ${this.entries} WHERE queue = $1 AND ref > $2 ORDER BY ref LIMIT ${PAGE}`;
      const { rows: page } = await this.query(text, [this.queue, after]);
      for (const row of page) {
        const entry = readEntry(row["entry"]);
        if (entry === undefined) corrupt += 1;
        else entries.push([Number(row["ref"]), entry]);
      }
      if (page.length < PAGE) break;
      after = Number(page.at(-1)!["ref"]);
    }
    const known = rows[0]!;
    return {
      isNew: known["tag"] === tag,
      tag: String(known["tag"]),
      lastRef: Number(known["last_ref"]),
      entries,
      corrupt,
    };
  }

  /** One at a time: that is what a connection can do. */
  private query(text: string, values?: readonly unknown[]): Promise<QueryResult<Record<string, unknown>>> {
    const result = this.last.then(() => this.ask(text, values));
    this.last = result.catch(() => {});
    return result;
  }

  private async ask(text: string, values?: readonly unknown[]) {
    const { client } = this;
    if (client === undefined) throw new StoreError("io", `${this.config.endpoint} is not connected`);
    try {
      return await client.query<Record<string, unknown>>(text, values && [...values]);
    } catch (error) {
      const refusal = this.errorOf(error);
      // It is not known what became of it: only a new connection tells.
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
    if (isStoreError(error)) return error;
    const isFull = /^5[34]/.test(sqlState(error) ?? "");
    const message = `PostgreSQL at ${this.config.endpoint}: ${postgresErrorMessage(error)}`;
    return new StoreError(isFull ? "full" : "io", message, { cause: error });
  }
}

function stateOf({ state }: Entry): number {
  return state === "failed" ? 1 : 0;
}

function readEntry(text: unknown): Entry | undefined {
  try {
    const entry = JSON.parse(String(text)) as Entry;
    return typeof entry?.id === "string" && typeof entry.items === "number" ? entry : undefined;
  } catch {
    return undefined;
  }
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
