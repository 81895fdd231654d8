/**
 * Where the clean fields of the record before are. Records of a program mostly have the same attributes in the same order,
 * and many of them the same values: one that is, byte for byte, what the record before has in its place needs no second
 * look. The same holds for a body.
 */
export class PreviousRecord {
  private readonly starts = new Int32Array(MAX_ATTRIBUTES + 1);
  private readonly sizes = new Int32Array(MAX_ATTRIBUTES + 1);
  private view: DataView = new DataView(new ArrayBuffer(0));
  private index = -1;

  /** Forgets the last record: it was another batch's. */
  startBatch({ buffer, byteOffset, byteLength }: Uint8Array): void {
    this.view = new DataView(buffer, byteOffset, byteLength);
    this.sizes.fill(0);
    this.index = -1;
  }

  /** The attributes that follow are those of the next record. */
  startRecord(): void {
    this.index = -1;
  }

  /** The next attribute is [start, end): is it what the record before has there? */
  isSame(start: number, end: number): boolean {
    const i = ++this.index;
    return i < MAX_ATTRIBUTES && this.isSameAt(i, start, end);
  }

  /** The same of the body. */
  isSameBody(start: number, end: number): boolean {
    return this.isSameAt(BODY, start, end);
  }

  /** The attribute asked about last is clean. */
  rememberClean(start: number, end: number): void {
    if (this.index < MAX_ATTRIBUTES) this.remember(this.index, start, end);
  }

  rememberCleanBody(start: number, end: number): void {
    this.remember(BODY, start, end);
  }

  private remember(i: number, start: number, end: number): void {
    this.starts[i] = start;
    this.sizes[i] = end - start;
  }

  /** Compares four bytes at a time; the last ones first, since most values differ there. */
  private isSameAt(i: number, start: number, end: number): boolean {
    const size = end - start;
    if (this.sizes[i] !== size || size < 4) return this.forget(i);
    const { view } = this;
    const ahead = start - this.starts[i]!;
    for (let q = end - 4; q > start; q -= 4) if (view.getInt32(q) !== view.getInt32(q - ahead)) return this.forget(i);
    return view.getInt32(start) === view.getInt32(start - ahead) || this.forget(i);
  }

  private forget(i: number): false {
    this.sizes[i] = 0;
    return false;
  }
}

/** Attributes of a record beyond these are looked at each time. */
const MAX_ATTRIBUTES = 64;
/** The place of the body behind them. */
const BODY = MAX_ATTRIBUTES;
