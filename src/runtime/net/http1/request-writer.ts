import type { Socket } from "node:net";

/** The head of a request without its Content-Length: created once, used for many requests. */
export interface RequestHead {
  readonly method: string;
  /** Request line and header lines, each with its line end. */
  readonly text: string;
}

/** RFC 9110's token. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable characters, spaces and tabs; nothing that could end a line. */
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A path and query as `URL` gives them. */
const REQUEST_TARGET = /^[\x21-\x7e]+$/;

/** Headers about the body that the client sets itself; configured ones could only contradict them. */
const FRAMING = new Set(["content-length", "transfer-encoding"]);

/**
 * Creates a head. Of several headers with the same name, in any case, the last one is used. Throws a RangeError for
 * invalid values.
 */
export function requestHead(method: string, target: string, headers: Readonly<Record<string, string>>): RequestHead {
  if (!TOKEN.test(method)) throw new RangeError("expected a method such as POST");
  if (!REQUEST_TARGET.test(target)) throw new RangeError("expected a path without blanks");
  const lines = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!FRAMING.has(name.toLowerCase())) lines.set(name.toLowerCase(), headerLine(name, value));
  }
  return { method, text: `${method} ${target} HTTP/1.1\r\n${[...lines.values()].join("")}` };
}

/**
 * Formats a header line. Throws a RangeError for an invalid header, so that configured values cannot begin another
 * line.
 */
export function headerLine(name: string, value: string): string {
  if (!isHeader(name, value)) throw new RangeError(`the header ${JSON.stringify(name)} cannot be sent as it is`);
  return `${name}: ${value}\r\n`;
}

export function headerLines(headers: Readonly<Record<string, string>>): string {
  let lines = "";
  for (const name in headers) lines += headerLine(name, headers[name]!);
  return lines;
}

/**
 * True when a header can be sent: the name is a token, and the value has no control characters and nothing beyond
 * Latin-1.
 */
export function isHeader(name: string, value: string): boolean {
  return TOKEN.test(name) && FIELD_VALUE.test(value);
}

/** Up to this size, copying the body behind its head costs less than passing two buffers to the kernel. */
const WRITE_BUFFER_BYTES = 16 * 1024;
/** Size of the pieces in which a large body is written to the socket. */
const WRITE_BYTES = 1024 * 1024;

/** A request to write: its body in pieces, and their total length. */
interface WrittenRequest {
  readonly head: RequestHead;
  readonly body: readonly Uint8Array[];
  readonly byteLength: number;
}

/** Writes the requests of one connection, one after the other. */
export class RequestWriter {
  private readonly socket: Socket;
  private buffer: Buffer | undefined;
  /** The head at the beginning of the buffer. */
  private writtenHead: RequestHead | undefined;
  /** The rest of a large body; empty while the socket is writing the last piece, undefined afterwards. */
  private unwritten: Uint8Array[] | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  /** The previous request must be completely written and answered. */
  write({ head, body, byteLength }: WrittenRequest): void {
    const length = `Content-Length: ${byteLength}\r\n\r\n`;
    if (head.text.length + length.length + byteLength <= WRITE_BUFFER_BYTES) {
      this.socket.write(this.joined(head, length, body));
      return;
    }
    this.socket.cork();
    this.socket.write(head.text + length, "latin1");
    this.writeBody(body);
    this.socket.uncork();
  }

  /** True when the system has accepted all of a large body. Small ones are written in one piece. */
  get isTaken(): boolean {
    return this.unwritten === undefined;
  }

  /** Writes nothing more. */
  stop(): void {
    this.unwritten = undefined;
  }

  /**
   * Builds the whole request in the connection's buffer. The buffer is free, because the previous request has been
   * answered.
   */
  private joined(head: RequestHead, length: string, body: readonly Uint8Array[]): Buffer {
    this.buffer ??= Buffer.allocUnsafeSlow(WRITE_BUFFER_BYTES);
    const bytes = this.buffer;
    if (head !== this.writtenHead) bytes.write(head.text, 0, "latin1");
    this.writtenHead = head;
    let at = head.text.length;
    at += bytes.write(length, at, "latin1");
    for (const piece of body) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes.subarray(0, at);
  }

  /** Writes a piece of the body, and the next one when the socket has accepted it. */
  private writeBody(body: readonly Uint8Array[]): void {
    const rest = [...body];
    this.unwritten = rest;
    let room = WRITE_BYTES;
    for (let piece = rest.shift(); piece !== undefined; piece = rest.shift()) {
      if (piece.length > room) rest.unshift(piece.subarray(room));
      const now = piece.length > room ? piece.subarray(0, room) : piece;
      room -= now.length;
      const endsPiece = room === 0 || rest.length === 0;
      this.socket.write(now, endsPiece ? this.onTaken : undefined);
      if (endsPiece) return;
    }
    this.unwritten = undefined;
  }

  private readonly onTaken = (error?: Error | null): void => {
    if (error || this.unwritten === undefined) return;
    if (this.unwritten.length > 0) this.writeBody(this.unwritten);
    else this.unwritten = undefined;
  };
}
