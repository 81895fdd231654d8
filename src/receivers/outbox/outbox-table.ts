import { createHash } from "node:crypto";
import type { Client, QueryResult } from "pg";
import {
  AS_TEXT,
  forgetHandledText,
  milliseconds,
  quoteName,
  quoteTable,
  quoteText,
  type TextRow,
} from "#brokers/postgres";
import type { OutboxReceiverConfig } from "./config.js";
import { type OutboxRow, readRow } from "./outbox-row.js";

/**
 * The outbox table in SQL. A row is `pending` until an agent claims it, which makes it `in_flight`; it ends as
 * `delivered` or `failed`.
 *
 * - Claims run one after the other under an advisory lock, so each sees the rows claimed before it: rows of one key are
 *   never with two agents, and no row is claimed while an earlier one of its key is pending.
 * - Nothing is sent to the client while that lock is held, so a client that does not read blocks nobody.
 * - No transaction is open while rows are being processed. A claim expires at `claimed_until`, by the server's clock.
 * - An agent that was silent for too long has lost its claims and may not know it. Its updates to rows that now belong
 *   to another agent change nothing, with one exception: that a row's data is safe holds whoever has claimed the row.
 */
export class OutboxTable {
  private readonly config: OutboxReceiverConfig;
  private readonly table: string;
  private readonly column: Readonly<Record<string, string>>;
  private readonly lock: string;
  private readonly agent: string;

  /** `agent` must be unique among agents. */
  constructor(config: OutboxReceiverConfig, agent: string) {
    this.config = config;
    this.agent = agent;
    this.table = quoteTable(config.table);
    const { columns } = config;
    const named = { ...columns, position: columns.position || columns.id };
    this.column = Object.fromEntries(Object.entries(named).map(([what, name]) => [what, name && quoteName(name)]));
    this.lock = createHash("sha256").update(`sluice ${config.table}`).digest().readBigInt64BE().toString();
  }

  /** Claims up to `limit` pending rows, oldest first. `number` must be unique among this agent's claims. */
  async claim(client: Client, number: number, limit: number): Promise<OutboxRow[]> {
    const claim = `${this.agent}#${number}`;
    const results = (await client.query({ text: this.claimText(claim, limit), types: AS_TEXT })) as unknown as
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
  deliver(client: Client, ids: readonly string[]): Promise<string[]> {
    const { handled_table, on_delivered, consumer } = this.config;
    const { status, idempotency_key: key } = this.column;
    const change = on_delivered === "delete" ? "DELETE" : `${status} = 'delivered'${this.finished()}`;
    const which = `${status} IN ('in_flight', 'pending')`;
    if (handled_table === undefined) return this.change(client, ids, which, change);
    const remember = `, remembered AS (INSERT INTO ${quoteTable(handled_table)} (consumer, idempotency_key)
      SELECT DISTINCT $2::text, ${key}::text FROM done WHERE ${key} IS NOT NULL ON CONFLICT DO NOTHING)`;
    return this.change(client, ids, which, change, [consumer], remember);
  }

  /** Returns the row's id if it is locked and therefore unchanged. */
  fail(client: Client, id: string, error: string): Promise<string[]> {
    const { status, last_error } = this.column;
    // PostgreSQL's text type cannot hold this character.
    const shown = error.replaceAll("\0", "").slice(0, MAX_ERROR_LENGTH);
    const change = `${status} = 'failed', ${last_error} = $2${this.finished()}`;
    return this.change(client, [id], this.isOurs(), change, [shown]);
  }

  /** Makes unprocessed rows pending again and takes back the attempt. */
  async giveBack(client: Client, ids: readonly string[]): Promise<void> {
    const { status, attempts } = this.column;
    const change = `${status} = 'pending', ${attempts} = greatest(${attempts} - 1, 0)${this.unclaimed()}`;
    await this.change(client, ids, this.isOurs(), change);
  }

  /** Extends the claims on these rows. Returns the rows that this agent no longer holds. */
  async extend(client: Client, ids: readonly string[]): Promise<string[]> {
    await this.change(client, ids, this.isOurs(), `${this.column["claimed_until"]} = ${this.until()}`);
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
    more: readonly string[] = [],
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

  async forget(client: Client): Promise<void> {
    const { handled_table, handled_retention } = this.config;
    if (handled_table !== undefined) await client.query(forgetHandledText(handled_table, handled_retention));
  }

  private claimText(claim: string, limit: number): string {
    const { table, column } = this;
    const { id, key, position, status, attempts, claimed_by, claimed_until } = column;
    const isFree = key
      ? `AND (${key} IS NULL OR NOT EXISTS (SELECT 1 FROM ${table} busy WHERE busy.${key} = waiting.${key} AND busy.${status} = 'in_flight'))`
      : "";
    // Locked rows are skipped, and so are later rows with the same key.
    const isNext = key
      ? `AND NOT EXISTS (SELECT 1 FROM ${table} earlier WHERE earlier.${key} = next.key AND earlier.${status} = 'pending'
           AND earlier.${position} < next.position AND earlier.${id} NOT IN (SELECT id FROM next))`
      : "";
    return `BEGIN;
      SELECT pg_advisory_xact_lock(${this.lock});
      WITH next AS MATERIALIZED (
        SELECT ${id} AS id, ${position} AS position${key ? `, ${key} AS key` : ""} FROM ${table} waiting
        WHERE ${status} = 'pending' ${isFree} ORDER BY ${position} LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      UPDATE ${table} taken SET ${status} = 'in_flight', ${attempts} = taken.${attempts} + 1,
        ${claimed_by} = ${quoteText(claim)}, ${claimed_until} = ${this.until()}
      FROM next WHERE taken.${id} = next.id ${isNext};
      COMMIT;
      ${this.selectText(claim)}`;
  }

  private selectText(claim: string): string {
    const { config, table, column } = this;
    const { id, payload, position, status, attempts, claimed_by, created_at, idempotency_key } = column;
    const text = (name: string | undefined, as: string) => (name ? `, ${name}::text AS ${as}` : "");
    const isOversized = `pg_column_size(${payload}) > ${Math.ceil(config.max_message_size)}`;
    const created = created_at ? `, floor(extract(epoch FROM ${created_at}) * 1000)::text AS created_ms` : "";
    const handled = config.handled_table
      ? `, EXISTS (SELECT 1 FROM ${quoteTable(config.handled_table)} WHERE consumer = ${quoteText(config.consumer)}
           AND idempotency_key = ${table}.${idempotency_key}::text) AS handled`
      : "";
    return `SELECT ${id}::text AS id${text(column["key"], "key")}${text(column["type"], "type")}${text(column["headers"], "headers")}
        ${text(idempotency_key, "idempotency_key")}${text(attempts, "attempts")}${created}${handled}
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
    return `${finished_at ? `, ${finished_at} = now()` : ""}${this.unclaimed()}`;
  }

  private unclaimed(): string {
    const { claimed_by, claimed_until } = this.column;
    return `, ${claimed_by} = NULL, ${claimed_until} = NULL`;
  }
}

const MAX_ERROR_LENGTH = 2000;
