import type { WireWriter } from "../bytes/writer.js";
import type { JsonCursor } from "./json-cursor.js";

/** Further attributes of longer lists are not remembered. */
const MAX_PLACES = 32;

/**
 * The encoded attributes of the previous list, by their places in it. Neighbouring records have most attributes in
 * common, and comparing and copying take a third of the time of reading.
 */
export class RepeatedAttributes {
  private readonly jsonStarts = new Int32Array(MAX_PLACES);
  /** 0 if nothing is known. */
  private readonly jsonSizes = new Int32Array(MAX_PLACES);
  private readonly wireStarts = new Int32Array(MAX_PLACES);
  private readonly wireSizes = new Int32Array(MAX_PLACES);

  /** Remembers that the attribute at [jsonStart, cursor.position) was written as [wireStart, out.length). */
  remember(place: number, cursor: JsonCursor, jsonStart: number, out: WireWriter, wireStart: number): void {
    if (place >= MAX_PLACES) return;
    this.jsonStarts[place] = jsonStart;
    this.jsonSizes[place] = cursor.position - jsonStart;
    this.wireStarts[place] = wireStart;
    this.wireSizes[place] = out.length - wireStart;
  }

  /** Must be called when the written data was moved. */
  forget(): void {
    this.jsonSizes.fill(0);
  }

  /**
   * Writes the attribute at the cursor if the last one at this place was the same. Otherwise does nothing and returns
   * false.
   */
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
    // The last word may exceed the attribute; the data that follows overwrites it.
    for (let i = 0; i < wireSize; i += WORD) view.setInt32(length + i, view.getInt32(from + i, true), true);
    bytes[length] = tag;
    out.length = length + wireSize;
    cursor.position = position + size;
    return true;
  }
}

/** The number of bytes compared and copied at once; every attribute is longer than this in JSON. */
const WORD = 4;

function isSame(view: DataView, a: number, b: number, size: number): boolean {
  const last = size - WORD;
  for (let i = 0; i < last; i += WORD) if (view.getInt32(a + i, true) !== view.getInt32(b + i, true)) return false;
  return view.getInt32(a + last, true) === view.getInt32(b + last, true);
}
