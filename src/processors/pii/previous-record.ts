/**
 * Where the clean attributes of the record before are. Records of a program mostly have the same attributes in the same
 * order, and many of them the same values: one that is, byte for byte, what the record before has in its place needs no
 * second look.
 */
export class PreviousRecord {
  private readonly starts = new Int32Array(MAX_ATTRIBUTES);
  private readonly sizes = new Int32Array(MAX_ATTRIBUTES);
  private index = -1;

  /** Forgets the last record: it was another batch's. */
  startBatch(): void {
    this.sizes.fill(0);
    this.index = -1;
  }

  /** The attributes that follow are those of the next record. */
  startRecord(): void {
    this.index = -1;
  }

  /** The next attribute is [start, end): is it what the record before has there? */
  isSame(b: Uint8Array, start: number, end: number): boolean {
    const i = ++this.index;
    if (i >= MAX_ATTRIBUTES) return false;
    const size = end - start;
    if (this.sizes[i] !== size) return this.forget(i);
    let p = this.starts[i]! + size - 1;
    for (let q = end - 1; q >= start; p--, q--) if (b[p] !== b[q]) return this.forget(i);
    return true;
  }

  /** The attribute asked about last is clean. */
  rememberClean(start: number, end: number): void {
    if (this.index >= MAX_ATTRIBUTES) return;
    this.starts[this.index] = start;
    this.sizes[this.index] = end - start;
  }

  private forget(i: number): false {
    this.sizes[i] = 0;
    return false;
  }
}

/** Attributes of a record beyond these are looked at each time. */
const MAX_ATTRIBUTES = 64;
