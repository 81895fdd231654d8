import type { WireWriter } from "../bytes/writer.js";
import type { JsonCursor } from "./json-cursor.js";

/** Of longer lists the rest is not remembered. */
const MAX_PLACES = 32;

/**
 * What the attributes of the list before were written as, by their places in it: neighbouring records have most attributes in common,
 * and comparing with what came and copying what was written takes a third of the time of reading.
 */
export class RepeatedAttributes {
  private readonly jsonStarts = new Int32Array(MAX_PLACES);
  /** 0 where nothing is known. */
  private readonly jsonSizes = new Int32Array(MAX_PLACES);
  private readonly wireStarts = new Int32Array(MAX_PLACES);
  private readonly wireSizes = new Int32Array(MAX_PLACES);

  /** The attribute written at [wireStart, out.length) stood at [jsonStart, cursor.position). */
  remember(place: number, cursor: JsonCursor, jsonStart: number, out: WireWriter, wireStart: number): void {
    if (place >= MAX_PLACES) return;
    this.jsonStarts[place] = jsonStart;
    this.jsonSizes[place] = cursor.position - jsonStart;
    this.wireStarts[place] = wireStart;
    this.wireSizes[place] = out.length - wireStart;
  }

  /** What was written has been moved. */
  forget(): void {
    this.jsonSizes.fill(0);
  }

  /** Writes the attribute that begins at the cursor if the last one at this place was the same; else false, with nothing done. */
  copy(place: number, tag: number, cursor: JsonCursor, out: WireWriter): boolean {
    if (place >= MAX_PLACES) return false;
    const size = this.jsonSizes[place]!;
    const { position } = cursor;
    if (size === 0 || cursor.end - position < size) return false;
    if (!isSame(cursor.view, position, this.jsonStarts[place]!, size)) return false;
    const from = this.wireStarts[place]!;
    const wireSize = this.wireSizes[place]!;
    out.reserve(wireSize + WORD);
    const { bytes, view, length } = out;
    // The last word may be written too far: what follows is written over it.
    for (let i = 0; i < wireSize; i += WORD) view.setInt32(length + i, view.getInt32(from + i, true), true);
    bytes[length] = tag;
    out.length = length + wireSize;
    cursor.position = position + size;
    return true;
  }
}

/** Bytes compared and copied at once; no attribute is as short in JSON. */
const WORD = 4;

function isSame(view: DataView, a: number, b: number, size: number): boolean {
  const last = size - WORD;
  for (let i = 0; i < last; i += WORD) if (view.getInt32(a + i, true) !== view.getInt32(b + i, true)) return false;
  return view.getInt32(a + last, true) === view.getInt32(b + last, true);
}
