const MAX_BATCH_LINES = 500;
/** A batch is complete when its lines have about this many characters. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

/** The next item of the queue: lines to deliver, or the number of lines refused because the queue was full. */
type QueuedLines = { readonly lines: readonly string[]; readonly refused: number };

/** Lines that wait for delivery, in order, however the text was split into chunks. Holds at most `maxBytes`. */
export class LineQueue {
  /** The beginning of a line whose end has not arrived yet. */
  incomplete = "";
  private readonly maxBytes: number;
  /** Lines; a number stands for that many refused lines. */
  private entries: (string | number)[] = [];
  /** Entries before this index have been taken. */
  private first = 0;
  private bytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.first === this.entries.length;
  }

  /** Adds text; returns how many lines it completed, and how many of them were refused because the queue was full. */
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

  /** Returns false when the queue is full. */
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
