import type { Clock, Logger } from "#contract";
import type { AttemptError, Entry, ReplayEnd, ReplayJob, ReplayOutcome } from "#contract/operations";
import type { KeptRecord, RecordLog } from "../store/record-log.js";

/** A replay as it is stored, with the outcomes of its entries. */
export type ReplayRecord = Omit<ReplayJob, "pending" | "isSettled"> & { readonly at: number };

/** An entry that was delivered after a replay, with its history. */
export interface DeliveredRecord {
  readonly at: number;
  readonly entry: Entry;
}

interface ReplayTrackerServices {
  readonly replays: RecordLog<ReplayRecord>;
  readonly delivered: RecordLog<DeliveredRecord>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Maximum number of entry outcomes kept per replay, failed ones first. The counts include all entries. */
const MAX_OUTCOMES = 1000;
const MAX_REMEMBERED = 100;
/** Maximum number of causes kept per replay. */
const MAX_CAUSES = 5;
const WRITE_INTERVAL_MS = 1000;

interface TrackedReplay {
  record: ReplayRecord;
  /** The stored record, once it was written. Writes are made one after the other. */
  kept: KeptRecord<ReplayRecord> | undefined;
  writing: Promise<void>;
  /** Entries that are still in their queues: the number of parts of each, and whether one of them has failed. */
  readonly open: Map<string, OpenEntry>;
  readonly failed: ReplayOutcome[];
  readonly delivered: ReplayOutcome[];
  readonly listeners: Set<() => void>;
  cancelWrite: (() => void) | undefined;
}

interface OpenEntry {
  parts: number;
  end: ReplayEnd;
  error: ReplayOutcome["error"];
}

/**
 * Tracks every entry that was put back until it has left its queue: delivered, dead-lettered again or dropped, as a
 * whole or in parts. Replays and the histories of delivered entries are stored, so that they are available after a
 * restart. The last cycle of an entry names the replay it belongs to (`replayId`).
 */
export class ReplayTracker {
  private readonly services: ReplayTrackerServices;
  private readonly tracked = new Map<string, TrackedReplay>();
  /** Histories that are being written. */
  private readonly keeping = new Set<Promise<void>>();

  constructor(services: ReplayTrackerServices) {
    this.services = services;
  }

  begin(record: Omit<ReplayRecord, "at" | "queued" | "delivered" | "failedAgain">): void {
    const whole = { ...record, at: record.startedAt, queued: 0, delivered: 0, failedAgain: 0 };
    this.track(whole, undefined);
    this.forgetOldest();
  }

  /** Removes a replay that failed before it put back any entry. */
  forget(id: string): void {
    const tracked = this.tracked.get(id);
    tracked?.cancelWrite?.();
    this.tracked.delete(id);
    for (const listener of tracked?.listeners ?? []) listener();
  }

  /** Updates the state of a replay while it puts entries back. */
  update(id: string, change: Partial<ReplayRecord>): void {
    const tracked = this.tracked.get(id);
    if (tracked === undefined) return;
    tracked.record = { ...tracked.record, ...change };
    this.changed(tracked);
  }

  /** To be called when entries of a replay are in their queues. */
  queued(id: string, entries: readonly Entry[]): void {
    const tracked = this.tracked.get(id);
    if (tracked === undefined) return;
    for (const entry of entries) tracked.open.set(entry.id, { parts: 1, end: "delivered", error: undefined });
    const { queued, causes } = tracked.record;
    tracked.record = { ...tracked.record, queued: queued + entries.length, causes: withCauses(causes, entries) };
    this.changed(tracked);
  }

  /** Number of entries of a replay that are still in their queues. */
  pending(id: string): number {
    return this.tracked.get(id)?.open.size ?? 0;
  }

  /** To be called when an entry was replaced by this many parts. */
  split(entry: Entry, parts: number): void {
    void this.withOpen(entry, (_, open) => {
      open.parts += parts - 1;
    });
  }

  /** To be called when an entry, or a part of one, has left its queue. */
  ended(entry: Entry, end: ReplayEnd, error?: AttemptError): void {
    if (end === "delivered") {
      const kept = this.keepDelivered(entry).finally(() => this.keeping.delete(kept));
      this.keeping.add(kept);
    }
    void this.withOpen(entry, (tracked, open, id) => {
      open.parts -= 1;
      if (end !== "delivered") Object.assign(open, { end, error: error && shortError(error) });
      if (open.parts > 0) return;
      tracked.open.delete(id);
      this.settle(tracked, { id, outcome: open.end, at: this.services.clock.now(), error: open.error });
    });
  }

  async get(id: string): Promise<ReplayJob | undefined> {
    const tracked = await this.find(id);
    return tracked && { ...jobOf(tracked.record), outcomes: outcomesOf(tracked) };
  }

  /** Lists replays, the newest first. Dry runs, which put nothing back, are found only by id. */
  async list(limit: number): Promise<ReplayJob[]> {
    const found = new Map<string, ReplayJob>();
    for (const { record } of [...this.tracked.values()].reverse())
      if (!record.dryRun) found.set(record.id, jobOf(record));
    for await (const { record } of this.services.replays.walk("newest")) {
      if (found.size >= limit) break;
      if (!found.has(record.id)) found.set(record.id, jobOf(interrupted(record)));
    }
    return [...found.values()].sort((a, b) => b.startedAt - a.startedAt).slice(0, limit);
  }

  /** Calls the listener whenever the replay changes. Returns a function that ends this. */
  watch(id: string, listener: () => void): () => void {
    const tracked = this.tracked.get(id);
    tracked?.listeners.add(listener);
    return () => void tracked?.listeners.delete(listener);
  }

  /**
   * Returns the entry as it was when it was delivered after a replay. The stored one does not count the successful
   * attempt yet.
   */
  async deliveredEntry(id: string): Promise<Entry | undefined> {
    const found = await this.services.delivered.find(id);
    if (found === undefined) return undefined;
    const { entry, at } = found.record;
    return { ...entry, state: "delivered", deliveredAt: at, calls: entry.calls + 1, attempts: entry.attempts + 1 };
  }

  async close(): Promise<void> {
    await Promise.all(this.keeping);
    for (const tracked of this.tracked.values()) {
      if (tracked.cancelWrite !== undefined) await this.write(tracked);
      tracked.cancelWrite?.();
      await tracked.writing;
    }
  }

  private settle(tracked: TrackedReplay, outcome: ReplayOutcome): void {
    const { record } = tracked;
    const isDelivered = outcome.outcome === "delivered";
    const list = isDelivered ? tracked.delivered : tracked.failed;
    if (list.length < MAX_OUTCOMES) list.push(withoutUndefined(outcome));
    tracked.record = isDelivered
      ? { ...record, delivered: record.delivered + 1 }
      : { ...record, failedAgain: record.failedAgain + 1 };
    this.changed(tracked);
  }

  /** After a restart the number of parts is not known, so each part counts as a whole entry. */
  private async withOpen(
    entry: Entry,
    work: (tracked: TrackedReplay, open: OpenEntry, id: string) => void,
  ): Promise<void> {
    const { replayId, replayedAs } = entry.cycles.at(-1) ?? {};
    if (replayId === undefined || replayedAs === undefined) return;
    const tracked = this.tracked.get(replayId) ?? (await this.find(replayId));
    if (tracked === undefined) return;
    const open = tracked.open.get(replayedAs) ?? { parts: 1, end: "delivered", error: undefined };
    tracked.open.set(replayedAs, open);
    work(tracked, open, replayedAs);
  }

  private async find(id: string): Promise<TrackedReplay | undefined> {
    const known = this.tracked.get(id);
    if (known !== undefined) return known;
    const kept = await this.services.replays.find(recordId(id));
    return this.tracked.get(id) ?? (kept && this.track(interrupted(kept.record), kept));
  }

  private track(record: ReplayRecord, kept: TrackedReplay["kept"]): TrackedReplay {
    const [failed, delivered] = [[] as ReplayOutcome[], [] as ReplayOutcome[]];
    for (const each of record.outcomes ?? []) (each.outcome === "delivered" ? delivered : failed).push(each);
    const tracked: TrackedReplay = {
      record,
      kept,
      failed,
      delivered,
      writing: Promise.resolve(),
      open: new Map(),
      listeners: new Set(),
      cancelWrite: undefined,
    };
    this.tracked.set(record.id, tracked);
    return tracked;
  }

  private changed(tracked: TrackedReplay): void {
    for (const listener of tracked.listeners) listener();
    if (tracked.record.dryRun) return;
    tracked.cancelWrite ??= this.services.clock.after(WRITE_INTERVAL_MS, () => {
      tracked.cancelWrite = undefined;
      void this.write(tracked);
    });
  }

  private write(tracked: TrackedReplay): Promise<void> {
    const { replays, logger } = this.services;
    tracked.writing = tracked.writing.then(async () => {
      const outcomes = [...tracked.failed, ...tracked.delivered].slice(0, MAX_OUTCOMES);
      const record = { ...tracked.record, outcomes };
      try {
        if (tracked.kept !== undefined) await replays.replace(tracked.kept, record);
        else tracked.kept = await replays.add(record, { id: recordId(record.id) });
      } catch (error) {
        logger.error({ err: error }, "a replay cannot be kept");
      }
    });
    return tracked.writing;
  }

  private async keepDelivered(entry: Entry): Promise<void> {
    const { delivered, clock, logger } = this.services;
    try {
      await delivered.add({ at: clock.now(), entry }, { id: entry.id });
    } catch (error) {
      logger.error({ err: error, id: entry.id }, "the history of a delivered entry cannot be kept");
    }
  }

  /** Replays with entries still in their queues are kept. */
  private forgetOldest(): void {
    for (const [id, { record, open }] of this.tracked) {
      if (this.tracked.size <= MAX_REMEMBERED) return;
      if (record.state !== "running" && record.state !== "paused" && open.size === 0) this.tracked.delete(id);
    }
  }
}

/** Adds the failures that entries had before they were replayed. Further causes are left out. */
function withCauses(causes: ReplayJob["causes"] = [], entries: readonly Entry[]): ReplayJob["causes"] {
  const counted = new Map(causes.map((cause) => [cause.signature, cause]));
  for (const { cycles } of entries) {
    const { signature, error } = cycles.at(-1)?.failure ?? {};
    if (signature === undefined || error === undefined) continue;
    const known = counted.get(signature);
    if (known !== undefined) counted.set(signature, { ...known, entries: known.entries + 1 });
    else if (counted.size < MAX_CAUSES) counted.set(signature, { signature, ...shortError(error)!, entries: 1 });
  }
  return [...counted.values()];
}

/** Entries and replays share one lookup by id, so replays get a prefix. */
function recordId(id: string): string {
  return `replay-${id}`;
}

/** Marks a replay that was running when the agent stopped as failed. */
function interrupted(record: ReplayRecord): ReplayRecord {
  if (record.state !== "running" && record.state !== "paused") return record;
  return {
    ...record,
    state: "failed",
    error: "the agent stopped during the replay; entries that were put back stay in their queues",
  };
}

function jobOf({ at: _, outcomes: __, ...record }: ReplayRecord): ReplayJob {
  const pending = record.queued - record.delivered - record.failedAgain;
  const isOver = record.state !== "running" && record.state !== "paused";
  return { ...record, pending, isSettled: isOver && pending === 0 };
}

function outcomesOf({ failed, delivered, open }: TrackedReplay): ReplayOutcome[] {
  const pending = Array.from(open.keys(), (id): ReplayOutcome => ({ id, outcome: "pending" }));
  return [...failed, ...pending, ...delivered].slice(0, MAX_OUTCOMES);
}

function shortError({ class: kind, message }: AttemptError): ReplayOutcome["error"] {
  return { class: kind, message: message.slice(0, 200) };
}

function withoutUndefined({ error, ...outcome }: ReplayOutcome): ReplayOutcome {
  return error === undefined ? outcome : { ...outcome, error };
}
