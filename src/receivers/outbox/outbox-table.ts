import { createHash } from "node:crypto";
import type { Client, QueryResult } from "pg";
import { AS_TEXT, forgetHandledText, milliseconds, quoteTable, quoteText, type TextRow } from "#brokers/postgres";
import type { AgentName } from "./agent-name.js";
import type { OutboxReceiverConfig } from "./config.js";
import { HISTORY, notDeleted, type QuotedColumns, quoteColumns, replayChanges } from "./outbox-columns.js";
import { type OutboxRow, readRow } from "./outbox-row.js";
import type { RowEnd } from "./row-watch.js";

/**
 * The outbox table in SQL. A row is `pending` until an agent claims it, which makes it `in_flight`; it ends as
 * `delivered` or `failed`.
 *
 * - Claims run one after the other under an advisory lock, so each sees the rows claimed before it: rows of one key are
 *   never with two agents, and no row is claimed while an earlier one of its key is pending.
 * - Nothing is sent to the client while that lock is held, so a client that does not read blocks no others.
 * - No transaction is open while rows are being processed. A claim expires at `claimed_until`, by the server's clock.
 * - A row stays claimed until its data was delivered or is a dead letter, also over a restart of its agent: `adopt`.
 * - An agent that was silent for too long has lost its claims and may not know it. Its updates to rows that now belong
 *   to another agent change nothing, with one exception: a delivered row is always marked as delivered.
 * - A failed row names the agent that keeps its dead letter. When it is replayed, that agent may take it first.
 */
export class OutboxTable {
  private readonly config: OutboxReceiverConfig;
  private readonly table: string;
  private readonly column: QuotedColumns;
  private readonly lock: string;
  /** Begins the claims of all processes of this agent. */
  private readonly name: string;
  private readonly agent: string;

  constructor(config: OutboxReceiverConfig, { name, process }: AgentName) {
    this.config = config;
    this.name = `${name}:`;
    this.agent = `${name}:${process}`;
    this.table = quoteTable(config.table);
    this.column = quoteColumns(config.columns);
    this.lock = createHash("sha256").update(`sluice ${config.table}`).digest().readBigInt64BE().toString();
  }

  /** Claims up to `limit` pending rows, oldest first. `number` must be unique among this agent's claims. */
  async claim(client: Client, number: number, limit: number): Promise<OutboxRow[]> {
    const claim = `${this.agent}#${number}`;
    return this.read(client, this.claimText(claim, limit));
  }

  /** Claims the rows again that an earlier process of this agent had claimed. */
  adopt(client: Client, number: number): Promise<OutboxRow[]> {
    const claim = `${this.agent}#${number}`;
    const { status, claimed_by, claims } = this.column;
    const isOfEarlier = `starts_with(${claimed_by}::text, ${quoteText(this.name)}) AND NOT ${this.isOurs()}`;
    const { key, position } = this.column;
    // A row that waits for an earlier one of its key was not handed in, so it is not what made agents end.
    const waits = `EXISTS (SELECT 1 FROM ${this.table} earlier WHERE earlier.${key} = adopted.${key}
        AND earlier.${status} = 'in_flight' AND earlier.${position} < adopted.${position})`;
    const counted = key ? `CASE WHEN ${waits} THEN 0 ELSE 1 END` : "1";
    const text = `UPDATE ${this.table} adopted SET ${claimed_by} = ${quoteText(claim)}, ${claims} = ${claims} + ${counted},
        ${this.column.claimed_until} = ${this.until()} WHERE ${status} = 'in_flight' AND ${isOfEarlier};
      ${this.selectText(claim)}`;
    return this.read(client, text);
  }

  /**
   * Claims failed rows for a replay, with everything that the SQL function of the migration does. Returns the ids of the
   * rows that are now claimed; the others have not failed, or are deleted or locked.
   */
  async replay(
    client: Client,
    number: number,
    ids: readonly string[],
    by: string,
    generation?: string,
  ): Promise<string[]> {
    const { column: c, table } = this;
    const claim = quoteText(`${this.agent}#${number}`);
    const changes = replayChanges(c, "$2::text", "$3::bigint");
    const free = `SELECT ${c.id} FROM ${table} WHERE ${c.id}::text = ANY($1) AND ${c.status} = 'failed'${notDeleted(c)} FOR UPDATE SKIP LOCKED`;
    const { rows } = await client.query<{ id: string }>(
      `UPDATE ${table} SET ${changes}, ${c.status} = 'in_flight', ${c.claims} = 1,
        ${c.claimed_by} = ${claim}, ${c.claimed_until} = ${this.until()}
      WHERE ${c.id} IN (${free}) RETURNING ${c.id}::text AS id`,
      [ids, by, generation === undefined || !/^\d{1,18}$/.test(generation) ? null : generation],
    );
    return rows.map((row) => row.id);
  }

  private async read(client: Client, text: string): Promise<OutboxRow[]> {
    const results = (await client.query({ text, types: AS_TEXT })) as unknown as
      | QueryResult<TextRow>[]
      | QueryResult<TextRow>;
    const { rows, fields } = [results].flat().at(-1)!;
    const payloadType = fields.find(({ name }) => name === "payload")?.dataTypeID ?? 0;
    return rows.map((row) => readRow(row, payloadType));
  }

  /**
   * Marks rows as delivered or deletes them, and records their keys if configured. Returns the ids of locked rows,
   * which are unchanged.
   */
  deliver(client: Client, rows: ReadonlyMap<string, RowEnd>): Promise<string[]> {
    const { handled_table, on_delivered, consumer } = this.config;
    const { id, status, attempts, idempotency_key: key } = this.column;
    const ids = [...rows.keys()];
    const counts = [...rows.values()].map((end) => end.attempts);
    const isDeleting = on_delivered === "delete";
    const counted = `${attempts} = ($2::int[])[array_position($3::text[], ${id}::text)]`;
    const change = isDeleting ? "DELETE" : `${status} = 'delivered', ${counted}${this.finished()}${this.unclaimed()}`;
    const which = `${status} <> 'delivered'`;
    const values = isDeleting ? [] : [counts, ids];
    if (handled_table === undefined) return this.change(client, ids, which, change, values);
    const remember = `, remembered AS (INSERT INTO ${quoteTable(handled_table)} (consumer, idempotency_key)
      SELECT DISTINCT $${values.length + 2}::text, ${key}::text FROM done WHERE ${key}::text <> '' ON CONFLICT DO NOTHING)`;
    return this.change(client, ids, which, change, [...values, consumer], remember);
  }

  /** Rows whose data is stored here are no longer suspected of crashing agents. */
  async resetClaims(client: Client, ids: readonly string[]): Promise<void> {
    await this.change(client, ids, this.isOurs(), `${this.column.claims} = 1`);
  }

  /** Returns the row's id if it is locked and therefore unchanged. */
  fail(client: Client, id: string, { error = "", attempts, firstFailedAt }: RowEnd): Promise<string[]> {
    const { status, last_error, attempts: count, first_failed_at } = this.column;
    // PostgreSQL's text type cannot hold this character.
    const shown = error.replaceAll("\0", "").slice(0, MAX_ERROR_LENGTH);
    const first = first_failed_at ? `, ${first_failed_at} = COALESCE(to_timestamp($4::float8 / 1000), now())` : "";
    // The claim stays, so that this agent takes the row when it is replayed: it keeps the dead letter.
    const change = `${status} = 'failed', ${last_error} = $2, ${count} = $3::int${first}${this.finished()}`;
    const values = [shown, attempts, ...(first_failed_at ? [firstFailedAt ?? null] : [])];
    return this.change(client, [id], this.isOurs(), change, values);
  }

  /** Makes unprocessed rows pending again and takes back the claim. */
  async giveBack(client: Client, ids: readonly string[]): Promise<void> {
    const { status, claims } = this.column;
    const change = `${status} = 'pending', ${claims} = greatest(${claims} - 1, 0)${this.unclaimed()}`;
    await this.change(client, ids, this.isOurs(), change);
  }

  /** Extends the claims on these rows. Returns the rows that this agent no longer holds. */
  async extend(client: Client, ids: readonly string[]): Promise<string[]> {
    await this.change(client, ids, this.isOurs(), `${this.column.claimed_until} = ${this.until()}`);
    const { id } = this.column;
    const text = `SELECT ${id}::text AS id FROM ${this.table} WHERE ${id} = ANY($1) AND ${this.isOurs()}`;
    const { rows } = await client.query<{ id: string }>(text, [ids]);
    const held = new Set(rows.map((row) => row.id));
    return ids.filter((row) => !held.has(row));
  }

  /** Makes rows pending again whose claim has expired, except the rows in `known`. */
  release(client: Client, known: readonly string[]): Promise<void> {
    const { claimed_until } = this.column;
    return this.makePending(client, known, `${claimed_until} IS NULL OR ${claimed_until} < now()`);
  }

  /** The same, plus all other rows claimed by this agent: it never received the result of those claims. */
  releaseUnknown(client: Client, known: readonly string[]): Promise<void> {
    const { claimed_until } = this.column;
    return this.makePending(client, known, `${claimed_until} IS NULL OR ${claimed_until} < now() OR ${this.isOurs()}`);
  }

  private async makePending(client: Client, known: readonly string[], isLeft: string): Promise<void> {
    const { table } = this;
    const { id, status } = this.column;
    const left = `SELECT ${id} FROM ${table} WHERE ${status} = 'in_flight' AND (${isLeft}) AND ${id} <> ALL($1) FOR UPDATE SKIP LOCKED`;
    const text = `UPDATE ${table} SET ${status} = 'pending'${this.unclaimed()} WHERE ${id} IN (${left})`;
    await client.query(text, [known]);
  }

  /**
   * Updates or deletes the rows that meet the condition `which`. Does not wait for locked rows but returns their ids.
   * Rows that no longer meet the condition were changed by someone who knows better.
   */
  private async change(
    client: Client,
    ids: readonly string[],
    which: string,
    change: string,
    more: readonly unknown[] = [],
    then = "",
  ): Promise<string[]> {
    const { table } = this;
    const { id } = this.column;
    const matching = `${id} = ANY($1) AND ${which}`;
    const verb = change === "DELETE" ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${change}`;
    const { rows } = await client.query<{ left_id: string }>(
      `WITH mine AS MATERIALIZED (SELECT ${id} FROM ${table} WHERE ${matching} FOR UPDATE SKIP LOCKED),
        done AS (${verb} WHERE ${id} IN (SELECT ${id} FROM mine) RETURNING *)${then}
      SELECT ${id}::text AS left_id FROM ${table} WHERE ${matching} AND ${id} NOT IN (SELECT ${id} FROM mine)`,
      [ids, ...more],
    );
    return rows.map((row) => row.left_id);
  }

  /** Counts rows that wait, up to a limit, because a long table takes long to count. */
  async countWaiting(client: Client): Promise<number> {
    const waiting = `SELECT 1 FROM ${this.table} WHERE ${this.column.status} = 'pending'${notDeleted(this.column)} LIMIT ${MAX_COUNTED}`;
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM (${waiting}) waiting`);
    return rows[0]!.count;
  }

  async forget(client: Client): Promise<void> {
    const { handled_table, handled_retention } = this.config;
    if (handled_table !== undefined) await client.query(forgetHandledText(handled_table, handled_retention));
  }

  private claimText(claim: string, limit: number): string {
    const { table, column } = this;
    const { id, key, position, status, claims, claimed_by, claimed_until } = column;
    // A replayed row is left to the agent that keeps its dead letter, for a while.
    const isForUs = `AND (${claimed_by} IS NULL OR starts_with(${claimed_by}::text, ${quoteText(this.name)}) OR ${claimed_until} IS NULL OR ${claimed_until} < now())`;
    const isFree = key
      ? `AND (${key} IS NULL OR NOT EXISTS (SELECT 1 FROM ${table} busy WHERE busy.${key} = waiting.${key} AND busy.${status} = 'in_flight'))`
      : "";
    const deletedEarlier = column.deleted_at ? ` AND earlier.${column.deleted_at} IS NULL` : "";
    // Locked rows are skipped, and so are later rows with the same key.
    const isNext = key
      ? `AND NOT EXISTS (SELECT 1 FROM ${table} earlier WHERE earlier.${key} = next.key AND earlier.${status} = 'pending'${deletedEarlier}
           AND earlier.${position} < next.position AND earlier.${id} NOT IN (SELECT id FROM next))`
      : "";
    const waits = "EXISTS (SELECT 1 FROM next first WHERE first.key = next.key AND first.position < next.position)";
    const counted = key ? `CASE WHEN ${waits} THEN 0 ELSE 1 END` : "1";
    return `BEGIN;
      SELECT pg_advisory_xact_lock(${this.lock});
      WITH next AS MATERIALIZED (
        SELECT ${id} AS id, ${position} AS position${key ? `, ${key} AS key` : ""} FROM ${table} waiting
        WHERE ${status} = 'pending'${notDeleted(column)} ${isForUs} ${isFree} ORDER BY ${position} LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      UPDATE ${table} taken SET ${status} = 'in_flight', ${claims} = taken.${claims} + ${counted},
        ${claimed_by} = ${quoteText(claim)}, ${claimed_until} = ${this.until()}
      FROM next WHERE taken.${id} = next.id ${isNext};
      COMMIT;
      ${this.selectText(claim)}`;
  }

  private selectText(claim: string): string {
    const { config, table, column } = this;
    const { id, payload, position, status, claims, claimed_by, created_at, idempotency_key } = column;
    const text = (name: string, as: string) => (name ? `, ${name}::text AS ${as}` : "");
    const isOversized = `pg_column_size(${payload}) > ${Math.ceil(config.max_message_size)}`;
    const created = created_at ? `, floor(extract(epoch FROM ${created_at}) * 1000)::text AS created_ms` : "";
    const handled = config.handled_table
      ? `, EXISTS (SELECT 1 FROM ${quoteTable(config.handled_table)} WHERE consumer = ${quoteText(config.consumer)}
           AND idempotency_key = NULLIF(${table}.${idempotency_key}::text, '')) AS handled`
      : "";
    return `SELECT ${id}::text AS id${text(column.key, "key")}${text(column.type, "type")}${text(column.headers, "headers")}
        ${text(idempotency_key, "idempotency_key")}${text(claims, "claims")}, ${HISTORY}->-1->>'replayed_by' AS replayed_by${created}${handled}
        , ${isOversized} AS oversized, CASE WHEN ${isOversized} THEN NULL ELSE ${payload} END AS payload
      FROM ${table} WHERE ${status} = 'in_flight' AND ${claimed_by} = ${quoteText(claim)} ORDER BY ${table}.${position}`;
  }

  private isOurs(): string {
    const { status, claimed_by } = this.column;
    return `(${status} = 'in_flight' AND starts_with(${claimed_by}::text, ${quoteText(`${this.agent}#`)}))`;
  }

  private until(): string {
    return `now() + ${milliseconds(this.config.claim_after)}`;
  }

  private finished(): string {
    const { finished_at } = this.column;
    return finished_at ? `, ${finished_at} = now()` : "";
  }

  private unclaimed(): string {
    const { claimed_by, claimed_until } = this.column;
    return `, ${claimed_by} = NULL, ${claimed_until} = NULL`;
  }
}

const MAX_ERROR_LENGTH = 2000;
const MAX_COUNTED = 100_000;
