import type { Clock, Logger, Metrics } from "../../plugin.js";
import { type Found, walk } from "./dead-letters.js";
import { exclusively } from "./exclusive.js";
import { isExpired } from "./replay-check.js";
import type { QueueStore, StoredEntry } from "./store/store.js";

export interface RetentionTools {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

type Cause = "retention" | "max_entries" | "max_bytes";

const DELETE_AT_ONCE = 200;
/** Even when nothing is due for longer: the clock may have been set. */
const LONGEST_PAUSE_MS = 3_600_000;

/**
 * Keeps dead letters within their age, number and bytes; gives the function that does so once. What it removes is counted by
 * cause and logged: a dead letter never goes in silence. Age is looked for only when the oldest one is due.
 */
export function createRetention(control: Found["control"], tools: RetentionTools): () => Promise<void> {
  const { store, settings } = control;
  const { retention, max_bytes, max_entries, drop } = settings.dead_letter;
  let nextDue = Number.NEGATIVE_INFINITY;

  async function removeExpired(now: number): Promise<void> {
    if (retention === 0 || (now < nextDue && nextDue - now <= LONGEST_PAUSE_MS)) return;
    let oldest = now;
    const expired = new Removal(store);
    for await (const stored of walk(store)) {
      if (isExpired(stored.entry, retention, now)) await expired.add(stored);
      else oldest = Math.min(oldest, stored.entry.failure?.at ?? now);
    }
    await expired.flush();
    nextDue = Math.min(oldest + retention, now + LONGEST_PAUSE_MS);
    tell("retention", expired);
  }

  async function removeExcess(
    cause: Cause,
    excess: () => number,
    worth: (stored: StoredEntry) => number,
  ): Promise<void> {
    let left = excess();
    if (left <= 0) return;
    const removed = new Removal(store);
    for await (const stored of walk(store, drop)) {
      await removed.add(stored);
      left -= worth(stored);
      if (left <= 0) break;
    }
    await removed.flush();
    tell(cause, removed);
  }

  function tell(cause: Cause, { entries, items, bytes }: Removal): void {
    if (entries === 0) return;
    const attributes = { exporter: control.id, cause };
    const description = "Dead letters removed because of their age, number or bytes.";
    tools.metrics.counter("sluice_dead_letters_expired", { description }, attributes).add(entries);
    tools.logger.warn({ exporter: control.id, cause, entries, items, bytes }, "dead letters were removed for good");
  }

  return () =>
    exclusively(store, async () => {
      await removeExpired(tools.clock.now());
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
    if (this.refs.length >= DELETE_AT_ONCE) await this.flush();
  }

  async flush(): Promise<void> {
    const refs = this.refs;
    this.refs = [];
    if (refs.length > 0) await this.store.delete(refs);
  }
}
