import type { Note, NoteNumber, NoteStore, StoreExchange } from "../store.js";
import type { TableWriter } from "./table-writer.js";

interface StoredNotes {
  readonly notes: Note[];
  readonly damaged: readonly NoteNumber[];
}

/** The notes of a queue on a server. Unreadable ones are left out and removed. */
export class RemoteNotes implements NoteStore {
  private readonly writer: TableWriter;
  private readonly read: () => Promise<StoredNotes>;
  /** The notes that were read when the queue was opened, until `load` returns them. */
  private kept: Note[] | undefined;
  isReached = false;
  private last: NoteNumber = 0;

  constructor(writer: TableWriter, read: () => Promise<StoredNotes>) {
    this.writer = writer;
    this.read = read;
  }

  /**
   * To be called with the notes read on opening. They are read then because a missing key must make the opening fail.
   */
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

  /** Creates a note to be written with other changes. */
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
