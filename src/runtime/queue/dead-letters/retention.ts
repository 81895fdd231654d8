import { type Clock, type Counter, type Logger, type Metrics, SteadyTime } from "#contract";
import { DELETE_CHUNK_SIZE, runExclusively, walkDeadLetters } from "../store/dead-letter-access.js";
import type { QueueStore, StoredEntry } from "../store/store.js";
import type { QueueControl } from "./exporter-control.js";
import { KnownTime } from "./known-time.js";
import { expiryOf } from "./replay-check.js";

interface RetentionServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

type RemovalCause = "retention" | "max_entries" | "max_bytes";

/** The longest pause between checks, because the clock may have been changed. */
const MAX_PAUSE_MS = 3_600_000;

/**
 * Returns a function that keeps dead letters within their limits of age, number and bytes. Removals are counted by
 * cause and logged, so no dead letter disappears silently. Ages are checked only when the oldest dead letter is due.
 * They use a time that ignores forward jumps of the clock: dead letters that only the jump makes too old are kept, and
 * this is logged.
 */
export function createRetention(control: QueueControl, services: RetentionServices): () => Promise<void> {
  const { store, settings } = control;
  const { retention, retention_by_category, keep_deleted, max_bytes, max_entries, drop } = settings.dead_letter;
  const times = [retention, keep_deleted, ...Object.values(retention_by_category)].filter((ms) => ms > 0);
  const maxPauseMs = Math.min(MAX_PAUSE_MS, ...times);
  const time = new SteadyTime(services.clock);
  const knownTime = new KnownTime(store);
  const removedCounters = createRemovedCounters(control.id, services.metrics);
  let nextDue = Number.NEGATIVE_INFINITY;
  let hasWarned = false;
  let isStarted = false;

  /** The clock may be wrong when the agent starts. Nothing is removed before that can be known. */
  async function start(): Promise<void> {
    const lastKnown = await knownTime.load();
    if (lastKnown !== undefined) time.startFrom(lastKnown);
    isStarted = true;
  }

  async function removeExpired(): Promise<void> {
    if (times.length === 0) return;
    if (!isStarted) await start();
    const now = time.now();
    if (store.stats.failed.entries > 0) knownTime.keep(now);
    if (!time.isAhead) hasWarned = false;
    const mustWarn = time.isAhead && !hasWarned;
    if (!mustWarn && now < nextDue && nextDue - now <= MAX_PAUSE_MS) return;
    let due = now + maxPauseMs;
    let kept = 0;
    const expired = new Removal(store, true);
    for await (const stored of walkDeadLetters(store)) {
      const expiry = expiryOf(stored.entry, settings.dead_letter, now);
      if (expiry <= now) await expired.add(stored);
      else due = Math.min(due, expiry);
      if (expiry <= services.clock.now()) kept += 1;
    }
    await expired.flush();
    nextDue = due;
    countAndLog("retention", expired);
    if (mustWarn) warnOfClock(kept - expired.entries, services.clock.now() - now);
  }

  function warnOfClock(kept: number, aheadMs: number): void {
    hasWarned = true;
    if (kept <= 0) return;
    const details = { exporter: control.id, kept, aheadMs: Math.round(aheadMs) };
    services.logger.warn(
      details,
      "the clock has jumped forward: dead letters that now seem too old are kept for another hour",
    );
  }

  async function removeExcess(
    cause: RemovalCause,
    excess: () => number,
    amountOf: (stored: StoredEntry) => number,
  ): Promise<void> {
    let left = excess();
    if (left <= 0) return;
    const removed = new Removal(store);
    for await (const stored of walkDeadLetters(store, drop)) {
      await removed.add(stored);
      left -= amountOf(stored);
      if (left <= 0) break;
    }
    await removed.flush();
    countAndLog(cause, removed);
  }

  function countAndLog(cause: RemovalCause, { entries, items, bytes }: Removal): void {
    if (entries === 0) return;
    removedCounters[cause].add(entries);
    services.logger.warn(
      { exporter: control.id, cause, entries, items, bytes },
      "dead letters were removed permanently",
    );
  }

  return () =>
    runExclusively(store, async () => {
      await removeExpired();
      if (max_entries > 0)
        await removeExcess(
          "max_entries",
          () => store.stats.failed.entries - max_entries,
          () => 1,
        );
      if (max_bytes > 0) {
        await removeExcess(
          "max_bytes",
          () => store.stats.failed.bytes - max_bytes,
          ({ entry }) => entry.bytes,
        );
      }
    });
}

/** Deletes entries in chunks. */
class Removal {
  entries = 0;
  items = 0;
  bytes = 0;
  private readonly store: QueueStore;
  private readonly erases: boolean;
  private refs: number[] = [];

  /**
   * With `erases`, their data is removed from the files too. That is too expensive for removals that only make room.
   */
  constructor(store: QueueStore, erases = false) {
    this.store = store;
    this.erases = erases;
  }

  async add({ ref, entry }: StoredEntry): Promise<void> {
    this.entries++;
    this.items += entry.items;
    this.bytes += entry.bytes;
    this.refs.push(ref);
    if (this.refs.length >= DELETE_CHUNK_SIZE) await this.flush();
  }

  async flush(): Promise<void> {
    const refs = this.refs;
    this.refs = [];
    if (refs.length === 0) return;
    await ((this.erases ? this.store.erase?.(refs) : undefined) ?? this.store.delete(refs));
  }
}

/** Creates all counters at the start, because an alert on growth does not see a counter that starts above zero. */
function createRemovedCounters(exporter: string, metrics: Metrics): Readonly<Record<RemovalCause, Counter>> {
  const description = "Dead letters removed because of their age, number or bytes.";
  const create = (cause: RemovalCause) =>
    metrics.counter("sluice_dead_letters_expired", { description }, { exporter, cause });
  return {
    retention: create("retention"),
    max_entries: create("max_entries"),
    max_bytes: create("max_bytes"),
  };
}
