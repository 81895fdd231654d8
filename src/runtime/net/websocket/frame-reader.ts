/**
 * Reads the frames of a WebSocket server (RFC 6455, section 5) from a stream of bytes.
 *
 * The server is not trusted. A message is refused as soon as a header announces more than `maxMessageBytes`, before any
 * of it is kept. Payloads are copied into one growing buffer, so that a message in millions of fragments takes no more
 * memory than its bytes. Everything the RFC forbids ends the connection: no frame is guessed at.
 */

/** The server broke the protocol or a limit; `closeCode` is what a close frame says about it. */
export class WebSocketError extends Error {
  override readonly name = "WebSocketError";
  readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super(message);
    this.closeCode = closeCode;
  }
}

export const CLOSE = { normal: 1000, protocol: 1002, unsupported: 1003, noStatus: 1005, tooBig: 1009 } as const;
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The functions that a reader calls. Payloads of control frames share memory with the reader: use them at once. */
interface FrameHandlers {
  onMessage(message: Buffer): void;
  onPing(payload: Buffer): void;
  onClose(code: number, reason: string): void;
}

interface WebSocketFrame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly length: number;
}

const MAX_HEADER_BYTES = 10;
const MAX_CONTROL_BYTES = 125;
const FINAL = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;

export class FrameReader {
  private readonly maxMessageBytes: number;
  private readonly handlers: FrameHandlers;
  private readonly header = Buffer.alloc(MAX_HEADER_BYTES);
  private headerLength = 0;
  private frame: WebSocketFrame | undefined;
  private readonly control = new Payload();
  private readonly message = new Payload();
  private isInMessage = false;
  private isClosed = false;

  constructor(maxMessageBytes: number, handlers: FrameHandlers) {
    this.maxMessageBytes = maxMessageBytes;
    this.handlers = handlers;
  }

  /** Takes the next bytes of the stream. Throws a `WebSocketError` for what is forbidden; do not call it again then. */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.isClosed) {
      if (this.frame === undefined) {
        this.header[this.headerLength++] = chunk[at++]!;
        if (this.headerLength === 2) checkBits(this.header[0]!, this.header[1]!);
        if (this.headerLength < headerSize(this.header, this.headerLength)) continue;
        this.frame = this.begin();
        this.headerLength = 0;
      }
      at = this.readPayload(this.frame, chunk, at);
    }
  }

  private begin(): WebSocketFrame {
    const opcode = this.header[0]! & 15;
    const isFinal = (this.header[0]! & FINAL) !== 0;
    const length = payloadLength(this.header);
    if (opcode >= OPCODE.close) checkControl(opcode, isFinal, length);
    else this.checkData(opcode, length);
    (opcode >= OPCODE.close ? this.control : this.message).expect(length);
    return { opcode, isFinal, length };
  }

  private checkData(opcode: number, length: number): void {
    if (opcode > OPCODE.binary) throw protocolError(`sent a frame with opcode ${opcode}, which does not exist`);
    if ((opcode === OPCODE.continuation) !== this.isInMessage)
      throw protocolError(this.isInMessage ? "began a message inside another" : "continued a message it had not begun");
    if (opcode === OPCODE.text) throw new WebSocketError(CLOSE.unsupported, "the server sent text, not binary data");
    if (this.message.length + length > this.maxMessageBytes)
      throw new WebSocketError(
        CLOSE.tooBig,
        `the server announced a message of more than ${this.maxMessageBytes} bytes`,
      );
    this.isInMessage = true;
  }

  private readPayload(frame: WebSocketFrame, chunk: Buffer, at: number): number {
    const payload = frame.opcode >= OPCODE.close ? this.control : this.message;
    const end = Math.min(chunk.length, at + payload.missing);
    payload.append(chunk, at, end);
    if (payload.missing === 0) {
      this.frame = undefined;
      this.finish(frame);
    }
    return end;
  }

  private finish({ opcode, isFinal }: WebSocketFrame): void {
    if (opcode === OPCODE.ping) return this.handlers.onPing(this.control.take());
    if (opcode === OPCODE.pong) return void this.control.take();
    if (opcode === OPCODE.close) return this.finishClose(this.control.take());
    if (!isFinal) return;
    this.isInMessage = false;
    this.handlers.onMessage(this.message.take());
  }

  private finishClose(payload: Buffer): void {
    if (payload.length === 1) throw protocolError("sent a close frame with half a code");
    this.isClosed = true;
    const code = payload.length === 0 ? CLOSE.noStatus : payload.readUInt16BE(0);
    this.handlers.onClose(code, payload.subarray(2).toString("utf8"));
  }
}

function checkBits(first: number, second: number): void {
  if ((first & RESERVED) !== 0) throw protocolError("set reserved bits, although no extension was agreed on");
  if ((second & MASKED) !== 0) throw protocolError("masked a frame");
}

/** The size of a header, as far as its bytes tell. */
function headerSize(header: Buffer, known: number): number {
  if (known < 2) return 2;
  const length = header[1]! & 127;
  return length === 127 ? 10 : length === 126 ? 4 : 2;
}

function payloadLength(header: Buffer): number {
  const short = header[1]! & 127;
  if (short < 126) return short;
  const long = short === 126 ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2));
  if (long < (short === 126 ? 126 : 0x10000)) throw protocolError("wrote a length in more bytes than it needs");
  return long;
}

function checkControl(opcode: number, isFinal: boolean, length: number): void {
  if (opcode > OPCODE.pong) throw protocolError(`sent a frame with opcode ${opcode}, which does not exist`);
  if (!isFinal) throw protocolError("sent a control frame in fragments");
  if (length > MAX_CONTROL_BYTES) throw protocolError(`sent a control frame of ${length} bytes`);
}

function protocolError(what: string): WebSocketError {
  return new WebSocketError(CLOSE.protocol, `the server ${what}`);
}

const FIRST_BYTES = 1024;

/** The payload of one or more frames. Grows with the bytes that have come, not with those that are announced. */
class Payload {
  private bytes = Buffer.alloc(0);
  length = 0;
  missing = 0;

  expect(bytes: number): void {
    this.missing = bytes;
  }

  append(chunk: Buffer, from: number, to: number): void {
    const size = to - from;
    if (this.length + size > this.bytes.length) {
      const grown = Buffer.alloc(Math.max(FIRST_BYTES, this.length + size, this.bytes.length * 2));
      this.bytes.copy(grown, 0, 0, this.length);
      this.bytes = grown;
    }
    chunk.copy(this.bytes, this.length, from, to);
    this.length += size;
    this.missing -= size;
  }

  /** The whole payload; the next one begins in memory of its own. */
  take(): Buffer {
    const taken = this.bytes.subarray(0, this.length);
    this.bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }
}
