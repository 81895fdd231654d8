const MAX_BATCH_LINES = 500;
/** A batch of about this much text is complete. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

/** What comes next: lines to be delivered, or the number of those that there was no room for. */
type QueuedLines = { readonly lines: readonly string[]; readonly refused: number };

/** Lines that wait, in their order, however the text was cut; no more than fit into `maxBytes`. */
export class LineQueue {
  /** The beginning of a line whose end has not come yet. */
  incomplete = "";
  private readonly maxBytes: number;
  /** Lines, and in the place of those that were refused their number. */
  private entries: (string | number)[] = [];
  /** The entries before this index are gone. */
  private first = 0;
  private bytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.first === this.entries.length;
  }

  /** Takes text; gives the number of lines that it ended, and of those for which there was no room. */
  add(text: string): { readonly ended: number; readonly refused: number } {
    const lines = (this.incomplete + text).split("\n");
    this.incomplete = lines.pop() ?? "";
    const refused = lines.filter((line) => !this.enqueue(line)).length;
    return { ended: lines.length, refused };
  }

  next(): QueuedLines {
    const head = this.entries[this.first];
    if (typeof head === "number") {
      this.first += 1;
      return { lines: [], refused: head };
    }
    const lines = this.takeLines();
    if (this.first > this.entries.length / 2) {
      this.entries = this.entries.slice(this.first);
      this.first = 0;
    }
    return { lines, refused: 0 };
  }

  private takeLines(): string[] {
    const lines: string[] = [];
    let size = 0;
    while (lines.length < MAX_BATCH_LINES && size < MAX_BATCH_CHARACTERS) {
      const line = this.entries[this.first];
      if (typeof line !== "string") break;
      lines.push(line);
      size += line.length;
      this.first += 1;
    }
    this.bytes -= size;
    return lines;
  }

  /** Whether there is room for the line. */
  private enqueue(line: string): boolean {
    const hasRoom = this.bytes + line.length <= this.maxBytes;
    const last = this.entries.at(-1);
    if (hasRoom) {
      this.entries.push(line);
      this.bytes += line.length;
    } else if (typeof last === "number" && !this.isEmpty) this.entries[this.entries.length - 1] = last + 1;
    else this.entries.push(1);
    return hasRoom;
  }
}
