import type { Clock, Logger, Metrics } from "../../../plugin.js";
import type { QueueControl } from "../operate/exporter-control.js";
import type { QueueStore, StoredEntry } from "../store/store.js";
import { DELETE_CHUNK_SIZE, walkDeadLetters } from "./dead-letters.js";
import { isExpired } from "./replay-check.js";
import { runExclusively } from "./run-exclusively.js";

export interface RetentionServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

type RemovalCause = "retention" | "max_entries" | "max_bytes";

/** Even when nothing is due for longer: the clock may have been set. */
const MAX_PAUSE_MS = 3_600_000;

/**
 * Keeps dead letters within their age, number and bytes; gives the function that does so once. What it removes is counted by
 * cause and logged: a dead letter never goes in silence. Age is looked for only when the oldest one is due.
 */
export function createRetention(control: QueueControl, services: RetentionServices): () => Promise<void> {
  const { store, settings } = control;
  const { retention, max_bytes, max_entries, drop } = settings.dead_letter;
  let nextDue = Number.NEGATIVE_INFINITY;

  async function removeExpired(now: number): Promise<void> {
    if (retention === 0 || (now < nextDue && nextDue - now <= MAX_PAUSE_MS)) return;
    let oldest = now;
    const expired = new Removal(store);
    for await (const stored of walkDeadLetters(store)) {
      if (isExpired(stored.entry, retention, now)) await expired.add(stored);
      else oldest = Math.min(oldest, stored.entry.failure?.at ?? now);
    }
    await expired.flush();
    nextDue = Math.min(oldest + retention, now + MAX_PAUSE_MS);
    countAndLog("retention", expired);
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
    const attributes = { exporter: control.id, cause };
    const description = "Dead letters removed because of their age, number or bytes.";
    services.metrics.counter("sluice_dead_letters_expired", { description }, attributes).add(entries);
    services.logger.warn({ exporter: control.id, cause, entries, items, bytes }, "dead letters were removed for good");
  }

  return () =>
    runExclusively(store, async () => {
      await removeExpired(services.clock.now());
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

/** Deletes entries some at a time. */
class Removal {
  entries = 0;
  items = 0;
  bytes = 0;
  private readonly store: QueueStore;
  private refs: number[] = [];

  constructor(store: QueueStore) {
    this.store = store;
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
    if (refs.length > 0) await this.store.delete(refs);
  }
}
