import { AnswerFormatError, type AnswerHead, HEAD_END, parseAnswerHead } from "./answer-head.js";
import { ChunkedBody } from "./chunked-body.js";

/** All heads of one answer, those before the last (1xx) included. */
const MAX_HEAD_BYTES = 64 * 1024;
const PROTOCOL = "HTTP/1.";
/** A line end that is none, or the beginning of a continued line. */
const BROKEN_LINE = /\r[^\n]|(?:^|[^\r])\n|\n[\t ]/;

const EMPTY = Buffer.alloc(0);

/**
 * Reads the answers of one connection, one after the other, in whatever pieces they come. The bytes it is given may be
 * overwritten afterwards: it copies what it keeps. It throws an `AnswerFormatError` for anything but a valid answer within
 * its limits, and must not be used after that.
 */
export class AnswerReader {
  /** The head of the answer, once it is there; 1xx answers are passed over. */
  head: AnswerHead | undefined;
  isComplete = false;
  private readonly maxBodyBytes: number;
  private toHead = false;
  private partialHead = "";
  private headBytes = 0;
  private left = 0;
  private chunked: ChunkedBody | undefined;
  private pieces: Buffer[] = [];
  private size = 0;
  /** Heads repeat but for their date: the same text need not be taken apart again. */
  private lastText = "";
  private lastHead: AnswerHead | undefined;

  constructor(maxBodyBytes: number) {
    this.maxBodyBytes = maxBodyBytes;
  }

  /** The next answer is to a request with this method. */
  expectAnswer(method: string): void {
    const toHead = method === "HEAD";
    if (toHead !== this.toHead) this.lastText = "";
    this.toHead = toHead;
    this.head = undefined;
    this.isComplete = false;
    this.headBytes = 0;
    this.chunked = undefined;
    if (this.size > 0) this.pieces = [];
    this.size = 0;
  }

  /** True once any byte of an answer has come. */
  get hasBegun(): boolean {
    return this.head !== undefined || this.headBytes > 0 || this.partialHead !== "";
  }

  /** Reads the first `end` bytes, and returns how many of them belong to the answer. */
  read(bytes: Buffer, end: number): number {
    const at = this.head === undefined ? this.readHead(bytes, end) : 0;
    return this.head === undefined || this.isComplete ? at : this.readBody(this.head, bytes, at, end);
  }

  /** The connection ended. True when that was the end of the answer, too. */
  readEnd(): boolean {
    if (this.head?.framing === "close") this.isComplete = true;
    return this.isComplete;
  }

  /** What has come of the body: all of it when the answer is complete. */
  body(): Buffer {
    if (this.size === 0) return EMPTY;
    return this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
  }

  /** Where the body begins; all of it when the head goes on. */
  private readHead(bytes: Buffer, end: number): number {
    let at = 0;
    while (this.head === undefined && at < end) {
      const before = this.partialHead.length;
      const text =
        before === 0 ? bytes.toString("latin1", at, end) : this.partialHead + bytes.toString("latin1", at, end);
      const found = text.indexOf(HEAD_END, before - HEAD_END.length + 1);
      if (found === -1) {
        this.keepPartialHead(text);
        return end;
      }
      const length = found + HEAD_END.length;
      at += length - before;
      this.partialHead = "";
      this.onHead(length === text.length ? text : text.slice(0, length));
    }
    return at;
  }

  /** What cannot become a head is refused at once: whoever sends it may wait for more. */
  private keepPartialHead(text: string): void {
    if (!PROTOCOL.startsWith(text.slice(0, PROTOCOL.length)))
      throw new AnswerFormatError("the answer does not begin like HTTP/1.1");
    if (BROKEN_LINE.test(text)) throw new AnswerFormatError("a header of the answer is malformed");
    this.checkHeadSize(text.length);
    this.partialHead = text;
  }

  private checkHeadSize(bytes: number): void {
    if (this.headBytes + bytes > MAX_HEAD_BYTES)
      throw new AnswerFormatError(`the head of the answer is longer than ${MAX_HEAD_BYTES} bytes`);
  }

  private onHead(text: string): void {
    this.checkHeadSize(text.length);
    const head = text === this.lastText ? this.lastHead! : parseAnswerHead(text, this.toHead);
    if (head.status === 101) throw new AnswerFormatError("the answer switches to another protocol");
    if (head.status < 200) {
      this.headBytes += text.length;
      return;
    }
    this.lastText = text;
    this.lastHead = head;
    this.head = head;
    this.left = head.length;
    this.isComplete = head.framing === "none" || (head.framing === "length" && head.length === 0);
    if (head.framing === "chunked") this.chunked = new ChunkedBody();
    else if (this.left > this.maxBodyBytes) throw this.tooLong();
  }

  private readBody({ framing }: AnswerHead, bytes: Buffer, at: number, end: number): number {
    if (this.chunked !== undefined) return this.readChunked(this.chunked, bytes, at, end);
    const to = framing === "length" ? Math.min(end, at + this.left) : end;
    this.keep(bytes, at, to);
    if (framing === "length") {
      this.left -= to - at;
      this.isComplete = this.left === 0;
    }
    return to;
  }

  private readChunked(chunked: ChunkedBody, bytes: Buffer, at: number, end: number): number {
    const stop = chunked.read(bytes, at, end, (from, to) => this.keep(bytes, from, to));
    this.isComplete = chunked.isComplete;
    return stop;
  }

  private keep(bytes: Buffer, from: number, to: number): void {
    if (from === to) return;
    this.size += to - from;
    if (this.size > this.maxBodyBytes) throw this.tooLong();
    this.pieces.push(Buffer.from(bytes.subarray(from, to)));
  }

  private tooLong(): AnswerFormatError {
    return new AnswerFormatError(`the answer is longer than ${this.maxBodyBytes} bytes`);
  }
}
