/**
 * Where the clean attributes of the record before are. Records of a program mostly have the same attributes in the same
 * order, and many of them the same values: one that is, byte for byte, what the record before has in its place needs no
 * second look.
 */
export class RecordBefore {
  private readonly starts = new Int32Array(MOST);
  private readonly sizes = new Int32Array(MOST);
  private index = -1;

  /** Another batch. */
  begin(): void {
    this.sizes.fill(0);
    this.index = -1;
  }

  /** Another record. */
  next(): void {
    this.index = -1;
  }

  /** The next attribute is [start, end): is it what the record before has there? */
  isSame(b: Uint8Array, start: number, end: number): boolean {
    const i = ++this.index;
    if (i >= MOST) return false;
    const size = end - start;
    if (this.sizes[i] !== size) return this.forget(i);
    let p = this.starts[i]! + size - 1;
    for (let q = end - 1; q >= start; p--, q--) if (b[p] !== b[q]) return this.forget(i);
    return true;
  }

  /** The attribute asked about last is clean. */
  keep(start: number, end: number): void {
    if (this.index >= MOST) return;
    this.starts[this.index] = start;
    this.sizes[this.index] = end - start;
  }

  private forget(i: number): false {
    this.sizes[i] = 0;
    return false;
  }
}

/** Attributes of a record beyond these are looked at each time. */
const MOST = 64;
