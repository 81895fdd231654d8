import { putVarint, varintSize } from "./wire.js";
import { WireWriter } from "./writer.js";

/**
 * Wire bytes on their way into changed ones, in one pass from left to right.
 *
 * Nothing is copied until something changes. `copiedUpTo` is how much of the source has gone to the output; what follows up to
 * the present position is still to be copied as it is. So the place in the output of any position not yet copied is known.
 * Whoever changes something inside a message closes that message afterwards, and then each one around it: `closeMessage` mends
 * a length that is not right any more.
 */
export class Rewriter {
  readonly bytes: Uint8Array;
  private readonly room: number;
  private out: WireWriter | undefined;

  /** `room`: by how much the bytes probably grow. Most changes add a little. */
  constructor(bytes: Uint8Array, room: number = (bytes.length >> 2) + 512) {
    this.bytes = bytes;
    this.room = room;
  }

  get changed(): boolean {
    return this.out !== undefined;
  }

  private get copiedUpTo(): number {
    return this.out === undefined ? 0 : this.bytes.length - this.out.sourceRemaining;
  }

  /** Where in the output this position of the source is, as long as it is not yet copied. */
  outputPosition(at: number): number {
    return this.out === undefined ? at : this.out.length + at - this.copiedUpTo;
  }

  /** The output, with everything up to this position in it. */
  copyTo(at: number): WireWriter {
    this.out ??= WireWriter.rewriting(this.bytes, this.room);
    const size = at - this.copiedUpTo;
    if (size > 0) this.out.takeSource(size);
    return this.out;
  }

  /** Leaves the source up to this position out; what stands in its place, if anything, goes to the output `copyTo` gave. */
  skipTo(at: number): void {
    this.out!.skipSource(at - this.copiedUpTo);
  }

  /** Takes [from, to) out. */
  remove(from: number, to: number): void {
    this.copyTo(from);
    this.skipTo(to);
  }

  /** Takes everything out that has become of the source since `outStart` of the output, and the source up to `at`. */
  removeSince(outStart: number, at: number): void {
    const out = this.copyTo(this.copiedUpTo + Math.max(0, outStart - (this.out?.length ?? 0)));
    out.length = outStart;
    this.skipTo(at);
  }

  /** Mends the length of the message [start, end) whose body began at `outStart` of the output. */
  closeMessage(start: number, end: number, outStart: number, lengthRoom: number): void {
    if (this.out === undefined) return;
    const size = this.outputPosition(end) - outStart;
    if (size === end - start) return;
    if (varintSize(size) === lengthRoom) putVarint(this.out.bytes, outStart - lengthRoom, size);
    else this.copyTo(end).fixLength(outStart, lengthRoom);
  }

  /** All of it, changed. */
  finish(): Uint8Array {
    return this.copyTo(this.bytes.length).written();
  }
}
