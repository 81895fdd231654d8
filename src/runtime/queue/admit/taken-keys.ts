import { createHash } from "node:crypto";
import {
  type NoteNumber,
  QUEUE_NOTE_PREFIX,
  type QueueStore,
  type StoredEntry,
  type StoreExchange,
} from "../store/store.js";

/**
 * The maximum number of remembered keys. A sender hands in the next key only when the previous one was taken, so few
 * keys are ever in doubt.
 */
const MAX_KEYS = 256;
const KEY_BYTES = 16;
const OWNER = `${QUEUE_NOTE_PREFIX}taken`;

/**
 * Remembers the keys of recently taken batches from senders that may send them again after a crash, even if they were
 * delivered long ago. The keys are kept in a note that is written atomically with the entries, so a key is remembered
 * if and only if its entries were taken. A forgotten key costs a duplicate, never a loss.
 */
export class TakenKeys {
  private readonly store: QueueStore;
  private keys: string[] = [];
  private notes: readonly NoteNumber[] = [];
  /**
   * False if the store may have more keys: before it was read, and after a failed write that may have happened anyway.
   */
  private isLoaded = false;
  private last: Promise<unknown> = Promise.resolve();

  constructor(store: QueueStore) {
    this.store = store;
  }

  /** Stores the entries of a key, all or none. Returns undefined if the queue has already taken that key. */
  put(key: string, added: StoreExchange["added"]): Promise<readonly StoredEntry[] | undefined> {
    const result = this.last.then(() => this.putNow(hashOf(key), added));
    this.last = result.catch(() => {});
    return result;
  }

  private async putNow(key: string, added: StoreExchange["added"]): Promise<readonly StoredEntry[] | undefined> {
    if (!this.isLoaded) await this.load();
    if (this.keys.includes(key)) return undefined;
    const keys = [...this.keys, key].slice(-MAX_KEYS);
    const bytes = Buffer.from(keys.join(""), "hex");
    this.isLoaded = false;
    const { stored, note } = await this.store.exchange({
      removed: [],
      added,
      note: { owner: OWNER, after: 0, bytes, replaces: this.notes },
    });
    this.keys = keys;
    this.notes = note === undefined ? [] : [note];
    this.isLoaded = true;
    return stored;
  }

  private async load(): Promise<void> {
    const notes = ((await this.store.notes?.load()) ?? []).filter(({ owner }) => owner === OWNER);
    this.notes = notes.map(({ number }) => number);
    this.keys = [...new Set([...notes.flatMap(({ bytes }) => keysIn(bytes)), ...this.keys])];
    this.isLoaded = true;
  }
}

function keysIn(bytes: Uint8Array): string[] {
  const text = Buffer.from(bytes).toString("hex");
  return text.match(new RegExp(`.{${2 * KEY_BYTES}}`, "g")) ?? [];
}

function hashOf(key: string): string {
  return createHash("sha256")
    .update(key)
    .digest("hex")
    .slice(0, 2 * KEY_BYTES);
}
