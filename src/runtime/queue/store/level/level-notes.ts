import { RANGES, refOf, unframe } from "../format/layout.js";
import type { LevelWrites } from "../level-writes.js";
import type { Note, NoteNumber, NoteStore, StoreExchange } from "../store.js";
import { scanRows } from "./reader.js";
import type { Transaction } from "./transaction.js";

/** The notes of a store on disk. Unreadable ones are left out and removed. */
export class LevelNotes implements NoteStore {
  private readonly writes: LevelWrites;
  private last: NoteNumber = 0;

  constructor(writes: LevelWrites) {
    this.writes = writes;
  }

  async load(): Promise<Note[]> {
    const notes: Note[] = [];
    const damaged: NoteNumber[] = [];
    for await (const page of scanRows(this.writes.current, RANGES.note, 0))
      for (const [key, value] of page) {
        const number = refOf(key);
        this.last = Math.max(this.last, number);
        const note = decodeNote(number, value);
        if (note === undefined) damaged.push(number);
        else notes.push(note);
      }
    this.remove(damaged);
    return notes;
  }

  add(note: Omit<Note, "number">): NoteNumber {
    const number = ++this.last;
    this.change(100 + note.bytes.length, (transaction) => transaction.putNote(number, note));
    return number;
  }

  /** Writes a note with the other changes of a transaction. */
  put(transaction: Transaction, { replaces, ...note }: NonNullable<StoreExchange["note"]>): NoteNumber {
    const number = ++this.last;
    transaction.putNote(number, note);
    for (const old of replaces) transaction.removeNote(old);
    return number;
  }

  remove(numbers: readonly NoteNumber[]): void {
    if (numbers.length === 0) return;
    this.change(20 * numbers.length, (transaction) => {
      for (const number of numbers) transaction.removeNote(number);
    });
  }

  private change(bytes: number, apply: (transaction: Transaction) => void): void {
    this.writes.add({ refs: [], bytes, lazy: true, apply, done() {}, fail() {} });
  }
}

function decodeNote(number: NoteNumber, value: Uint8Array): Note | undefined {
  const read = unframe(RANGES.note, number, 0, value);
  if (read === undefined) return undefined;
  const { owner, after } = read.head as Pick<Note, "owner" | "after">;
  return { number, owner, after, bytes: Uint8Array.from(read.body) };
}
