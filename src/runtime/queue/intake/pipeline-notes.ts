import type { EntrySettlement, JournalNotes } from "#contract/operators";
import type { Batch } from "#otlp";
import { type EntryRef, isQueueNote, type Note, type NoteNumber, type QueueStore } from "../store/store.js";

/**
 * The maximum size of notes of all processors that no entry needs any more. They are kept for a while because late
 * records may still need them. A processor can lower its own share with `limitUnneededBytes`.
 */
const KEPT_BYTES = 8 * 1024 * 1024;
/**
 * Above this size, the oldest notes are removed even if needed, because an entry that is retried for days must not fill
 * the disk.
 */
const MAX_BYTES = 64 * 1024 * 1024;
/** Old notes are removed each time this many bytes were added. */
const PRUNE_EVERY_BYTES = 512 * 1024;
/** Estimated cost of a note in addition to its bytes. */
const NOTE_OVERHEAD_BYTES = 200;

/**
 * A note in memory. Its bytes are a string with one character per byte. This takes a quarter of the memory of a small
 * buffer, and a small slice would keep the whole buffer alive that it was cut from.
 */
interface KeptNote extends Omit<Note, "bytes"> {
  readonly text: string;
}

/** The notes of a pipeline's processors, in the store of its journal and in memory. */
export class PipelineNotes implements EntrySettlement {
  private readonly store: QueueStore;
  private readonly lastRef: () => EntryRef;
  private kept: KeptNote[] = [];
  private keptBytes = 0;
  private readonly keptBytesByOwner = new Map<string, number>();
  private bytesSincePrune = 0;
  private isPruning = false;
  private firstRef: EntryRef = 0;
  /** By processor: how many bytes to keep for notes that no entry needs. */
  private readonly unneededLimits = new Map<string, number>();
  /** By processor. A recreated processor replaces the settlement of the previous one. */
  private readonly settlements = new Map<string, EntrySettlement>();

  /** `lastRef` returns the last entry that was handed on. Processors have not seen any later entry. */
  constructor(store: QueueStore, lastRef: () => EntryRef) {
    this.store = store;
    this.lastRef = lastRef;
  }

  /**
   * Loads the notes of earlier runs and returns all notes of the store. To be called when the store is open, before any
   * other read.
   */
  async load(): Promise<readonly Note[]> {
    const { notes: stored } = this.store;
    const notes = stored === undefined || stored.isReached === false ? [] : await stored.load();
    this.kept = notes.filter(({ owner }) => !isQueueNote(owner)).map(toKept);
    for (const { owner, text } of this.kept) this.countBytes(owner, sizeOf(text));
    const newest = this.kept.reduce((max, { after }) => Math.max(max, after), 0);
    this.firstRef = (await this.oldestPending()) ?? newest + 1;
    return notes;
  }

  notesOf(owner: string): JournalNotes {
    const read = () => this.kept.filter((note) => note.owner === owner).map(fromKept);
    const write = (bytes: Uint8Array) => this.write(owner, bytes);
    const firstPosition = () => this.firstRef;
    this.unneededLimits.set(owner, KEPT_BYTES);
    return {
      read,
      write,
      setSettlement: (settlement) => void this.settlements.set(owner, settlement),
      limitUnneededBytes: (bytes) => void this.unneededLimits.set(owner, bytes),
      get firstPosition() {
        return firstPosition();
      },
    };
  }

  /** Returns the records of an entry that no processor has settled. */
  remaining(position: EntryRef, batch: Batch): Batch {
    const settlements = [...this.settlements.values()];
    return settlements.reduce((rest, settlement) => settlement.remaining(position, rest), batch);
  }

  /** Hands the notes of another journal to the processors that wrote such notes. */
  takeOver(notes: readonly Note[], firstPosition: EntryRef): EntrySettlement["remaining"] {
    const taken = [...this.settlements].flatMap(([owner, settlement]) => {
      const own = notes.filter((note) => note.owner === owner);
      return own.length === 0 ? [] : (settlement.takeOver?.(own, firstPosition) ?? []);
    });
    return (position, batch) => taken.reduce((rest, remaining) => remaining(position, rest), batch);
  }

  ended(position: EntryRef): void {
    for (const settlement of this.settlements.values()) settlement.ended(position);
  }

  private write(owner: string, bytes: Uint8Array): void {
    const note = { owner, after: this.lastRef(), bytes };
    const number = this.store.notes?.add(note) ?? 0;
    this.kept.push(toKept({ ...note, number }));
    this.countBytes(owner, sizeOf(bytes));
    this.bytesSincePrune += sizeOf(bytes);
    if (this.bytesSincePrune >= PRUNE_EVERY_BYTES) void this.prune();
  }

  /**
   * Finds the oldest pending entry, and removes the oldest notes that no entry needs, if there are too many. If the
   * store cannot be read, the next call tries again.
   */
  private async prune(): Promise<void> {
    if (this.isPruning) return;
    this.isPruning = true;
    this.bytesSincePrune = 0;
    const oldest = await this.oldestPending().catch(() => 0);
    this.firstRef = oldest ?? this.lastRef();
    const removed: NoteNumber[] = [];
    this.kept = this.kept.filter((note) => {
      if (!this.isSurplus(note, oldest !== undefined && note.after >= oldest)) return true;
      this.countBytes(note.owner, -sizeOf(note.text));
      removed.push(note.number);
      return false;
    });
    this.store.notes?.remove(removed);
    this.isPruning = false;
  }

  private isSurplus({ owner }: KeptNote, isNeeded: boolean): boolean {
    if (isNeeded) return this.keptBytes > MAX_BYTES;
    const limit = this.unneededLimits.get(owner) ?? KEPT_BYTES;
    return this.keptBytes > KEPT_BYTES || this.keptBytesByOwner.get(owner)! > limit;
  }

  private countBytes(owner: string, bytes: number): void {
    this.keptBytes += bytes;
    this.keptBytesByOwner.set(owner, (this.keptBytesByOwner.get(owner) ?? 0) + bytes);
  }

  private async oldestPending(): Promise<EntryRef | undefined> {
    return (await this.store.pending(undefined, 1))[0]?.ref;
  }
}

/** Names each field, so that V8 gives all notes one shape: with a spread each had its own, of 200 bytes. */
function toKept({ number, owner, after, bytes }: Note): KeptNote {
  return { number, owner, after, text: Buffer.prototype.latin1Slice.call(bytes, 0, bytes.length) };
}

function fromKept({ text, ...note }: KeptNote): Note {
  return { ...note, bytes: Buffer.from(text, "latin1") };
}

function sizeOf({ length }: Uint8Array | string): number {
  return length + NOTE_OVERHEAD_BYTES;
}
