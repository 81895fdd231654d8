import { bodyEnd, findField, fixed32, message, nextBody, varint } from "#otlp/bytes";
import { KEY_TAG, STATUS_CODE_TAG, VALUE_TAG } from "#otlp/tags";
import { SpanReader } from "./span.generated.js";

/**
 * Finds some attributes by name in one pass over a message. The results are positions of their AnyValues, -1 for a
 * missing one. If a name occurs several times, the first one counts.
 */
export class WantedAttributes {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  private readonly names: readonly Uint8Array[];
  private readonly byLength: (number[] | undefined)[] = [];

  constructor(names: readonly string[]) {
    this.names = names.map((name) => Buffer.from(name));
    this.starts = new Int32Array(names.length);
    this.ends = new Int32Array(names.length);
    for (const [i, { length }] of this.names.entries()) (this.byLength[length] ??= []).push(i);
  }

  clear(): void {
    this.starts.fill(-1);
  }

  /** Tests the KeyValue [start, end). */
  collect(b: Uint8Array, start: number, end: number): void {
    let nameStart = start + 2;
    let size = b[start + 1]!;
    if (b[start] !== KEY_TAG || size > 127) {
      const [from, to] = message(b, start, end, KEY_TAG);
      nameStart = from;
      size = to - from;
    }
    const candidates = this.byLength[size];
    if (candidates === undefined) return;
    for (const i of candidates) {
      if (this.starts[i]! >= 0 || !isSame(this.names[i]!, b, nameStart)) continue;
      const at = nameStart + size;
      if (b[at] === VALUE_TAG && b[at + 1]! < 128) {
        this.starts[i] = at + 2;
        this.ends[i] = at + 2 + b[at + 1]!;
      } else {
        [this.starts[i], this.ends[i]] = message(b, start, end, VALUE_TAG) as [number, number];
      }
    }
  }

  /** Tests all attributes of a message: its fields with this tag. */
  collectAll(b: Uint8Array, start: number, end: number, attributesTag: number): void {
    for (let p = start; (p = nextBody(b, p, end, attributesTag)) >= 0; ) {
      const body = p;
      p = bodyEnd;
      this.collect(b, body, p);
    }
  }
}

function isSame(name: Uint8Array, b: Uint8Array, start: number): boolean {
  for (let i = name.length - 1; i >= 0; i--) if (b[start + i] !== name[i]) return false;
  return true;
}

/** Reads a span from the bytes. One reader is reused for all spans. A missing field has an empty range. */
export class MeasuredSpan extends SpanReader {
  statusCode = 0;
  /** Starts of the bodies of its events. */
  readonly eventStarts: number[] = [];
  readonly eventEnds: number[] = [];
  private readonly wanted: WantedAttributes;
  private readonly wantsEvents: boolean;

  constructor(wanted: WantedAttributes, wantsEvents = false) {
    super();
    this.wanted = wanted;
    this.wantsEvents = wantsEvents;
  }

  /** Also finds the wanted attributes. */
  read(b: Uint8Array, start: number, end: number): void {
    this.statusCode = 0;
    if (this.eventStarts.length > 0) this.eventStarts.length = this.eventEnds.length = 0;
    this.wanted.clear();
    this.readFields(b, start, end);
  }

  /** Returns the duration in nanoseconds; 0 if the span ends before it begins, or has no times. */
  durationNanos(b: Uint8Array): number {
    const { startTimeAt: from, endTimeAt: to } = this;
    if (from < 0 || to < 0) return 0;
    const high = fixed32(b, to + 4) - fixed32(b, from + 4);
    return Math.max(0, high * 4294967296 + (fixed32(b, to) - fixed32(b, from)));
  }

  protected override addAttribute(b: Uint8Array, _at: number, start: number, end: number): void {
    this.wanted.collect(b, start, end);
  }

  protected override addEvent(_b: Uint8Array, _at: number, start: number, end: number): void {
    if (!this.wantsEvents) return;
    this.eventStarts.push(start);
    this.eventEnds.push(end);
  }

  protected override setStatus(b: Uint8Array, _at: number, start: number, end: number): void {
    const at = findField(b, start, end, STATUS_CODE_TAG);
    this.statusCode = at < 0 ? 0 : varint(b, at);
  }
}
