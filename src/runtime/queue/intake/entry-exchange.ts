import type { Clock, Delivery } from "#contract";
import type { JournalExchange } from "#contract/operators";
import type { Batch } from "#otlp";
import {
  isEntryGone,
  type NewEntry,
  type Note,
  type NoteNumber,
  QUEUE_NOTE_PREFIX,
  type QueueStore,
  STORE_RETRY_MS,
  type StoredEntry,
  type StoreExchange,
} from "../store/store.js";

interface EntryExchangeServices {
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly newEntry: (batch: Batch) => NewEntry;
  /**
   * Called with entries that were stored in place of others. Returns the deliveries that their maker has to hand on.
   */
  readonly onMade: (made: readonly { readonly stored: StoredEntry; readonly batch: Batch }[]) => Delivery[];
  /** Called when the store may have entries that are not known in memory. */
  readonly onUnknown: () => void;
  readonly logStoreError: (error: unknown) => void;
}

const OWNER = `${QUEUE_NOTE_PREFIX}state`;

/**
 * Replaces entries of a journal with the batches that a connector made from them, together with the connector's state,
 * in one write. A failed write is retried. If it had succeeded after all, the retry finds the old entries gone.
 */
export class EntryExchange implements JournalExchange {
  private readonly services: EntryExchangeServices;
  private restore: (state: Uint8Array | undefined) => void = () => {};
  private state: Uint8Array | undefined;
  private notes: readonly NoteNumber[] = [];
  private isOpen = false;
  private stopped: (() => void) | undefined;
  private readonly whenStopped: Promise<void>;
  private hasStopped = false;

  constructor(services: EntryExchangeServices) {
    this.services = services;
    this.whenStopped = new Promise((resolve) => {
      this.stopped = resolve;
    });
  }

  /** To be called with all notes of the store. */
  opened(notes: readonly Note[]): void {
    const own = notes.filter(({ owner }) => owner === OWNER);
    this.notes = own.map(({ number }) => number);
    this.state = own.at(-1)?.bytes;
    this.isOpen = true;
    this.restore(this.state);
  }

  /** Ends all waiting for retries. */
  stop(): void {
    this.hasStopped = true;
    this.stopped?.();
  }

  /** A recreated connector continues from the state of the last exchange. */
  onOpened(restore: (state: Uint8Array | undefined) => void): void {
    this.restore = restore;
    if (this.isOpen) restore(this.state);
  }

  async exchange({ positions, made, state }: Parameters<JournalExchange["exchange"]>[0]): Promise<readonly Delivery[]> {
    const change: StoreExchange = {
      removed: positions,
      added: made.map((batch) => this.services.newEntry(batch)),
      ...(state !== undefined && { note: { owner: OWNER, after: 0, bytes: state, replaces: this.notes } }),
    };
    for (let isRetry = false; ; isRetry = true) {
      try {
        const { stored, note } = await this.services.store.exchange({
          ...change,
          mustExist: isRetry && positions.length > 0,
        });
        if (note !== undefined) this.notes = [note];
        this.state = state ?? this.state;
        return this.services.onMade(stored.map((one, i) => ({ stored: one, batch: made[i]! })));
      } catch (error) {
        if (isRetry && isEntryGone(error)) return this.madeBefore(state);
        if (this.hasStopped) throw error;
        this.services.logStoreError(error);
      }
      await this.wait();
    }
  }

  /**
   * An earlier try succeeded although it was reported as failed. Its entries are handed on like those of an earlier
   * run.
   */
  private madeBefore(state: Uint8Array | undefined): readonly Delivery[] {
    this.state = state ?? this.state;
    this.services.onUnknown();
    return [];
  }

  private async wait(): Promise<void> {
    let cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      cancel = this.services.clock.after(STORE_RETRY_MS, resolve);
    });
    await Promise.race([waited, this.whenStopped]);
    cancel();
  }
}
