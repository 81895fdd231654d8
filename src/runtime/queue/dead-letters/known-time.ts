import { type NoteNumber, QUEUE_NOTE_PREFIX, type QueueStore } from "../store/store.js";

const OWNER = `${QUEUE_NOTE_PREFIX}time`;
/** How far the time that is stored may be behind. */
const KEEP_INTERVAL_MS = 600_000;

/**
 * The last time of day that was known to be correct, kept in a note of the queue. A clock that has jumped forward
 * makes no dead letter old: neither while the agent runs nor after a restart, whatever was written by that clock.
 */
export class KnownTime {
  private readonly store: QueueStore;
  private time: number | undefined;
  private notes: readonly NoteNumber[] = [];

  constructor(store: QueueStore) {
    this.store = store;
  }

  /**
   * Returns the time that an earlier run has left. Without one, the time of the oldest dead letter: nothing younger is
   * certain. Undefined if nothing is known.
   */
  async load(): Promise<number | undefined> {
    const own = ((await this.store.notes?.load()) ?? []).filter(({ owner }) => owner === OWNER);
    this.notes = own.map(({ number }) => number);
    const times = own.map(({ bytes }) => Number(Buffer.from(bytes).toString())).filter(Number.isFinite);
    this.time = times.at(-1);
    if (this.time !== undefined) return this.time;
    const [oldest] = await this.store.failed(undefined, 1, "oldest");
    return oldest?.entry.failure?.at;
  }

  /** Stores the time, unless almost the same is stored already. */
  keep(time: number): void {
    const { notes } = this.store;
    if (notes === undefined) return;
    if (this.time !== undefined && Math.abs(time - this.time) < KEEP_INTERVAL_MS) return;
    this.time = time;
    const previous = this.notes;
    this.notes = [notes.add({ owner: OWNER, after: 0, bytes: Buffer.from(String(Math.round(time))) })];
    notes.remove(previous);
  }
}
