import { type Origin, type Outcome, possiblyRejected, type Setback } from "#contract";
import { Refusal } from "#contract/errors";
import { Batch } from "#otlp";
import { SIGNALS } from "#otlp/signals";

/**
 * The messages between two workers. A frame is a length (4 bytes, little-endian, without itself), a type, and a body:
 *
 *     hello     the agent's key and the number of the worker that connects; always the first frame
 *     place     number and name of a place; comes before the first data for it
 *     data      id, place, signal, number of records, origin and setback as JSON, and the bytes of the batch
 *     accepted  the ids of data that was accepted as a whole
 *     outcome   id and any other outcome, as JSON
 *     leaving   nothing: the worker that sends it ends in order
 */
export const FRAMES = { hello: 1, place: 2, data: 3, accepted: 4, outcome: 5, leaving: 6 } as const;

/** A client that has not sent its hello may not cause allocations of memory. */
const MAX_HELLO_BYTES = 64;
const MAX_FRAME_BYTES = 2 ** 31 - 1;
const LENGTH_BYTES = 4;
const MAGIC = 0x31584c53; // "SLX1"

/** The other side does not follow the protocol. The connection is closed. */
export class BadFrameError extends Error {
  override readonly name = "BadFrameError";
}

/** Cuts a stream of bytes into frames. `onFrame` gets each without its length. */
export class WorkerFrameReader {
  /** The longest frame that is accepted at the moment. */
  maxBytes = MAX_HELLO_BYTES;
  private readonly onFrame: (frame: Buffer) => void;
  private readonly length = Buffer.alloc(LENGTH_BYTES);
  private lengthFilled = 0;
  private frame: Buffer | undefined;
  private filled = 0;

  constructor(onFrame: (frame: Buffer) => void) {
    this.onFrame = onFrame;
  }

  acceptAnyLength(): void {
    this.maxBytes = MAX_FRAME_BYTES;
  }

  /** Throws a `BadFrameError` on an impossible length. */
  push(chunk: Buffer): void {
    for (let p = 0; p < chunk.length; ) {
      if (this.frame === undefined) {
        const copied = chunk.copy(this.length, this.lengthFilled, p);
        p += copied;
        this.lengthFilled += copied;
        if (this.lengthFilled < LENGTH_BYTES) return;
        this.lengthFilled = 0;
        const size = this.length.readUInt32LE(0);
        if (size === 0 || size > this.maxBytes) throw new BadFrameError(`a frame of ${size} bytes`);
        if (chunk.length - p >= size) {
          this.onFrame(chunk.subarray(p, p + size));
          p += size;
          continue;
        }
        this.frame = Buffer.allocUnsafeSlow(size);
        this.filled = 0;
      }
      const copied = chunk.copy(this.frame, this.filled, p);
      p += copied;
      this.filled += copied;
      if (this.filled < this.frame.length) return;
      const { frame } = this;
      this.frame = undefined;
      this.onFrame(frame);
    }
  }
}

function newFrame(type: number, bodyBytes: number, payloadBytes = 0): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + 1 + bodyBytes);
  frame.writeUInt32LE(1 + bodyBytes + payloadBytes, 0);
  frame[LENGTH_BYTES] = type;
  return frame;
}

const BODY = LENGTH_BYTES + 1;

export function helloFrame(key: Buffer, worker: number): Buffer {
  const frame = newFrame(FRAMES.hello, 8 + key.length);
  frame.writeUInt32LE(MAGIC, BODY);
  frame.writeUInt32LE(worker, BODY + 4);
  key.copy(frame, BODY + 8);
  return frame;
}

/** Throws if it is no hello. The caller must compare the key. */
export function readHello(frame: Buffer): { readonly worker: number; readonly key: Buffer } {
  if (frame[0] !== FRAMES.hello || frame.length < 9 || frame.readUInt32LE(1) !== MAGIC)
    throw new BadFrameError("the first frame is no hello");
  return { worker: frame.readUInt32LE(5), key: frame.subarray(9) };
}

export function placeFrame(number: number, name: string): Buffer {
  const frame = newFrame(FRAMES.place, 2 + Buffer.byteLength(name));
  frame.writeUInt16LE(number, BODY);
  frame.write(name, BODY + 2);
  return frame;
}

export function readPlace(frame: Buffer): { readonly number: number; readonly name: string } {
  return { number: frame.readUInt16LE(1), name: frame.toString("utf8", 3) };
}

export function leavingFrame(): Buffer {
  return newFrame(FRAMES.leaving, 0);
}

/** The facts that travel with a batch. */
interface Travelling {
  readonly origin: Origin;
  readonly setback?: Setback | undefined;
}

/** The frame up to the bytes of the batch, which follow it. */
export function dataFrame(id: number, place: number, batch: Batch, travelling: Travelling): Buffer {
  const head = Buffer.from(JSON.stringify(travelling, writeMaps));
  const frame = newFrame(FRAMES.data, DATA_BYTES + head.length, batch.byteLength);
  frame.writeUInt32LE(id, BODY);
  frame.writeUInt16LE(place, BODY + 4);
  frame[BODY + 6] = SIGNALS.indexOf(batch.signal);
  frame.writeUInt32LE(batch.count, BODY + 7);
  frame.writeUInt32LE(head.length, BODY + 11);
  head.copy(frame, BODY + DATA_BYTES);
  return frame;
}

const DATA_BYTES = 15;

/** Metadata is a map; a position and a watch mean nothing in another process. */
function writeMaps(name: string, value: unknown): unknown {
  if (name === "position" || name === "watch") return undefined;
  return value instanceof Map ? { map: [...value] } : value;
}

/** Reads data frames of one connection. Most of them come from the same origin, which is read once. */
export class DataReader {
  private lastHead: Buffer = Buffer.alloc(0);
  private last: Travelling = { origin: { receiver: "", transport: "" } };
  id = 0;
  place = 0;

  /** Sets `id` and `place`. */
  read(frame: Buffer): Travelling & { readonly batch: Batch } {
    const headBytes = frame.length < 1 + DATA_BYTES ? -1 : frame.readUInt32LE(12);
    const signal = SIGNALS[frame[7]!];
    const payloadAt = 1 + DATA_BYTES + headBytes;
    if (headBytes < 0 || payloadAt > frame.length || signal === undefined) throw new BadFrameError("data is cut off");
    this.id = frame.readUInt32LE(1);
    this.place = frame.readUInt16LE(5);
    const { origin, setback } = this.travelling(frame.subarray(1 + DATA_BYTES, payloadAt));
    const batch = Batch.trusted(signal, ownBytes(frame.subarray(payloadAt)), frame.readUInt32LE(8));
    return { origin, setback, batch };
  }

  private travelling(head: Buffer): Travelling {
    if (head.equals(this.lastHead)) return this.last;
    this.last = JSON.parse(head.toString("utf8"), readMaps) as Travelling;
    this.lastHead = Buffer.from(head);
    return this.last;
  }
}

function readMaps(_name: string, value: unknown): unknown {
  const entries = (value as { readonly map?: unknown } | null)?.map;
  return Array.isArray(entries) ? new Map(entries as [unknown, unknown][]) : value;
}

/** A small batch must not keep everything in memory that was read together with it. */
function ownBytes(payload: Buffer): Uint8Array {
  return payload.length * 2 >= payload.buffer.byteLength ? payload : Uint8Array.prototype.slice.call(payload);
}

export function acceptedFrame(ids: readonly number[]): Buffer {
  const frame = newFrame(FRAMES.accepted, 4 * ids.length);
  for (const [i, id] of ids.entries()) frame.writeUInt32LE(id, BODY + 4 * i);
  return frame;
}

export function* readAccepted(frame: Buffer): Generator<number> {
  for (let at = 1; at + 4 <= frame.length; at += 4) yield frame.readUInt32LE(at);
}

/** An outcome as it is sent. The cause of a refusal is only in the log of the worker that refused. */
type SentOutcome =
  | { readonly rejected: number; readonly message: string; readonly rejectedOfAll: number }
  | {
      readonly kind: Refusal["kind"];
      readonly message: string;
      readonly options: ConstructorParameters<typeof Refusal>[2];
    };

export function outcomeFrame(id: number, outcome: Outcome): Buffer {
  const text = Buffer.from(JSON.stringify(sentOutcome(outcome)));
  const frame = newFrame(FRAMES.outcome, 4 + text.length);
  frame.writeUInt32LE(id, BODY);
  text.copy(frame, BODY + 4);
  return frame;
}

function sentOutcome(outcome: Outcome): SentOutcome {
  if (outcome.ok) {
    const { rejected, message } = outcome;
    return { rejected, message, rejectedOfAll: possiblyRejected(outcome) - rejected };
  }
  const { kind, message, code, retryAfterMs, category, status, blame, failedIn, exporter } = outcome.refusal;
  const given = { code, retryAfterMs, category, status, blame, failedIn, exporter };
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { kind, message, options };
}

export function readOutcome(frame: Buffer): { readonly id: number; readonly outcome: Outcome } {
  if (frame.length < 5) throw new BadFrameError("an outcome is cut off");
  const sent = JSON.parse(frame.toString("utf8", 5)) as SentOutcome;
  const outcome: Outcome =
    "kind" in sent ? { ok: false, refusal: new Refusal(sent.kind, sent.message, sent.options) } : { ok: true, ...sent };
  return { id: frame.readUInt32LE(1), outcome };
}
