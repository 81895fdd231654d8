import { WireWriter } from "./writer.js";

/**
 * Wire bytes on their way into changed ones, in one pass from left to right.
 *
 * Nothing is copied until something changes. `done` is how much of the source has gone to `out`; what follows up to the
 * present position is still to be copied as it is. So the place in the output of any position not yet copied is known.
 * Whoever changes something inside a message closes that message afterwards, and then each one around it: `close` mends
 * a length that is not right any more.
 */
export class Rewriter {
  readonly bytes: Uint8Array;
  private out: WireWriter | undefined;
  private done = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get changed(): boolean {
    return this.out !== undefined;
  }

  /** Where in the output this position of the source is, as long as it is not yet copied. */
  position(at: number): number {
    return this.out === undefined ? at : this.out.length + at - this.done;
  }

  /** The output, with everything up to this position in it. */
  copyTo(at: number): WireWriter {
    this.out ??= new WireWriter(this.bytes.length + (this.bytes.length >> 3) + 512);
    if (at > this.done) {
      this.out.copy(this.bytes, this.done, at);
      this.done = at;
    }
    return this.out;
  }

  /** Leaves the source up to this position out; what stands in its place, if anything, goes to the output `copyTo` gave. */
  skipTo(at: number): void {
    this.done = at;
  }

  /** Takes [from, to) out. */
  remove(from: number, to: number): void {
    this.copyTo(from);
    this.done = to;
  }

  /** Mends the length of the message [start, end) whose body began at `outStart` of the output. */
  close(start: number, end: number, outStart: number, lengthRoom: number): void {
    if (this.out === undefined || this.position(end) - outStart === end - start) return;
    this.copyTo(end).fixLength(outStart, lengthRoom);
  }

  /** All of it, changed. */
  finish(): Uint8Array {
    return this.copyTo(this.bytes.length).written();
  }
}
