import type { Note, NoteNumber, NoteStore } from "../store.js";
import type { TableWriter } from "./table-writer.js";

/** The notes of a queue on a server. One that cannot be read is left out, and removed. */
export class RemoteNotes implements NoteStore {
  private readonly writer: TableWriter;
  private kept: Note[] = [];
  private last: NoteNumber = 0;

  constructor(writer: TableWriter) {
    this.writer = writer;
  }

  /** They were read when the queue was opened: a key that is missing for them is missing for the queue. */
  found({ notes, damaged }: { readonly notes: Note[]; readonly damaged: readonly NoteNumber[] }): void {
    this.kept = notes;
    for (const number of [...notes.map((note) => note.number), ...damaged]) this.last = Math.max(this.last, number);
    this.writer.removeNotes(damaged);
  }

  async load(): Promise<Note[]> {
    const notes = this.kept;
    this.kept = [];
    return notes;
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
