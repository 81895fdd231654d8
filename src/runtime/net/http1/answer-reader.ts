import { AnswerFormatError, type AnswerHead, HEAD_END, parseAnswerHead } from "./answer-head.js";
import { ChunkedBody } from "./chunked-body.js";

/** Limit for all heads of one response, including 1xx ones. */
const MAX_HEAD_BYTES = 64 * 1024;
const PROTOCOL = "HTTP/1.";
/** A malformed line end, or the beginning of a continued line. */
const BROKEN_LINE = /\r[^\n]|(?:^|[^\r])\n|\n[\t ]/;

const EMPTY = Buffer.alloc(0);

/**
 * Parses the responses of one connection, one after the other, in chunks of any size. It copies what it keeps, because
 * the caller may overwrite the bytes. Throws an `AnswerFormatError` for anything but a valid response within its
 * limits, and must not be used after that.
 */
export class AnswerReader {
  /** The head of the response, once it is complete; 1xx responses are skipped. */
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
  /** Caches the last head: heads usually repeat, so the same text need not be parsed again. */
  private lastText = "";
  private lastHead: AnswerHead | undefined;

  constructor(maxBodyBytes: number) {
    this.maxBodyBytes = maxBodyBytes;
  }

  /** Prepares for the response to a request with this method. */
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

  /** True once any byte of a response has arrived. */
  get hasBegun(): boolean {
    return this.head !== undefined || this.headBytes > 0 || this.partialHead !== "";
  }

  /** Reads the first `end` bytes, and returns how many of them belong to the response. */
  read(bytes: Buffer, end: number): number {
    const at = this.head === undefined ? this.readHead(bytes, end) : 0;
    return this.head === undefined || this.isComplete ? at : this.readBody(this.head, bytes, at, end);
  }

  /** Called when the connection ends. Returns true if that is also the end of the response. */
  readEnd(): boolean {
    if (this.head?.framing === "close") this.isComplete = true;
    return this.isComplete;
  }

  /** The part of the body read so far; the whole body when the response is complete. */
  body(): Buffer {
    if (this.size === 0) return EMPTY;
    return this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
  }

  /** Returns the offset of the body; `end` if the head is still incomplete. */
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

  /** Rejects bytes that cannot become a head at once, because the server may send nothing more. */
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
