import { isAscii, isUtf8 } from "node:buffer";
import { withoutEnd } from "#text";
import type { Pattern } from "#text/patterns";
import { turns } from "#work";
import type { TextEncoding } from "./text-encoding.js";

/** Receives the records of a window in order. The bytes are valid only during the call. */
export interface RecordSink {
  /**
   * The text is valid UTF-8. `offset` is where the record starts in the file, `number` which record of the file it is,
   * from 1, counting empty ones too.
   */
  takeText(bytes: Buffer, from: number, to: number, offset: number, number: number): void;
  /** Receives bytes that are not text. */
  takeBytes(bytes: Buffer, offset: number, number: number): void;
}

/** Where a window starts in its file, and whether that is inside a record whose rest is skipped. */
export interface CutState {
  readonly offset: number;
  isSkipping: boolean;
  /** The number of records found, including empty ones. */
  records: number;
  /** Set when the turn of the event loop was over before the end of the window: cut again in another turn. */
  hasMore?: boolean;
}

export interface CutterSettings {
  readonly encoding: TextEncoding;
  readonly maxLogSize: number;
  /** Whether the rest of a record that is too long is dropped; otherwise it becomes the next record. */
  readonly truncates: boolean;
  readonly trimsLeading: boolean;
  readonly trimsTrailing: boolean;
  readonly multiline?: { readonly pattern: Pattern; readonly isStart: boolean; readonly omitsPattern: boolean };
}

/**
 * Cuts a window of a file into records. Only `isSkipping` is kept between windows: an incomplete record is left and
 * read again with the data that follows. So the result does not depend on how the file was written, except for `isEnd`,
 * which makes the remaining data a record.
 */
export abstract class RecordCutter {
  protected readonly settings: CutterSettings;
  private isValid = true;
  /** Work since the clock was last looked at. */
  private units = 0;

  constructor(settings: CutterSettings) {
    this.settings = settings;
  }

  /**
   * Returns how many bytes of the window are finished with. At least one byte is, if the window has `minWindow` bytes
   * or more.
   */
  abstract cut(window: Buffer, state: CutState, isEnd: boolean, sink: RecordSink): number;

  /** The size of the longest record plus a split character and the end of the line. */
  get minWindow(): number {
    return this.settings.maxLogSize + 8;
  }

  /** Validates the bytes once, so records need not be validated one by one. */
  protected checkText(bytes: Buffer): void {
    this.isValid = this.settings.encoding.isUtf8 && isUtf8(bytes);
  }

  /** Called after each record of this many bytes. Whether the rest of the window has to wait for another turn. */
  protected mustStop(bytes: number, state: CutState): boolean {
    this.units += UNITS_PER_RECORD + bytes;
    if (this.units < UNITS_PER_LOOK) return false;
    this.units = 0;
    state.hasMore = turns.isOver;
    return state.hasMore;
  }

  /** Emits the record [from, to), in pieces if it is too long. */
  protected emit(bytes: Buffer, from: number, to: number, state: CutState, sink: RecordSink): void {
    const { maxLogSize, truncates } = this.settings;
    if (to - from <= maxLogSize) return this.emitPiece(bytes, from, to, state, sink);
    for (let at = from; at < to; ) {
      const end = to - at <= maxLogSize ? to : this.settings.encoding.boundary(bytes, at, at + maxLogSize);
      this.emitPiece(bytes, at, end, state, sink);
      if (truncates) return;
      at = end;
    }
  }

  /**
   * Emits the remaining data of a window: all of it at the end of the file, otherwise only a piece that exceeds the
   * size limit.
   */
  protected emitRest(bytes: Buffer, from: number, state: CutState, isEnd: boolean, sink: RecordSink): number {
    const { maxLogSize, truncates, encoding } = this.settings;
    const { length } = bytes;
    if (state.isSkipping) return length;
    if (length - from > maxLogSize) {
      const end = encoding.boundary(bytes, from, from + maxLogSize);
      this.checkText(bytes.subarray(from, end));
      this.emitPiece(bytes, from, end, state, sink);
      state.isSkipping = truncates;
      return end;
    }
    if (!isEnd || from === length) return from;
    this.checkText(bytes.subarray(from, length));
    this.emitPiece(bytes, from, length, state, sink);
    return length;
  }

  private emitPiece(bytes: Buffer, from: number, to: number, state: CutState, sink: RecordSink): void {
    const { encoding, trimsLeading, trimsTrailing } = this.settings;
    const offset = state.offset + from;
    state.records++;
    if (encoding.isUtf8) {
      // A file truncated under a writer that does not append starts with a hole, which reads as NULs.
      while (from < to && bytes[from] === 0) from++;
      if (trimsLeading) while (from < to && isSpace(bytes[from]!)) from++;
      if (trimsTrailing) while (to > from && isSpace(bytes[to - 1]!)) to--;
      if (from === to) return;
      if (this.isValid || isUtf8(bytes.subarray(from, to)))
        return sink.takeText(bytes, from, to, offset, state.records);
      if (encoding.keepsInvalid) return sink.takeBytes(bytes.subarray(from, to), offset, state.records);
    }
    let text = encoding.decode(bytes.subarray(from, to));
    if (trimsLeading) text = text.replace(/^[\0 \t\r\n]+/, "");
    if (trimsTrailing) text = withoutEnd(text, " \t\r\n");
    if (text === "") return;
    const encoded = Buffer.from(text);
    sink.takeText(encoded, 0, encoded.length, offset, state.records);
  }
}

/** What a record costs apart from its bytes, in bytes. */
const UNITS_PER_RECORD = 256;
const UNITS_PER_LOOK = 16_384;

/** Each line is a record. */
class LineCutter extends RecordCutter {
  cut(window: Buffer, state: CutState, isEnd: boolean, sink: RecordSink): number {
    const { encoding, truncates } = this.settings;
    const end = encoding.lastLineEnd(window);
    if (end > 0) this.checkText(end === window.length ? window : window.subarray(0, end));
    let from = skipMark(window, state, encoding);
    while (from < end) {
      const next = encoding.lineEnd(window, from);
      let to = next - encoding.newlineSize;
      if (encoding.newlineSize === 1 && to > from && window[to - 1] === 13) to--;
      if (state.isSkipping && truncates) state.isSkipping = false;
      else if (to > from) this.emit(window, from, to, state, sink);
      else state.records++;
      const bytes = next - from;
      from = next;
      if (this.mustStop(bytes, state)) return from;
    }
    return this.emitRest(window, from, state, isEnd, sink);
  }
}

/** A record starts or ends where a pattern matches. */
class PatternCutter extends RecordCutter {
  cut(window: Buffer, state: CutState, isEnd: boolean, sink: RecordSink): number {
    const { encoding } = this.settings;
    const { pattern, isStart, omitsPattern } = this.settings.multiline!;
    this.checkText(window);
    let from = skipMark(window, state, encoding);
    let end = from;
    const spans = spansIn(pattern, window, encoding);
    let lastEnd = -1;
    for (const [start, to] of spans) {
      if (to >= window.length && !isEnd) break; // the match may continue after the window
      const before = from;
      if (isStart) {
        if (lastEnd >= 0 && start <= lastEnd) continue;
        this.emitUnlessSkipped(window, end, start, state, sink);
        from = start;
        end = omitsPattern ? to : start;
      } else {
        this.emitUnlessSkipped(window, from, omitsPattern ? start : to, state, sink);
        from = to;
        end = to;
      }
      lastEnd = to;
      // The first record is there when the second one begins.
      if (from > before && this.mustStop(from - before, state)) return from;
    }
    if (isStart && omitsPattern && end > from) {
      // An omitted pattern stays in front of its record until the record is complete; otherwise it would not be found
      // again.
      if (isEnd) return this.emitRest(window, end, state, isEnd, sink);
      return window.length - from > this.settings.maxLogSize ? this.emitRest(window, end, state, isEnd, sink) : from;
    }
    return this.emitRest(window, from, state, isEnd, sink);
  }

  private emitUnlessSkipped(bytes: Buffer, from: number, to: number, state: CutState, sink: RecordSink): void {
    if (to <= from) return;
    if (state.isSkipping) state.isSkipping = false;
    else this.emit(bytes, from, to, state, sink);
  }
}

/** Cuts the data into pieces of the maximum record size. */
class BytesCutter extends RecordCutter {
  cut(window: Buffer, state: CutState, isEnd: boolean, sink: RecordSink): number {
    const { maxLogSize } = this.settings;
    let from = 0;
    for (; window.length - from >= maxLogSize || (isEnd && from < window.length); ) {
      const to = Math.min(window.length, from + maxLogSize);
      state.records++;
      sink.takeBytes(window.subarray(from, to), state.offset + from, state.records);
      const bytes = to - from;
      from = to;
      if (this.mustStop(bytes, state)) break;
    }
    return from;
  }
}

export function createCutter(settings: CutterSettings): RecordCutter {
  if (settings.encoding.isBinary) return new BytesCutter(settings);
  return settings.multiline === undefined ? new LineCutter(settings) : new PatternCutter(settings);
}

/** A byte order mark at the start of a file is not part of its text. */
function skipMark(window: Buffer, { offset }: CutState, { byteOrderMark }: TextEncoding): number {
  if (offset !== 0 || byteOrderMark === undefined) return 0;
  const { length } = byteOrderMark;
  return window.length >= length && byteOrderMark.equals(window.subarray(0, length)) ? length : 0;
}

function isSpace(byte: number): boolean {
  return byte === 32 || (byte <= 13 && (byte === 9 || byte === 10 || byte === 13));
}

/** Matches of the pattern as byte ranges. */
function spansIn(pattern: Pattern, window: Buffer, encoding: TextEncoding): [number, number][] {
  if (encoding.newlineSize === 2) {
    return pattern.spans(encoding.decode(window)).map(([start, end]) => [start * 2, end * 2]);
  }
  const isText = encoding.isUtf8 && !isAscii(window) && isUtf8(window);
  const text = isText ? window.toString("utf8") : window.toString("latin1");
  const spans = pattern.spans(text);
  if (!isText) return spans;
  let index = 0;
  let at = 0;
  const byteAt = (wanted: number) => {
    at += Buffer.byteLength(text.slice(index, wanted));
    index = wanted;
    return at;
  };
  return spans.map(([start, end]) => [byteAt(start), byteAt(end)]);
}
