import { ArchiveError } from "./archive-source.js";

const NEWLINE = 0x0a;

/** Cuts bytes into lines while they arrive, without their ends. A line must fit into `maxBytes`. */
export class LineSplitter {
  private readonly maxBytes: number;
  private parts: Uint8Array[] = [];
  private size = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    let start = 0;
    for (let end: number; (end = chunk.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
      this.add(chunk.subarray(start, end));
      yield this.take();
    }
    if (start < chunk.length) this.add(chunk.subarray(start));
  }

  /** Returns the last line, if the bytes do not end with a newline. */
  *end(): Generator<Uint8Array> {
    if (this.size > 0) yield this.take();
  }

  private add(part: Uint8Array): void {
    this.parts.push(part);
    this.size += part.length;
    if (this.size > this.maxBytes)
      throw new ArchiveError(`a line is longer than ${this.maxBytes} bytes`, { fault: "too_large" });
  }

  private take(): Uint8Array {
    const line = this.parts.length === 1 ? this.parts[0]! : Buffer.concat(this.parts, this.size);
    this.parts = [];
    this.size = 0;
    return line;
  }
}
