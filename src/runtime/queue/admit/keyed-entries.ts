import { type Clock, Debt, Delivery, type Logger, type MessageWatch, type Origin } from "#contract";
import type { Entry } from "#contract/operations";
import type { ConfigNow } from "#contract/operators";
import { Batch } from "#otlp";
import { withReplay } from "../dead-letters/change/with-replay.js";
import { deadLetteredRefusal } from "../entry/queue-errors.js";
import { runExclusively } from "../store/dead-letter-access.js";
import { replacementOf } from "../store/format/entry.js";
import type { EntryRef, NewEntry, QueueStore, StoredEntry } from "../store/store.js";

/** An entry that the queue has, or had, under the id of a new one; `known` is undefined if it was delivered. */
export interface KnownEntry {
  readonly known: StoredEntry | undefined;
}

interface KeyedEntriesServices {
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifies the config that the agent runs with. */
  readonly running: ConfigNow;
  /** Entries of watched messages that were delivered lately. */
  readonly delivered?: RecentIds;
  /** Settles this delivery with the end of a pending entry. Returns false if the entry is not in memory. */
  readonly attach?: ((ref: EntryRef, delivery: Delivery) => boolean) | undefined;
}

/**
 * Entries whose id is made from the key of a message, so that the queue has one entry for a message, however often its
 * source sends it. Watches of messages learn how those entries end.
 */
export class KeyedEntries {
  private readonly services: KeyedEntriesServices;
  /** The last write for each id that is being stored: a message may be redelivered before its first write has ended. */
  private readonly storing = new Map<string, Promise<unknown>>();

  constructor(services: KeyedEntriesServices) {
    this.services = services;
  }

  /**
   * Stores the entry unless the store already has it, because a sender that died before it could record the acceptance
   * has sent it again. A dead letter of a message that was replayed at its source goes back into the queue.
   */
  async store(id: string, entry: NewEntry, watch: MessageWatch | undefined): Promise<StoredEntry | KnownEntry> {
    const before = this.storing.get(id) ?? Promise.resolve();
    const stored = before.then(() => this.storeNow(id, entry, watch));
    const done = stored.catch(() => {});
    this.storing.set(id, done);
    try {
      return await stored;
    } finally {
      if (this.storing.get(id) === done) this.storing.delete(id);
    }
  }

  private async storeNow(
    id: string,
    entry: NewEntry,
    watch: MessageWatch | undefined,
  ): Promise<StoredEntry | KnownEntry> {
    const { store, delivered } = this.services;
    const found = await store.find(id);
    if (found === undefined) return delivered?.has(id) ? { known: undefined } : store.put(entry);
    if (found.entry.state !== "failed" || watch?.replayedBy === undefined) return { known: found };
    return runExclusively(store, () => this.replayFailed(id, entry, watch.replayedBy!));
  }

  /** Keeps the id and the history of the dead letter; its payload is the one that came now. */
  private async replayFailed(id: string, { batch }: NewEntry, by: string): Promise<StoredEntry | KnownEntry> {
    const { store, clock, running, logger } = this.services;
    const found = await store.find(id);
    if (found?.entry.state !== "failed") return { known: found };
    const { deletedAt: _, ...entry } = withReplay(found.entry, {
      at: clock.now(),
      by,
      generation: running.config.generation,
    });
    const [stored] = await store.replace(found.ref, [replacementOf(entry, batch)]);
    logger.info({ id, by, message: entry.source.message }, "a dead letter was replayed at its source");
    return stored!;
  }

  /** Settles `watched` with the end of an entry that the store had when it was looked up. */
  async watchKnown(known: StoredEntry, watched: Delivery): Promise<void> {
    const { store, attach, logger } = this.services;
    if (known.entry.state === "failed") return endAsDeadLetter(known.entry, watched);
    if (attach!(known.ref, watched)) return;
    // The entry waits in the store, or it has ended since it was looked up.
    try {
      const now = await store.find(known.entry.id);
      if (now === undefined) watched.accept();
      else if (now.entry.state === "failed") endAsDeadLetter(now.entry, watched);
    } catch (error) {
      logger.warn({ err: error, id: known.entry.id }, "the state of an entry could not be read");
    }
  }

  /** Lets a watch know how a pending entry ends that did not come through `accept`, such as a replayed one. */
  watch(stored: StoredEntry, watch: MessageWatch): void {
    const { receiver, transport } = stored.entry.source;
    void this.watchKnown(stored, watchedDelivery({ receiver, transport, watch }, watch, stored.entry));
  }
}

/** The delivery keeps no payload in memory. */
export function watchedDelivery(origin: Origin, watch: MessageWatch, { id, signal }: Entry): Delivery {
  return new Delivery(Batch.empty(signal), origin, new Debt(watch.begin(id)));
}

export function endAsDeadLetter(entry: Entry, watched: Delivery): void {
  const { reason, error } = entry.failure!;
  watched.origin.watch!.report(entry, error);
  watched.refuse(deadLetteredRefusal({ entry }, { reason, error }, "saved"));
}

/** The ids of entries that ended lately; bounded, and lost when the process ends. */
export class RecentIds {
  private readonly ids = new Set<string>();

  add(id: string): void {
    this.ids.delete(id);
    this.ids.add(id);
    if (this.ids.size <= MAX_IDS) return;
    for (const oldest of this.ids) {
      this.ids.delete(oldest);
      return;
    }
  }

  has(id: string): boolean {
    return this.ids.has(id);
  }
}

const MAX_IDS = 10_000;
