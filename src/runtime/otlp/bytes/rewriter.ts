import { putVarint, varintSize } from "./wire.js";
import { WireWriter } from "./writer.js";

/**
 * Transforms wire bytes in one pass from left to right.
 *
 * Nothing is copied until something changes. `copiedUpTo` is how much of the source has been copied to the output; the
 * source from there up to the current position is still to be copied unchanged. So the output position of anything not
 * yet copied is known. Code that changes something inside a message then closes that message and each one around it:
 * `closeMessage` corrects a length that has changed.
 */
export class Rewriter {
  readonly bytes: Uint8Array;
  private readonly room: number;
  private out: WireWriter | undefined;

  /** `room` is how much the bytes will probably grow. Most changes add a little. */
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

  /** The output position for this position of the source, which must not have been copied yet. */
  outputPosition(at: number): number {
    return this.out === undefined ? at : this.out.length + at - this.copiedUpTo;
  }

  /** Copies everything up to this position and returns the output. */
  copyTo(at: number): WireWriter {
    this.out ??= WireWriter.rewriting(this.bytes, this.room);
    const size = at - this.copiedUpTo;
    if (size > 0) this.out.takeSource(size);
    return this.out;
  }

  /** Skips the source up to this position; write a replacement to the output returned by `copyTo`. */
  skipTo(at: number): void {
    this.out!.skipSource(at - this.copiedUpTo);
  }

  /** Removes [from, to). */
  remove(from: number, to: number): void {
    this.copyTo(from);
    this.skipTo(to);
  }

  /** Removes all output since `outStart` and the source up to `at`. */
  removeSince(outStart: number, at: number): void {
    const out = this.copyTo(this.copiedUpTo + Math.max(0, outStart - (this.out?.length ?? 0)));
    out.length = outStart;
    this.skipTo(at);
  }

  /** Corrects the length of the message [start, end) whose body starts at `outStart` in the output. */
  closeMessage(start: number, end: number, outStart: number, lengthRoom: number): void {
    if (this.out === undefined) return;
    const size = this.outputPosition(end) - outStart;
    if (size === end - start) return;
    if (varintSize(size) === lengthRoom) putVarint(this.out.bytes, outStart - lengthRoom, size);
    else this.copyTo(end).fixLength(outStart, lengthRoom);
  }

  /** Returns the whole changed output. */
  finish(): Uint8Array {
    return this.copyTo(this.bytes.length).written();
  }
}
