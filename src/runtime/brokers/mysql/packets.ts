/** The server and client of MySQL exchange packets: three bytes of length, a number, and at most 16 MB of payload. */
const HEADER_BYTES = 4;
/** A packet of this length is continued in the next one. */
const MAX_PAYLOAD_BYTES = 0xff_ff_ff;

/** Thrown for bytes that are no packet as the protocol wants it. The connection cannot be used any more. */
export class MysqlProtocolError extends Error {
  override readonly name = "MysqlProtocolError";
}

/** Assembles packets from the bytes of a connection. */
export class PacketReader {
  private readonly maxBytes: number;
  private readonly onPacket: (payload: Buffer) => void;
  private chunks: Buffer[] = [];
  private byteLength = 0;
  /** The number of bytes that must arrive before anything can be read. */
  private needed = HEADER_BYTES;
  /** The packets so far of a payload that is not complete yet. */
  private begun: Buffer[] = [];
  private begunBytes = 0;
  /** The number that the next packet has, and that an answer to the last one gets. */
  sequence = 0;

  /** A payload of more than `maxBytes` is refused. */
  constructor(maxBytes: number, onPacket: (payload: Buffer) => void) {
    this.maxBytes = maxBytes;
    this.onPacket = onPacket;
  }

  /** Whether bytes have come that are no complete packet yet. */
  get isInside(): boolean {
    return this.byteLength > 0 || this.begunBytes > 0;
  }

  /** Throws a `MysqlProtocolError` for bytes that are no packet. */
  push(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.byteLength += chunk.length;
    if (this.byteLength < this.needed) return;
    const bytes = this.chunks.length === 1 ? chunk : Buffer.concat(this.chunks);
    this.chunks = [];
    this.byteLength = 0;
    const rest = bytes.subarray(this.readAll(bytes));
    if (rest.length === 0) return;
    this.chunks.push(rest);
    this.byteLength = rest.length;
  }

  /** Returns where the first incomplete packet begins. */
  private readAll(bytes: Buffer): number {
    let at = 0;
    for (;;) {
      this.needed = HEADER_BYTES;
      if (bytes.length - at < HEADER_BYTES) return at;
      const length = bytes.readUIntLE(at, 3);
      if (length + this.begunBytes > this.maxBytes)
        throw new MysqlProtocolError(`the server sent a packet of more than ${this.maxBytes} bytes`);
      this.needed = HEADER_BYTES + length;
      if (bytes.length - at < this.needed) return at;
      if (bytes[at + 3] !== this.sequence) throw new MysqlProtocolError("the server's packets are out of order");
      this.sequence = (this.sequence + 1) & 0xff;
      at += this.needed;
      this.take(bytes.subarray(at - length, at));
    }
  }

  private take(payload: Buffer): void {
    if (payload.length < MAX_PAYLOAD_BYTES && this.begunBytes === 0) return this.onPacket(payload);
    this.begun.push(payload);
    this.begunBytes += payload.length;
    if (payload.length === MAX_PAYLOAD_BYTES) return;
    const whole = Buffer.concat(this.begun);
    this.begun = [];
    this.begunBytes = 0;
    this.onPacket(whole);
  }
}

/** The payload as packets, the first with this number. */
export function packetsOf(payload: Buffer, sequence: number): { readonly bytes: Buffer; readonly next: number } {
  const parts: Buffer[] = [];
  let next = sequence;
  for (let at = 0; ; at += MAX_PAYLOAD_BYTES) {
    const part = payload.subarray(at, at + MAX_PAYLOAD_BYTES);
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUIntLE(part.length, 0, 3);
    header[3] = next;
    next = (next + 1) & 0xff;
    parts.push(header, part);
    if (part.length < MAX_PAYLOAD_BYTES) return { bytes: Buffer.concat(parts), next };
  }
}

/** Reads the fields of one payload. Throws a `MysqlProtocolError` where it is too short. */
export class PayloadReader {
  private readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  uint(size: number): number {
    const from = this.skip(size);
    return this.bytes.readUIntLE(from, size);
  }

  take(size: number): Buffer {
    const from = this.skip(size);
    return this.bytes.subarray(from, this.at);
  }

  rest(): Buffer {
    return this.take(this.left);
  }

  /** A text that a zero byte ends; without one it is the rest. */
  terminated(): string {
    const end = this.bytes.indexOf(0, this.at);
    const text = this.bytes.toString("utf8", this.at, end < 0 ? this.bytes.length : end);
    this.at = end < 0 ? this.bytes.length : end + 1;
    return text;
  }

  /** A number with its length before it. */
  length(): number {
    const first = this.uint(1);
    if (first < 0xfb) return first;
    if (first === 0xfc) return this.uint(2);
    if (first === 0xfd) return this.uint(3);
    if (first !== 0xfe) throw new MysqlProtocolError("the server sent a malformed packet");
    const [low, high] = [this.uint(4), this.uint(4)];
    return high * 2 ** 32 + low;
  }

  /** A text with its length before it; undefined for NULL. */
  text(): string | undefined {
    const first = this.bytes[this.at];
    if (first === 0xfb) {
      this.at += 1;
      return undefined;
    }
    const from = this.skip(this.length());
    return this.bytes.toString("utf8", from, this.at);
  }

  private skip(size: number): number {
    const from = this.at;
    this.at += size;
    if (this.at > this.bytes.length) throw new MysqlProtocolError("the server sent a malformed packet");
    return from;
  }
}
