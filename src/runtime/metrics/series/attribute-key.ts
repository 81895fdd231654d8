import { after, bodyEnd, fieldAt, message, nextBody, varint } from "#otlp/bytes";
import { KEY_TAG, VALUE_TAG } from "#otlp/tags";

/**
 * Attributes as the key of a series: equal attributes give equal bytes, whatever order they arrive in. Adjacent
 * attributes in the order of their names, as most SDKs send them, are used as the key without copying.
 *
 * Usage: call `begin`, then `add` for every attribute field, then `finish`; after that `bytes`, `start` and `end` are
 * the key until the next `begin`. A caller that can recognise the attributes by their original bytes calls `run` first
 * and may not need `finish`.
 */
export class AttributeKey {
  bytes: Uint8Array = EMPTY;
  start = 0;
  end = 0;
  private source: Uint8Array = EMPTY;
  private count = 0;
  private isAdjacent = true;
  /** For each attribute: its field, the KeyValue in the field, and the name in the KeyValue. */
  private readonly fieldStarts: number[] = [];
  private readonly bodyStarts: number[] = [];
  private readonly fieldEnds: number[] = [];
  private readonly nameStarts: number[] = [];
  private readonly nameEnds: number[] = [];
  private scratch = new Uint8Array(256);

  begin(b: Uint8Array): void {
    this.source = b;
    this.count = 0;
    this.isAdjacent = true;
  }

  /** Adds the attribute whose field, including the tag, is [at, end) and whose KeyValue starts at `body`. */
  add(at: number, body: number, end: number): void {
    const i = this.count++;
    this.fieldStarts[i] = at;
    this.bodyStarts[i] = body;
    this.fieldEnds[i] = end;
    if (i > 0 && this.fieldEnds[i - 1] !== at) this.isAdjacent = false;
  }

  /** Adds all attributes of the message [start, end): its fields with this tag. */
  addAll(start: number, end: number, attributesTag: number): void {
    const { source } = this;
    for (let p = start; (p = nextBody(source, p, end, attributesTag)) >= 0; p = bodyEnd) this.add(fieldAt, p, bodyEnd);
  }

  /**
   * Sets `bytes`, `start` and `end` to all attributes in their original order; returns false if they are not adjacent.
   */
  run(): boolean {
    const { count } = this;
    this.bytes = this.source;
    this.start = count === 0 ? 0 : this.fieldStarts[0]!;
    this.end = count === 0 ? 0 : this.fieldEnds[count - 1]!;
    return this.isAdjacent;
  }

  finish(): void {
    let isInOrder = this.run();
    for (let i = 0; i < this.count; i++) {
      this.findName(i);
      if (i > 0 && isInOrder) isInOrder = this.compare(i - 1, i) <= 0;
    }
    if (!isInOrder) this.copyInOrder();
  }

  private findName(i: number): void {
    const b = this.source;
    const body = this.bodyStarts[i]!;
    if (b[body] !== KEY_TAG) {
      [this.nameStarts[i], this.nameEnds[i]] = message(b, body, this.fieldEnds[i]!, KEY_TAG);
      return;
    }
    let nameStart = body + 2;
    let size = b[body + 1]!;
    if (size > 127) {
      size = varint(b, body + 1);
      nameStart = after;
    }
    this.nameStarts[i] = nameStart;
    this.nameEnds[i] = nameStart + size;
  }

  private copyInOrder(): void {
    const order = Array.from({ length: this.count }, (_, i) => i).sort((a, b) => this.compare(a, b) || a - b);
    let size = 0;
    for (const i of order) size += this.fieldEnds[i]! - this.fieldStarts[i]!;
    if (size > this.scratch.length) this.scratch = new Uint8Array(size * 2);
    let at = 0;
    for (const i of order) {
      for (let p = this.fieldStarts[i]!; p < this.fieldEnds[i]!; p++) this.scratch[at++] = this.source[p]!;
    }
    this.bytes = this.scratch;
    this.start = 0;
    this.end = size;
  }

  /** Compares the bytes of the names. */
  private compare(i: number, j: number): number {
    const b = this.source;
    const iStart = this.nameStarts[i]!;
    const jStart = this.nameStarts[j]!;
    const iSize = this.nameEnds[i]! - iStart;
    const jSize = this.nameEnds[j]! - jStart;
    const size = Math.min(iSize, jSize);
    for (let k = 0; k < size; k++) {
      const difference = b[iStart + k]! - b[jStart + k]!;
      if (difference !== 0) return difference;
    }
    return iSize - jSize;
  }
}

const EMPTY = new Uint8Array(0);

/**
 * Calls `visit` with the name and the AnyValue of each attribute in a run of fields, such as the key of an
 * `AttributeKey`.
 */
export function eachAttribute(
  b: Uint8Array,
  start: number,
  end: number,
  visit: (nameStart: number, nameEnd: number, valueStart: number, valueEnd: number) => void,
): void {
  for (let p = start; p < end; ) {
    varint(b, p); // the tag
    const size = varint(b, after);
    const body = after;
    p = body + size;
    const [nameStart, nameEnd] = message(b, body, p, KEY_TAG);
    let valueStart = p;
    let valueEnd = p;
    for (let q = body; (q = nextBody(b, q, p, VALUE_TAG)) >= 0; q = bodyEnd) {
      valueStart = q;
      valueEnd = bodyEnd;
    }
    visit(nameStart, nameEnd, valueStart, valueEnd);
  }
}
