import type { Redis } from "ioredis";
import {
  type BrokerSource,
  connectRedis,
  type Dedup,
  type IncomingMessage,
  isDeadLetterHeader,
  isRedisError,
  keyHeader,
  MessageIntake,
  redisErrorMessage,
  rejectedHeaders,
} from "#brokers";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { reasonLog, type SourceHealth } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { backoff, pause, ReadLoop } from "#resilience";
import { limitedLog, type Refusal, type Signal } from "../../plugin.js";
import type { RedisStreamReceiverConfig } from "./config.js";
import { entryMessage, readEntries, type StreamEntry } from "./stream-entry.js";

const RETRY_MS = 1000;
/** How long the server lets a read wait for entries. */
const BLOCK_MS = 2000;
const MAX_READ = 100;
const MAX_HELD_PAGE = 1000;
const FIRST_ENTRY = "0-0";
/** How long a stop waits for the server to accept the last acknowledgements. */
const FLUSH_LIMIT_MS = 2000;

/**
 * Reads one stream as one consumer of the group.
 *
 * - An entry is acknowledged only when its outcome is `taken`. Acknowledgements that the server has not confirmed are
 *   kept and sent again; an entry that is redelivered meanwhile is not handed in a second time.
 * - While an entry is being processed, its claim is renewed three times per `claim_after`; otherwise another agent
 *   would take it over. An entry taken over because we were cut off for longer is left to that agent: we only
 *   acknowledge it if its data is safe here.
 * - No more entries are read than `max_in_flight` allows.
 * - There are two connections, because a read that waits for entries would block all later commands.
 */
export class StreamSource implements BrokerSource {
  private readonly stream: string;
  private readonly consumer: string;
  private readonly config: RedisStreamReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly intake: MessageIntake;
  private readonly logReason: (reason: string) => void;
  private readonly logRejected: (refusal: Refusal) => void;
  private readonly inProgress = new Set<string>();
  /** Entries that were taken, but whose acknowledgement the server has not confirmed. */
  private readonly unconfirmed = new Set<string>();
  private reader: Redis | undefined;
  private writer: Redis | undefined;
  private running: Promise<void> = Promise.resolve();
  private acknowledging: Promise<void> | undefined;
  private readerId: number | undefined;
  /** Where the next search for abandoned entries starts. */
  private claimFrom = FIRST_ENTRY;
  private readonly loop: ReadLoop;
  private readonly health: SourceHealth | undefined;
  private wake = () => {};
  private cancelUpkeep = () => {};

  constructor(
    signal: Signal,
    consumer: string,
    config: RedisStreamReceiverConfig,
    context: BuiltInReceiverContext,
    dedup: Dedup | undefined,
  ) {
    const { stream, encoding } = config[signal];
    this.stream = stream;
    this.consumer = consumer;
    this.config = config;
    this.context = context;
    const { max_message_size: maxMessageBytes, group } = config;
    this.intake = new MessageIntake({ signal, encoding, transport: "redis", maxMessageBytes, dedup }, context);
    const { clock, logger } = context;
    this.loop = new ReadLoop(clock);
    this.health = context.health?.source(stream, config.max_lag);
    this.logReason = reasonLog(clock, (reason, suppressed) =>
      logger.error({ stream, group, reason, suppressed }, "cannot read from the stream; retrying"),
    );
    this.logRejected = limitedLog(clock, (refusal, suppressed) =>
      logger.error(
        { stream, group, reason: refusal.message, suppressed },
        "an entry is permanently refused and cannot be kept as a dead letter",
      ),
    );
  }

  private logFailure(error: unknown): void {
    this.logReason(redisErrorMessage(error, this.writer));
  }

  async start(): Promise<void> {
    [this.reader, this.writer] = await Promise.all([
      connectRedis(this.config, this.context),
      connectRedis(this.config, this.context),
    ]);
    this.reader.on("ready", () => void this.learnReaderId(this.reader!));
    await this.learnReaderId(this.reader);
    this.scheduleUpkeep();
    this.running = this.run(this.reader, this.writer);
  }

  /** Resolves when every entry has its outcome and the server has been told, or does not respond. */
  async stop(): Promise<void> {
    this.loop.stop();
    this.wake();
    const { reader, writer } = this;
    if (reader === undefined || writer === undefined) return;
    await this.endRead(reader, writer);
    await this.intake.stop();
    this.cancelUpkeep();
    await waitAtMost(FLUSH_LIMIT_MS, this.flushAcknowledgements(writer), this.context.clock);
    reader.disconnect();
    writer.disconnect();
  }

  /** Resolves when the server knows every outcome. */
  private async flushAcknowledgements(writer: Redis): Promise<void> {
    while (this.inProgress.size > 0) await this.nextOutcome(FLUSH_LIMIT_MS);
    await this.acknowledge(writer);
  }

  private run(reader: Redis, writer: Redis): Promise<void> {
    let start = this.config.start_at === "first" ? "0" : "$";
    return this.loop.run({
      read: async () => {
        await this.createGroup(writer, start);
        this.health?.up();
        void this.measureLag(writer);
        start = "0"; // if the stream is deleted later, all entries of its successor are new
        await this.readEntries(reader, writer);
      },
      onEnd: (error) => {
        this.health?.down(redisErrorMessage(error, this.writer));
        this.logFailure(error);
      },
      delays: backoff({ first: RETRY_MS, max: RETRY_MS }, this.context),
    });
  }

  private async readEntries(reader: Redis, writer: Redis): Promise<void> {
    while (!this.loop.isStopping) {
      const room = this.config.max_in_flight - this.inProgress.size;
      if (room > 0) this.takeAll(await this.read(reader, Math.min(room, MAX_READ)), writer);
      else await this.nextOutcome(BLOCK_MS);
    }
  }

  private async createGroup(writer: Redis, start: string): Promise<void> {
    try {
      await writer.call("XGROUP", "CREATE", this.stream, this.config.group, start, "MKSTREAM");
    } catch (error) {
      if (!isRedisError(error, "BUSYGROUP")) throw error;
    }
  }

  private async read(reader: Redis, count: number): Promise<StreamEntry[]> {
    const args = ["GROUP", this.config.group, this.consumer, "COUNT", count, "BLOCK", BLOCK_MS] as const;
    const streams = (await reader.callBuffer("XREADGROUP", ...args, "STREAMS", this.stream, ">")) as
      | readonly (readonly [Buffer, unknown])[]
      | null;
    return readEntries(streams?.[0]?.[1]);
  }

  private takeAll(entries: readonly StreamEntry[], writer: Redis): void {
    for (const entry of entries) {
      if (!this.inProgress.has(entry.id) && !this.unconfirmed.has(entry.id)) void this.take(entry, writer);
    }
  }

  private async take(entry: StreamEntry, writer: Redis): Promise<void> {
    this.inProgress.add(entry.id);
    const message = entryMessage(entry, this.stream, this.config.body_field);
    const outcome = await this.intake.accept(message);
    if (
      outcome.kind === "taken" ||
      (outcome.kind === "rejected" && (await this.setAside(entry, message, outcome.refusal, writer)))
    ) {
      this.unconfirmed.add(entry.id);
      void this.acknowledge(writer);
    } else if (outcome.kind === "returned") await this.giveBack(entry.id, writer);
    this.inProgress.delete(entry.id);
    this.wake();
  }

  /**
   * Acknowledgements that arrive during a round are sent together in the next one. Failures are retried by the upkeep.
   */
  private acknowledge(writer: Redis): Promise<void> {
    this.acknowledging ??= this.acknowledgeAll(writer);
    return this.acknowledging;
  }

  private async acknowledgeAll(writer: Redis): Promise<void> {
    await Promise.resolve(); // outcomes of the same tick share one command
    try {
      while (this.unconfirmed.size > 0) {
        const ids = [...this.unconfirmed].slice(0, 1000);
        await writer.call("XACK", this.stream, this.config.group, ...ids);
        if (this.config.delete_acknowledged) await writer.call("XDEL", this.stream, ...ids);
        for (const id of ids) this.unconfirmed.delete(id);
      }
    } catch (error) {
      if (!this.loop.isStopping) this.logFailure(error);
    }
    // Cleared right here, so an outcome that arrives from now on starts the next round.
    this.acknowledging = undefined;
  }

  /** Returns true once the entry is in the dead-letter stream. */
  private async setAside(
    { id, fields }: StreamEntry,
    message: IncomingMessage,
    refusal: Refusal,
    writer: Redis,
  ): Promise<boolean> {
    this.logRejected(refusal);
    const { dead_letter_stream: target } = this.config;
    if (target === undefined) return false;
    const failure = rejectedHeaders(refusal, `${this.stream}/${id}`, this.context.clock.now());
    const story = { ...failure, ...keyHeader(message, this.context.id) };
    try {
      const isOwn = (name: string) => !isDeadLetterHeader(name) && !Object.hasOwn(story, name);
      const own = fields.filter((_, i) => isOwn(String(fields[i - (i % 2)])));
      await writer.call("XADD", target, "*", ...own, ...Object.entries(story).flat());
      return true;
    } catch (error) {
      this.logFailure(error);
      return false;
    }
  }

  /**
   * Marks the entry as long idle, so the next agent that looks for abandoned entries takes it over. If that fails, it
   * happens after `claim_after`.
   */
  private async giveBack(id: string, writer: Redis): Promise<void> {
    try {
      if ((await this.heldIn(writer, id, id, 1)).length === 0) return;
      const { group } = this.config;
      await writer.call("XCLAIM", this.stream, group, this.consumer, 0, id, "IDLE", LONG_IDLE_MS, "JUSTID");
    } catch {
      // The server does not respond any more.
    }
  }

  /** The first `count` ids in a range that belong to this consumer and are not acknowledged. */
  private async heldIn(writer: Redis, from: string, to: string, count: number): Promise<string[]> {
    const { group } = this.config;
    const rows = (await writer.call("XPENDING", this.stream, group, from, to, count, this.consumer)) as [string][];
    return rows.map(([id]) => id);
  }

  /** Entries in progress here that no other agent has taken over. */
  private async heldInProgress(writer: Redis): Promise<string[]> {
    const held: string[] = [];
    for (let from = "-"; ; ) {
      const page = await this.heldIn(writer, from, "+", MAX_HELD_PAGE);
      held.push(...page.filter((id) => this.inProgress.has(id)));
      if (page.length < MAX_HELD_PAGE) return held;
      from = `(${page.at(-1)}`;
    }
  }

  /**
   * A user without permission to list pending entries renews all entries in progress; otherwise others would take them
   * over.
   */
  private readonly allIfForbidden = (error: unknown): string[] => {
    if (!isRedisError(error, "NOPERM")) throw error;
    return [...this.inProgress];
  };

  private scheduleUpkeep(): void {
    this.cancelUpkeep = this.context.clock.after(this.config.claim_after / 3, () => {
      void this.upkeep(this.writer!).finally(() => !this.loop.isStopping && this.scheduleUpkeep());
    });
  }

  /** Renews claims, retries acknowledgements and takes over abandoned entries. */
  private async upkeep(writer: Redis): Promise<void> {
    const { group } = this.config;
    try {
      const ids = this.inProgress.size === 0 ? [] : await this.heldInProgress(writer).catch(this.allIfForbidden);
      if (ids.length > 0) await writer.call("XCLAIM", this.stream, group, this.consumer, 0, ...ids, "JUSTID");
      await this.acknowledge(writer);
      await this.measureLag(writer);
      await this.takeOver(writer);
    } catch (error) {
      if (!this.loop.isStopping && !isRedisError(error, "NOGROUP")) this.logFailure(error);
    }
  }

  /** Servers before Redis 7 do not say how many entries the group has not read. */
  private async measureLag(writer: Redis): Promise<void> {
    if (this.health === undefined) return;
    const groups = (await writer.call("XINFO", "GROUPS", this.stream).catch(() => [])) as unknown[][];
    for (const group of groups) {
      const facts = new Map(group.flatMap((_, i) => (i % 2 === 0 ? [[String(group[i]), group[i + 1]] as const] : [])));
      const lag = facts.get("lag");
      if (facts.get("name") === this.config.group && typeof lag === "number")
        this.health.setLag(lag + Number(facts.get("pending") ?? 0));
    }
  }

  /**
   * The server examines a limited number of unacknowledged entries per call and returns where it stopped. The next call
   * continues there, also when this one stopped for lack of room. Starting at the first entry each time would never get
   * past a thousand entries that cannot be claimed.
   */
  private async takeOver(writer: Redis): Promise<void> {
    const { group, claim_after, max_in_flight } = this.config;
    do {
      const room = max_in_flight - this.inProgress.size;
      if (room <= 0 || this.loop.isStopping) return;
      const count = Math.min(room, MAX_READ);
      const args = [this.stream, group, this.consumer, claim_after, this.claimFrom, "COUNT", count] as const;
      const [next, entries] = (await writer.callBuffer("XAUTOCLAIM", ...args)) as readonly [Buffer, unknown];
      this.claimFrom = next.toString();
      this.takeAll(readEntries(entries), writer);
    } while (this.claimFrom !== FIRST_ENTRY);
  }

  /** Asks for the connection's id on the server, before the first read. */
  private async learnReaderId(reader: Redis): Promise<void> {
    this.readerId = undefined;
    this.readerId = (await reader.call("CLIENT", "ID").catch(() => undefined)) as number | undefined;
  }

  /** Lets the server end a waiting read, so no entry is on its way to a connection that is gone. */
  private async endRead(reader: Redis, writer: Redis): Promise<void> {
    if (this.readerId !== undefined) void writer.call("CLIENT", "UNBLOCK", this.readerId).catch(() => {});
    await waitAtMost(BLOCK_MS + FLUSH_LIMIT_MS, this.running, this.context.clock, () => reader.disconnect());
  }

  /** Resolves when an entry has its outcome or the receiver stops, and at the latest after this time. */
  private nextOutcome(ms: number): Promise<void> {
    const woken = new AbortController();
    this.wake = () => woken.abort();
    return pause(ms, this.context.clock, woken.signal);
  }
}

/** Longer than any sensible claim_after. */
const LONG_IDLE_MS = 2 ** 31 - 1;
