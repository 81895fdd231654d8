import type { Entry } from "#contract/operations";
import { walkDeadLetters } from "../../store/dead-letter-access.js";
import type { EntryRef, QueueStore } from "../../store/store.js";
import { type Controls, isDeleted, readDeadLetter } from "../dead-letters.js";
import { hasQueue } from "../exporter-control.js";

/** Finds the dead letters that the queues of an agent have of one message, for sources that show the state of each. */
export class MessageIndexes {
  private readonly controls: Controls;
  private readonly indexes = new WeakMap<QueueStore, MessageIndex>();

  constructor(controls: Controls) {
    this.controls = controls;
  }

  async find(receiver: string, message: string): Promise<Entry[]> {
    const found: Entry[] = [];
    for (const { store } of [...this.controls.values()].filter(hasQueue)) {
      const index = this.indexes.get(store) ?? new MessageIndex(store);
      this.indexes.set(store, index);
      for (const ref of await index.refs(receiver, message)) {
        const stored = await readDeadLetter(store, ref);
        if (stored !== undefined && !isDeleted(stored.entry)) found.push(stored.entry);
      }
    }
    return found;
  }
}

/** The dead letters of one queue that were made from such messages. They are read once, and then kept up to date. */
class MessageIndex {
  private readonly store: QueueStore;
  private readonly refsOf = new Map<string, Set<EntryRef>>();
  private readonly keys = new Map<EntryRef, string>();
  private reading: Promise<void> | undefined;

  constructor(store: QueueStore) {
    this.store = store;
  }

  async refs(receiver: string, message: string): Promise<readonly EntryRef[]> {
    this.reading ??= this.read().catch((error: unknown) => {
      this.reading = undefined;
      throw error;
    });
    await this.reading;
    // A store that does not report changes is read again each time.
    if (this.store.watchFailed === undefined) this.reading = undefined;
    return [...(this.refsOf.get(keyOf(receiver, message)) ?? [])];
  }

  /** Changes while the dead letters are read take precedence over what is read. */
  private async read(): Promise<void> {
    this.refsOf.clear();
    this.keys.clear();
    const changed = new Set<EntryRef>();
    let isReading = true;
    let isReset = false;
    const stop = this.store.watchFailed?.({
      changed: (ref, entry) => {
        if (isReading) changed.add(ref);
        this.set(ref, entry);
      },
      reset: () => {
        isReset = true;
        this.reading = undefined;
        stop?.();
      },
    });
    for await (const { ref, entry } of walkDeadLetters(this.store)) if (!changed.has(ref)) this.set(ref, entry);
    isReading = false;
    if (isReset) return this.read();
  }

  private set(ref: EntryRef, entry: Entry | undefined): void {
    const before = this.keys.get(ref);
    if (before !== undefined) this.remove(ref, before);
    const message = entry?.source.message;
    if (message === undefined) return;
    const key = keyOf(entry!.source.receiver, message);
    this.keys.set(ref, key);
    this.refsOf.set(key, (this.refsOf.get(key) ?? new Set()).add(ref));
  }

  private remove(ref: EntryRef, key: string): void {
    this.keys.delete(ref);
    const refs = this.refsOf.get(key);
    refs?.delete(ref);
    if (refs?.size === 0) this.refsOf.delete(key);
  }
}

function keyOf(receiver: string, message: string): string {
  return JSON.stringify([receiver, message]);
}
