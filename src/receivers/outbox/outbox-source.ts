import type { Client, ClientConfig } from "pg";
import { MessageIntake } from "#brokers";
import {
  FORGET_INTERVAL_MS,
  hangUp,
  loadPostgres,
  openPostgres,
  type PostgresClients,
  postgresErrorMessage,
  postgresOptions,
  quoteName,
  renewPostgresTls,
  sqlState,
} from "#brokers/postgres";
import type { MessageSource, MessageWatch } from "#contract";
import type { BuiltInReceiver, BuiltInReceiverContext } from "#contract/built-in";
import { reasonLog, type SourceHealth } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { duplicatesCounter, type MessageOutcome } from "#receiving";
import { backoff, pause, ReadLoop } from "#resilience";
import { type Counter, limitedLog, Refusal } from "../../plugin.js";
import { loadAgentName } from "./agent-name.js";
import type { OutboxReceiverConfig } from "./config.js";
import { idempotencyKeyOf, type OutboxRow, poisonSetback, rowMessage } from "./outbox-row.js";
import { OutboxTable } from "./outbox-table.js";
import { type RowEnd, RowWatch } from "./row-watch.js";

const RETRY_MS = 1000;
/** How long a stop waits for the server to accept the last outcomes. */
const FLUSH_LIMIT_MS = 2000;

/**
 * Claims the rows of an outbox, hands them in and settles them.
 *
 * - A row is settled when the exporters have delivered it or keep it as a dead letter. Outcomes that the server has not
 *   confirmed are kept and sent again; a row that is claimed again meanwhile is not handed in a second time.
 * - A row whose data waits in the queues when the receiver stops stays claimed. After the restart it is handed in again,
 *   and the queues recognise it by its key.
 * - Rows with the same key are handed in one after the other, each when the previous one has ended.
 * - No more rows are claimed than `max_in_flight` allows.
 * - One connection does everything; if it fails or is silent, a new one is opened.
 */
export class OutboxSource implements BuiltInReceiver, MessageSource {
  readonly messages = this;
  private readonly config: OutboxReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  /** Set by `start`. */
  private table!: OutboxTable;
  private readonly intake: MessageIntake;
  private readonly duplicates: Counter;
  private readonly health: SourceHealth | undefined;
  private readonly logFailure: (error: unknown) => void;
  private readonly logFailedRow: (row: { readonly id: string; readonly error: string }) => void;
  private readonly inProgress = new Map<string, Promise<void>>();
  /** The watches of rows that were handed in or replayed and have not ended. */
  private readonly watches = new Map<string, RowWatch>();
  /** Rows that were claimed several times and are stored now. */
  private readonly stored = new Set<string>();
  /** Outcomes that the server has not confirmed, by row. */
  private readonly unconfirmed = new Map<string, RowEnd>();
  /** Rows that waited here for another row of their key and now belong to another agent. */
  private readonly lost = new Set<string>();
  /** Rows that were not processed because the receiver is stopping. */
  private readonly returned = new Set<string>();
  /** The last row in progress of each key. */
  private readonly lastOfKey = new Map<string, Promise<void>>();
  private pg: PostgresClients | undefined;
  private options: ClientConfig = {};
  private client: Client | undefined;
  private running: Promise<void> = Promise.resolve();
  private settling: Promise<void> | undefined;
  private claims = 0;
  private readonly loop: ReadLoop;
  private hasAdopted = false;
  private stopWaiting = () => {};
  /** Resolves when the receiver stops: rows that have not ended by then stay claimed. */
  private readonly stopped = new Promise<undefined>((resolve) => {
    this.stopWaiting = () => resolve(undefined);
  });
  private hasNewRows = false;
  private wake = () => {};
  private cancelUpkeep = () => {};
  private forgotAt = Number.NEGATIVE_INFINITY;

  constructor(config: OutboxReceiverConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.loop = new ReadLoop(context.clock);
    const { encoding, max_message_size: maxMessageBytes, table } = config;
    this.intake = new MessageIntake({ signal: "logs", encoding, transport: "postgresql", maxMessageBytes }, context);
    const { clock, logger, metrics } = context;
    this.duplicates = duplicatesCounter(metrics, context.id);
    const { endpoint } = config;
    const logReason = reasonLog(clock, (reason, suppressed) =>
      logger.error({ endpoint, table, reason, suppressed }, "cannot read the outbox; retrying"),
    );
    this.health = context.health?.source(table, config.max_lag);
    this.logFailure = (error) => {
      this.health?.down(describe(error));
      logReason(describe(error));
    };
    this.logFailedRow = limitedLog(clock, ({ id, error }, suppressed) =>
      logger.error({ table, row: id, reason: error, suppressed }, "a row of the outbox has failed"),
    );
  }

  /** Resolves after the first attempt to connect, even if it failed. */
  async start(): Promise<void> {
    const { config, context } = this;
    this.table = new OutboxTable(config, await loadAgentName(config.directory, context.id, context.logger));
    this.pg = await loadPostgres();
    this.options = await postgresOptions(this.config, this.context.id);
    await this.connect().catch(this.logFailure);
    this.scheduleUpkeep();
    this.running = this.loop.run({
      read: () => this.claimAll(),
      onEnd: (error) => this.handleFailure(error),
      delays: backoff({ first: RETRY_MS, max: RETRY_MS }, this.context),
    });
  }

  /** Resolves when every row has its outcome and the server has been told, or does not respond. */
  async stop(): Promise<void> {
    this.loop.stop();
    this.wake();
    this.stopWaiting();
    this.cancelUpkeep();
    await waitAtMost(FLUSH_LIMIT_MS, this.flushOutcomes(), this.context.clock);
    if (this.client !== undefined) hangUp(this.client);
    this.client = undefined;
    await this.intake.stop();
  }

  /** A claim may be in progress: its rows are given back. */
  private async flushOutcomes(): Promise<void> {
    await Promise.all([this.intake.stop(), this.running]);
    await Promise.all(this.inProgress.values());
    await this.settle();
    const { client } = this;
    if (client === undefined) return;
    if (this.returned.size > 0) await this.table.giveBack(client, [...this.returned]).catch(() => {});
    await client.end().catch(() => {});
  }

  /** Called for dead letters of this outbox that a user replays. Their rows are claimed, and settled with their end. */
  async replay(
    messages: readonly string[],
    by: string,
    generation?: string,
  ): Promise<Map<string, MessageWatch | string>> {
    const { client } = this;
    const known = new Map<string, MessageWatch | string>();
    for (const id of messages) {
      const watch = this.watches.get(id);
      if (watch !== undefined) known.set(id, watch);
    }
    const others = messages.filter((id) => !known.has(id));
    if (others.length === 0) return known;
    if (client === undefined || this.loop.isStopping)
      throw new Error(`the outbox ${this.config.table} cannot be reached`);
    const claimed = new Set(await this.table.replay(client, this.claims++, others, by, generation));
    for (const id of others) known.set(id, claimed.has(id) ? this.watchReplay(id) : NOT_FAILED);
    return known;
  }

  private watchReplay(id: string): RowWatch {
    const watch = new RowWatch(id);
    watch.isTaken = true; // its dead letter is in the queue that puts it back
    this.watches.set(id, watch);
    this.inProgress.set(id, this.settleWith(id, watch));
    return watch;
  }

  private async claimAll(): Promise<void> {
    while (!this.loop.isStopping) {
      const client = this.client ?? (await this.connect());
      if (!this.hasAdopted) await this.adopt(client);
      this.hasNewRows = false;
      const room = this.config.max_in_flight - this.inProgress.size - this.unconfirmed.size;
      const limit = Math.min(room, this.config.batch_size);
      const rows = limit > 0 ? await this.claim(client, limit) : [];
      this.health?.up();
      if (!this.hasNewRows && (rows.length < limit || limit <= 0)) await this.pause(this.config.poll_interval);
    }
  }

  /** Takes the rows that this agent had before its restart. */
  private async adopt(client: Client): Promise<void> {
    this.takeAll(await this.table.adopt(client, this.claims++));
    this.hasAdopted = true;
  }

  private async claim(client: Client, limit: number): Promise<readonly OutboxRow[]> {
    const rows = await this.table.claim(client, this.claims++, limit);
    this.takeAll(rows);
    return rows;
  }

  private takeAll(rows: readonly OutboxRow[]): void {
    for (const row of rows) {
      this.lost.delete(row.id);
      if (!this.inProgress.has(row.id) && !this.unconfirmed.has(row.id)) this.take(row);
    }
  }

  /** Hands in the row after the previous row of the same key. */
  private take(row: OutboxRow): void {
    const { id, key } = row;
    const before = key === null ? undefined : this.lastOfKey.get(key);
    const done = (before ?? Promise.resolve()).then(() => this.handIn(row));
    this.inProgress.set(id, done);
    if (key === null) return;
    this.lastOfKey.set(key, done);
    void done.then(() => this.lastOfKey.get(key) === done && this.lastOfKey.delete(key));
  }

  private async handIn(row: OutboxRow): Promise<void> {
    const { id } = row;
    if (this.lost.has(id)) return this.release(id);
    const watch = new RowWatch(id, row.replayedBy);
    this.watches.set(id, watch);
    const outcome = await this.outcomeOf(row, watch);
    if (outcome.kind === "returned") {
      this.returned.add(id);
      return this.release(id);
    }
    watch.taken(outcome.kind === "rejected" ? outcome.refusal.message : outcome.setback?.message);
    if (row.claims > 1) {
      this.stored.add(id);
      void this.settle();
    }
    return this.settleWith(id, watch);
  }

  /** Settles a row when it ends. If the receiver stops before that, the row stays claimed. */
  private async settleWith(id: string, watch: RowWatch): Promise<void> {
    const end = await Promise.race([watch.ended, this.stopped]);
    if (end !== undefined) {
      if (end.error !== undefined) this.logFailedRow({ id, error: end.error });
      this.unconfirmed.set(id, end);
      void this.settle();
    }
    this.release(id);
  }

  private release(id: string): void {
    this.inProgress.delete(id);
    this.watches.delete(id);
    this.lost.delete(id);
    this.wake();
  }

  private async outcomeOf(row: OutboxRow, watch: RowWatch): Promise<MessageOutcome> {
    if (row.isHandled) {
      this.duplicates.add(1);
      return { kind: "taken" };
    }
    const { table, max_attempts, max_message_size } = this.config;
    if (row.isOversized) {
      const message = `the payload is larger than max_message_size, ${max_message_size} bytes; it was not read`;
      return { kind: "rejected", refusal: new Refusal("permanent", message) };
    }
    const key = idempotencyKeyOf(row, table, this.context.id);
    const { message, setback } = rowMessage(row, table, key);
    const isPoison = row.claims > max_attempts;
    const identity = { key: `outbox/${table}/${key}`, watch };
    return this.intake.accept(message, isPoison ? poisonSetback(row.claims - 1) : setback, identity);
  }

  /** Outcomes that arrive during a round are sent together in the next one. Failures are retried by the upkeep. */
  private settle(): Promise<void> {
    this.settling ??= this.settleAll();
    return this.settling;
  }

  private async settleAll(): Promise<void> {
    await Promise.resolve(); // outcomes of the same tick share one command
    await this.settleRounds();
    // Cleared right here, so an outcome that arrives from now on starts the next round.
    this.settling = undefined;
    this.wake();
  }

  private async settleRounds(): Promise<void> {
    let locked = 0;
    await this.resetClaims();
    while (this.unconfirmed.size > locked && this.client !== undefined) {
      const { client } = this;
      const round = [...this.unconfirmed].slice(locked, locked + 1000);
      const delivered = new Map(round.filter(([, { error }]) => error === undefined));
      try {
        const left = new Set(delivered.size === 0 ? [] : await this.table.deliver(client, delivered));
        for (const [id, end] of round)
          if (end.error !== undefined) for (const row of await this.table.fail(client, id, end)) left.add(row);
        for (const [id] of round) if (!left.has(id)) this.unconfirmed.delete(id);
        locked += left.size;
      } catch (error) {
        if (!this.loop.isStopping) this.handleFailure(error);
        return;
      }
    }
  }

  private async resetClaims(): Promise<void> {
    const ids = [...this.stored];
    if (ids.length === 0 || this.client === undefined) return;
    try {
      await this.table.resetClaims(this.client, ids);
      for (const id of ids) this.stored.delete(id);
    } catch (error) {
      if (!this.loop.isStopping) this.handleFailure(error);
    }
  }

  private async connect(): Promise<Client> {
    await renewPostgresTls(this.options, this.config);
    const options = { ...this.options, query_timeout: this.config.query_timeout };
    const client = await openPostgres(this.pg!, options, (error, lost) => {
      if (this.client !== lost) return;
      this.client = undefined;
      if (!this.loop.isStopping) this.logFailure(error);
      this.wake();
    });
    try {
      client.on("notification", () => {
        this.hasNewRows = true;
        this.wake();
      });
      if (this.config.notify_channel !== "") await client.query(`LISTEN ${quoteName(this.config.notify_channel)}`);
      await this.extend(client);
      await this.table.releaseUnknown(client, this.known());
    } catch (error) {
      hangUp(client);
      throw error;
    }
    if (this.loop.isStopping) hangUp(client);
    else this.client = client;
    return client;
  }

  /**
   * A connection stays usable after an error reported by the server. After any other error its state is unknown, so it
   * is closed.
   */
  private handleFailure(error: unknown): void {
    this.logFailure(error);
    const { client } = this;
    if (client === undefined || (sqlState(error) !== undefined && !isFatal(error))) return;
    this.client = undefined;
    hangUp(client);
  }

  /**
   * Extends the claims. Rows that another agent has taken over, and that have not been started here, are left to it.
   */
  private async extend(client: Client): Promise<void> {
    const known = this.known();
    if (known.length === 0) return;
    for (const id of await this.table.extend(client, known)) if (this.inProgress.has(id)) this.lost.add(id);
  }

  private known(): string[] {
    return [...this.inProgress.keys(), ...this.unconfirmed.keys()];
  }

  private scheduleUpkeep(): void {
    this.cancelUpkeep = this.context.clock.after(this.config.claim_after / 3, () => {
      void this.upkeep().finally(() => !this.loop.isStopping && this.scheduleUpkeep());
    });
  }

  /** Extends claims, retries unconfirmed outcomes and releases rows abandoned by other agents. */
  private async upkeep(): Promise<void> {
    const { client, context, table } = this;
    if (client === undefined) return;
    try {
      await this.extend(client);
      await this.settle();
      await table.release(client, this.known());
      this.health?.setLag(await table.countWaiting(client));
      this.wake();
      const now = context.clock.monotonic();
      if (now - this.forgotAt < FORGET_INTERVAL_MS) return;
      this.forgotAt = now;
      await table.forget(client);
    } catch (error) {
      if (!this.loop.isStopping) this.handleFailure(error);
    }
  }

  private pause(ms: number): Promise<void> {
    if (this.loop.isStopping) return Promise.resolve();
    const woken = new AbortController();
    this.wake = () => woken.abort();
    return pause(ms, this.context.clock, woken.signal);
  }
}

const NOT_FAILED = "the row of the outbox has not failed, is deleted, or is locked";

function isFatal(error: unknown): boolean {
  const { severity } = error as { readonly severity?: unknown };
  return severity === "FATAL" || severity === "PANIC";
}

const SCHEMA_MISMATCH: ReadonlySet<string | undefined> = new Set(["42P01", "42703", "42804", "42883", "22P02"]);

function describe(error: unknown): string {
  const hint = SCHEMA_MISMATCH.has(sqlState(error)) ? "; `sluice outbox migration` prints what the table needs" : "";
  return `${postgresErrorMessage(error)}${hint}`;
}
