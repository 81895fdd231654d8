import type { Note, NoteNumber, NoteStore, StoreExchange } from "../store.js";
import type { TableWriter } from "./table-writer.js";

interface StoredNotes {
  readonly notes: Note[];
  readonly damaged: readonly NoteNumber[];
}

/** The notes of a queue on a server. One that cannot be read is left out, and removed. */
export class RemoteNotes implements NoteStore {
  private readonly writer: TableWriter;
  private readonly read: () => Promise<StoredNotes>;
  /** The notes that were read when the queue was opened, until somebody asks for them. */
  private kept: Note[] | undefined;
  isReached = false;
  private last: NoteNumber = 0;

  constructor(writer: TableWriter, read: () => Promise<StoredNotes>) {
    this.writer = writer;
    this.read = read;
  }

  /** They were read when the queue was opened: a key that is missing for them is missing for the queue. */
  found({ notes, damaged }: StoredNotes): void {
    this.kept = notes;
    this.isReached = true;
    for (const number of [...notes.map((note) => note.number), ...damaged]) this.last = Math.max(this.last, number);
    this.writer.removeNotes(damaged);
  }

  async load(): Promise<Note[]> {
    if (this.kept === undefined) this.found(await this.read());
    const notes = this.kept!;
    this.kept = undefined;
    return notes;
  }

  /** A note to be written with other changes. */
  create({ replaces: _, ...note }: NonNullable<StoreExchange["note"]>): Note {
    return { ...note, number: ++this.last };
  }

  add(note: Omit<Note, "number">): NoteNumber {
    const number = ++this.last;
    this.writer.addNote({ ...note, number });
    return number;
  }

  remove(numbers: readonly NoteNumber[]): void {
    this.writer.removeNotes(numbers);
  }
}
