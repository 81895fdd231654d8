import { AnswerFormatError, parseField } from "./answer-head.js";

/** Maximum length of a size line with extensions, or of a trailer. */
const MAX_LINE = 4096;
/** Limit for all trailers together. */
const MAX_TRAILERS = 64 * 1024;
const SIZE_LINE = /^([0-9A-Fa-f]{1,8})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/;

const CR = 13;
const LF = 10;

/** Decodes a chunked body, in chunks of any size. Extensions and trailers are checked, not kept. */
export class ChunkedBody {
  isComplete = false;
  private expects: "size" | "data" | "end of data" | "trailer" = "size";
  private line = "";
  private left = 0;
  private trailerBytes = 0;

  /**
   * Passes the data between `start` and `end` to `keep`, and returns where it stopped: at `end`, or behind the body.
   */
  read(bytes: Buffer, start: number, end: number, keep: (from: number, to: number) => void): number {
    let at = start;
    while (at < end && !this.isComplete) {
      at = this.expects === "data" ? this.readData(at, end, keep) : this.readLine(bytes, at, end);
    }
    return at;
  }

  private readData(at: number, end: number, keep: (from: number, to: number) => void): number {
    const to = Math.min(end, at + this.left);
    keep(at, to);
    this.left -= to - at;
    if (this.left === 0) this.expects = "end of data";
    return to;
  }

  private readLine(bytes: Buffer, at: number, end: number): number {
    const lineFeed = bytes.indexOf(LF, at);
    const isWhole = lineFeed !== -1 && lineFeed < end;
    const stop = isWhole ? lineFeed + 1 : end;
    this.line += bytes.toString("latin1", at, stop);
    if (this.line.length > MAX_LINE) throw new AnswerFormatError("a line of the answer's chunks is too long");
    if (!isWhole) return stop;
    const { line } = this;
    if (line.charCodeAt(line.length - 2) !== CR)
      throw new AnswerFormatError("a line of the answer's chunks ends without CRLF");
    this.line = "";
    this.onLine(line.slice(0, -2));
    return stop;
  }

  private onLine(line: string): void {
    if (this.expects === "size") this.onSize(line);
    else if (this.expects === "trailer") this.onTrailer(line);
    else if (line === "") this.expects = "size";
    else throw new AnswerFormatError("a chunk of the answer is longer than it said");
  }

  private onSize(line: string): void {
    const digits = SIZE_LINE.exec(line)?.[1];
    if (digits === undefined) throw new AnswerFormatError("a chunk of the answer has no valid size");
    this.left = Number.parseInt(digits, 16);
    this.expects = this.left === 0 ? "trailer" : "data";
  }

  private onTrailer(line: string): void {
    this.trailerBytes += line.length + 2;
    if (this.trailerBytes > MAX_TRAILERS) throw new AnswerFormatError("the answer has too many trailers");
    if (line === "") this.isComplete = true;
    else parseField(line);
  }
}
