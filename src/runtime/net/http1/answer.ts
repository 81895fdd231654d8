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

/**
 * Parses the head of an HTTP response strictly. Rejects everything that two programs could interpret differently,
 * because a proxy may share the connection with others: line ends other than CRLF, continued lines, spaces before a
 * colon, two lengths, a length together with a transfer coding, and transfer codings other than chunked.
 */

/** The response is not HTTP/1.1, or is ambiguous. Its connection must not be used again. */
export class AnswerFormatError extends Error {
  override readonly name = "AnswerFormatError";
  readonly code = "EPROTO";
}

/** How the end of a body is determined. */
type BodyFraming = "none" | "length" | "chunked" | "close";

export interface AnswerHead {
  readonly status: number;
  /** By lower-case name. Repeated headers are joined by commas; where a list makes no sense the first one is used. */
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: BodyFraming;
  /** Number of bytes of a body with framing "length". */
  readonly length: number;
  /** Whether the server keeps the connection open after this response. */
  readonly keepsAlive: boolean;
  /** How long the server keeps it open unused, in milliseconds, if it says so. */
  readonly keepAliveMs: number | undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const DIGITS = /^\d{1,15}$/;

/** Headers that cannot be joined: only the first one is used. */
const FIRST_VALUE_ONLY = new Set(["content-type", "retry-after", "date", "location", "server"]);

/** Parses a head, including the empty line at its end. `toHead` is true for the response to a HEAD request. */
function parseAnswerHead(text: string, toHead: boolean): AnswerHead {
  const lines = text.slice(0, -HEAD_END.length).split("\r\n");
  const [, minor, digits] = STATUS_LINE.exec(lines[0]!) ?? [];
  if (digits === undefined) throw new AnswerFormatError("the answer does not begin like HTTP/1.1");
  const status = Number(digits);
  const headers = new Map<string, string>();
  for (let i = 1; i < lines.length; i++) addField(headers, lines[i]!);
  const isOld = minor === "0";
  const declared = framingOf(headers, isOld);
  const hasBody = status >= 200 && status !== 204 && status !== 304 && !toHead;
  const framing = hasBody ? declared : "none";
  // A body where none is allowed: a proxy that counts it differently would take it for the next response.
  const isAmbiguous =
    !toHead && !hasBody && status !== 304 && headers.get("content-length") !== "0" && declared !== "close";
  return {
    status,
    headers,
    framing,
    length: framing === "length" ? Number(headers.get("content-length")) : 0,
    keepsAlive: framing !== "close" && !isAmbiguous && saysKeepAlive(headers.get("connection"), isOld),
    keepAliveMs: keepAliveHint(headers.get("keep-alive")),
  };
}

const HEAD_END = "\r\n\r\n";

/** Parses a header or trailer line; the name is in lower case. */
function parseField(line: string): { readonly name: string; readonly value: string } {
  const colon = line.indexOf(":");
  const name = line.slice(0, colon);
  const value = line.slice(colon + 1);
  if (colon === -1 || !TOKEN.test(name) || !FIELD_VALUE.test(value))
    throw new AnswerFormatError("a header of the answer is malformed");
  return { name: name.toLowerCase(), value: trimBlanks(value) };
}

/** Only spaces and tabs: `trim` would remove more than HTTP allows. */
function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function addField(headers: Map<string, string>, line: string): void {
  const { name, value } = parseField(line);
  const before = headers.get(name);
  if (before === undefined) headers.set(name, value);
  else if (name === "content-length") throw new AnswerFormatError("the answer has more than one Content-Length");
  else if (!FIRST_VALUE_ONLY.has(name)) headers.set(name, `${before}, ${value}`);
}

function framingOf(headers: ReadonlyMap<string, string>, isOld: boolean): BodyFraming {
  const coding = headers.get("transfer-encoding");
  const length = headers.get("content-length");
  if (coding !== undefined) {
    if (length !== undefined) throw new AnswerFormatError("the answer has both Transfer-Encoding and Content-Length");
    if (isOld || coding.toLowerCase() !== "chunked")
      throw new AnswerFormatError("the answer has a Transfer-Encoding that is not chunked");
    return "chunked";
  }
  if (length === undefined) return "close";
  if (!DIGITS.test(length)) throw new AnswerFormatError("the answer's Content-Length is not a number");
  return "length";
}

function saysKeepAlive(connection: string | undefined, isOld: boolean): boolean {
  const options =
    connection === undefined
      ? []
      : connection
          .toLowerCase()
          .split(",")
          .map((option) => option.trim());
  return !options.includes("close") && (!isOld || options.includes("keep-alive"));
}

/** Parses `Keep-Alive: timeout=5`, and subtracts a little, because the next request takes time to arrive. */
function keepAliveHint(text: string | undefined): number | undefined {
  const seconds = text === undefined ? undefined : /(?:^|[ ,])timeout=(\d{1,6})/i.exec(text)?.[1];
  return seconds === undefined ? undefined : Math.max(Number(seconds) * 1000 - MARGIN_MS, Number(seconds) * 500);
}

const MARGIN_MS = 1000;

/** Maximum length of a size line with extensions, or of a trailer. */
const MAX_LINE = 4096;
/** Limit for all trailers together. */
const MAX_TRAILERS = 64 * 1024;
const SIZE_LINE = /^([0-9A-Fa-f]{1,8})(?:[\t ]*;[\t\x20-\x7e\x80-\xff]*)?$/;

const CR = 13;
const LF = 10;

/** Decodes a chunked body, in chunks of any size. Extensions and trailers are checked, not kept. */
class ChunkedBody {
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
