import { createHash } from "node:crypto";
import { ACCEPTED, type Clock, type Counter, entriesOfKey, type KeyedEntry, type Outcome } from "#contract";
import { type Batch, cutBatch } from "#otlp";
import { editRecords } from "#otlp/views";
import type { SharedKeys } from "../shared/shared-keys.js";
import { AcceptedKeys, type DedupSettings } from "./accepted-keys.js";
import { entryDigests, messageDigest } from "./entry-digests.js";

/** Hands in the new records of a batch. `identity` returns a stable name for them, for `Origin.key`. */
export type HandIn = (fresh: Batch, identity: () => string) => Promise<Outcome>;

/**
 * Recognises entries that were accepted before, by the sender's idempotency key and the records, and answers with
 * success without handing them in again. A key may name several entries that were merged into one request; those
 * accepted before are removed, however they are grouped this time. A key is remembered only after its whole request was
 * accepted; further requests with the same key wait for that. Bounded in number and time. With a log, keys survive
 * restarts: they are written before the client is answered. With shared keys, other agents know them too.
 */
export class Dedup {
  private readonly settings: DedupSettings;
  private readonly duplicates: Counter;
  private readonly shared: SharedKeys | undefined;
  private readonly keys: AcceptedKeys;

  constructor(
    settings: DedupSettings,
    clock: Clock,
    duplicates: Counter,
    keys = new AcceptedKeys(clock, undefined),
    shared?: SharedKeys,
  ) {
    this.settings = settings;
    this.keys = keys;
    this.shared = shared;
    this.duplicates = duplicates;
  }

  /** Loads the keys accepted before the last stop. */
  async start(): Promise<void> {
    this.shared?.start();
    await this.keys.open(this.settings);
  }

  async stop(): Promise<void> {
    this.shared?.stop();
    await this.keys.close();
  }

  /** `client` identifies the authenticated sender; empty if there is none. */
  accept(key: string, batch: Batch, handIn: HandIn, client = ""): Promise<Outcome> {
    const named = entriesOfKey(key, batch.count) ?? [{ id: key, items: batch.count }];
    const digests = entryDigests(named, batch, client);
    const entries = named.map(({ items }, i) => ({ id: digests[i]!, items }));
    return this.acceptInTurn(entries, batch, handIn);
  }

  /**
   * Like `accept`, but hands in each entry by itself. An entry then has the same identity however it is grouped, so a
   * queue that has stored it recognises it after a crash in which the key was lost.
   */
  async acceptEach(key: string, batch: Batch, handIn: HandIn): Promise<Outcome> {
    const named = entriesOfKey(key, batch.count) ?? [];
    if (named.length < 2) return this.accept(key, batch, handIn);
    let next = 0;
    const parts = [...cutBatch(batch, () => ({ records: named[next++]!.items }))];
    const outcomes = await Promise.all(parts.map((part, i) => this.accept(named[i]!.id, part, handIn)));
    return outcomes.find((outcome) => !outcome.ok || outcome.rejected > 0) ?? ACCEPTED;
  }

  /**
   * Accepts a message that was made into one record. It is recognised by its key and its body. The record also has what
   * the broker says of the message, which may differ when it is delivered again.
   */
  acceptMessage(key: string, body: Uint8Array, batch: Batch, handIn: HandIn): Promise<Outcome> {
    return this.acceptInTurn([{ id: messageDigest(key, body), items: batch.count }], batch, handIn);
  }

  private async acceptInTurn(entries: readonly KeyedEntry[], batch: Batch, handIn: HandIn): Promise<Outcome> {
    for (;;) {
      const earlier = this.anyInProgress(entries);
      if (earlier === undefined) return this.acceptNew(entries, batch, handIn);
      await earlier;
    }
  }

  /** There is no await between checking and claiming, so no two requests claim the same entry. */
  private async acceptNew(entries: readonly KeyedEntry[], batch: Batch, handIn: HandIn): Promise<Outcome> {
    const { keys, settings } = this;
    const isFresh = entries.map(({ id }) => !keys.has(id, settings));
    const fresh = entries.filter((_entry, i) => isFresh[i]);
    if (fresh.length < entries.length) this.duplicates.add(entries.length - fresh.length);
    if (fresh.length === 0) return ACCEPTED;
    const pending = this.shared
      ? this.handInShared(this.shared, entries, isFresh, batch, handIn)
      : handInFresh(batch, entries, isFresh, handIn);
    for (const { id } of fresh) keys.inProgress.set(id, pending);
    const outcome = await pending;
    const isTaken = outcome.ok && outcome.rejected === 0;
    for (const { id } of fresh) {
      keys.inProgress.delete(id);
      if (isTaken) keys.remember(id, settings);
    }
    if (isTaken) await keys.write(fresh.map(({ id }) => id));
    return outcome;
  }

  /** Drops entries that another agent has accepted, and waits for those that it is accepting now. */
  private async handInShared(
    shared: SharedKeys,
    entries: readonly KeyedEntry[],
    isFresh: readonly boolean[],
    batch: Batch,
    handIn: HandIn,
  ): Promise<Outcome> {
    const ids = entries.flatMap(({ id }, i) => (isFresh[i] ? [id] : []));
    const states = await shared.claim(ids);
    if (states === undefined) return handInFresh(batch, entries, isFresh, handIn);
    const claimed = new Set(ids.filter((_id, i) => states[i] === "claimed"));
    if (claimed.size < ids.length) this.duplicates.add(ids.length - claimed.size);
    if (claimed.size === 0) return ACCEPTED;
    const isOurs = entries.map(({ id }, i) => isFresh[i]! && claimed.has(id));
    const outcome = await handInFresh(batch, entries, isOurs, handIn);
    if (outcome.ok && outcome.rejected === 0) await shared.markTaken([...claimed]);
    else await shared.giveUp([...claimed]);
    return outcome;
  }

  private anyInProgress(entries: readonly KeyedEntry[]): Promise<Outcome> | undefined {
    const { inProgress } = this.keys;
    if (inProgress.size === 0) return undefined;
    for (const { id } of entries) {
      const pending = inProgress.get(id);
      if (pending !== undefined) return pending;
    }
    return undefined;
  }
}

function handInFresh(
  batch: Batch,
  entries: readonly KeyedEntry[],
  isFresh: readonly boolean[],
  handIn: HandIn,
): Promise<Outcome> {
  return handIn(onlyFresh(batch, entries, isFresh), () => {
    const hash = createHash("sha256");
    for (const [i, { id }] of entries.entries()) if (isFresh[i]) hash.update(id);
    return hash.digest("hex").slice(0, IDENTITY_LENGTH);
  });
}

/** 128 bits, in hex digits. */
const IDENTITY_LENGTH = 32;

/** The records of an entry are adjacent, in the order of the key. */
function onlyFresh(batch: Batch, entries: readonly KeyedEntry[], isFresh: readonly boolean[]): Batch {
  if (!isFresh.includes(false)) return batch;
  let at = 0;
  let left = entries[0]!.items;
  return editRecords(batch, () => {
    if (left === 0) left = entries[++at]!.items;
    left -= 1;
    return isFresh[at] ? "keep" : "drop";
  });
}
