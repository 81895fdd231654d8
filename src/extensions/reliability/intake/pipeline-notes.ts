import type { Batch } from "../../../plugin.js";
import type { EntrySettlement, JournalNotes } from "../../../runtime/kit.js";
import { type EntryRef, isQueueNote, type Note, type QueueStore } from "../store/store.js";

/** Notes are kept for a while when no entry needs them any more: what comes late may still ask for them. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** With more than this the oldest go, whoever needs them: an entry that is tried for days must not fill the disk. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Old notes are looked for after so many new bytes. */
const PRUNE_EVERY_BYTES = 512 * 1024;
/** What a note costs beside its bytes. */
const NOTE_OVERHEAD_BYTES = 200;

/** The notes of a pipeline's processors: in the store of its journal and, while it runs, in memory. */
export class PipelineNotes implements EntrySettlement {
  private readonly store: QueueStore;
  private readonly lastRef: () => EntryRef;
  private kept: Note[] = [];
  private keptBytes = 0;
  private bytesSincePrune = 0;
  private isPruning = false;
  private firstRef: EntryRef = 0;
  /** By processor: one that was made anew answers in the place of the one before. */
  private readonly settlements = new Map<string, EntrySettlement>();

  /** `lastRef` is the last entry that was handed on: nobody has seen, or decided on, one that came after it. */
  constructor(store: QueueStore, lastRef: () => EntryRef) {
    this.store = store;
    this.lastRef = lastRef;
  }

  /** Reads what earlier runs have written, and gives all notes of the store. It is open, and nothing has been read from it. */
  async load(): Promise<readonly Note[]> {
    const notes = (await this.store.notes?.load()) ?? [];
    this.kept = notes.filter(({ owner }) => !isQueueNote(owner));
    this.keptBytes = this.kept.reduce((sum, note) => sum + sizeOf(note), 0);
    const newest = this.kept.reduce((max, { after }) => Math.max(max, after), 0);
    this.firstRef = (await this.oldestPending()) ?? newest + 1;
    return notes;
  }

  notesOf(owner: string): JournalNotes {
    const read = () => this.kept.filter((note) => note.owner === owner);
    const write = (bytes: Uint8Array) => this.write(owner, bytes);
    const firstPosition = () => this.firstRef;
    return {
      read,
      write,
      answerFor: (settlement) => void this.settlements.set(owner, settlement),
      get firstPosition() {
        return firstPosition();
      },
    };
  }

  /** Of an entry that is given up what no processor has settled. */
  remaining(position: EntryRef, batch: Batch): Batch {
    const settlements = [...this.settlements.values()];
    return settlements.reduce((rest, settlement) => settlement.remaining(position, rest), batch);
  }

  ended(position: EntryRef): void {
    for (const settlement of this.settlements.values()) settlement.ended(position);
  }

  private write(owner: string, bytes: Uint8Array): void {
    const note = { owner, after: this.lastRef(), bytes };
    const number = this.store.notes?.add(note) ?? 0;
    this.kept.push({ ...note, number });
    this.keptBytes += sizeOf(note);
    this.bytesSincePrune += sizeOf(note);
    if (this.bytesSincePrune >= PRUNE_EVERY_BYTES) void this.prune();
  }

  /** Looks which entries are left, and lets go of the oldest notes that none needs, if there are many. A store that cannot be read is asked next time. */
  private async prune(): Promise<void> {
    if (this.isPruning) return;
    this.isPruning = true;
    this.bytesSincePrune = 0;
    const oldest = await this.oldestPending().catch(() => 0);
    this.firstRef = oldest ?? this.lastRef();
    let count = 0;
    for (const note of this.kept) {
      const isNeeded = oldest !== undefined && note.after >= oldest;
      if (this.keptBytes <= KEPT_BYTES || (isNeeded && this.keptBytes <= MAX_BYTES)) break;
      this.keptBytes -= sizeOf(note);
      count++;
    }
    this.store.notes?.remove(this.kept.splice(0, count).map(({ number }) => number));
    this.isPruning = false;
  }

  private async oldestPending(): Promise<EntryRef | undefined> {
    return (await this.store.pending(undefined, 1))[0]?.ref;
  }
}

function sizeOf({ bytes }: Pick<Note, "bytes">): number {
  return bytes.length + NOTE_OVERHEAD_BYTES;
}
