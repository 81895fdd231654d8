import { bodyEnd, encodedKey, fieldAt, hasKey, nextBody, POINT_ATTRIBUTES_TAGS, RecentTexts } from "#otlp/bytes";
import { LOG_ATTRIBUTES_TAG, SPAN_ATTRIBUTES_TAG } from "#otlp/tags";
import type { Batch } from "../../plugin.js";

/** Attributes found in a record: their keys, and the byte ranges of their KeyValues. */
export interface FoundAttributes {
  readonly keys: readonly Uint8Array[];
  readonly ranges: readonly (readonly [start: number, end: number])[];
}

/**
 * `found` holds this many numbers per attribute: start and end of the field, start and end of the KeyValue, and the
 * index of the key.
 */
const NUMBERS_PER_ATTRIBUTE = 5;

/**
 * Finds the attributes of a record whose keys are in a given list. One finder is reused for all records of a batch, so
 * a record allocates no objects.
 */
export class AttributeFinder {
  private readonly encodedKeys: readonly Uint8Array[];
  private readonly bytes: Uint8Array;
  private readonly attributesTag: number;
  private readonly found: number[] = [];
  private readonly texts: RecentTexts;

  constructor(batch: Batch, keys: readonly string[]) {
    this.encodedKeys = [...new Set(keys)].map(encodedKey);
    this.bytes = batch.bytes;
    this.texts = new RecentTexts(batch.bytes);
    this.attributesTag = batch.signal === "metrics" ? 0 : ATTRIBUTES_TAGS[batch.signal];
  }

  /**
   * Returns a text that is equal for equal attributes, or undefined if the record has none of the keys. `frameTag` is
   * the tag of the frame around the record. If a key occurs several times, the first attribute counts.
   */
  find(start: number, end: number, frameTag: number): string | undefined {
    const { encodedKeys, found, bytes } = this;
    found.length = 0;
    if (encodedKeys.length === 0) return undefined;
    const attributesTag = this.attributesTag === 0 ? POINT_ATTRIBUTES_TAGS[frameTag]! : this.attributesTag;
    let text: string | undefined;
    for (let p = start; (p = nextBody(bytes, p, end, attributesTag)) >= 0; ) {
      const at = fieldAt;
      const body = p;
      p = bodyEnd;
      const key = this.keyOf(body, p);
      if (key < 0) continue;
      if (text === undefined) text = this.texts.get(body, p);
      else if (!this.has(key)) text = combineIdentities(text, this.texts.get(body, p));
      found.push(at, p, body, p, key);
    }
    return text;
  }

  /** Returns the attributes that the last `find` found. */
  extraction(): FoundAttributes {
    const names: Uint8Array[] = [];
    const values: [number, number][] = [];
    for (let i = 0; i < this.found.length; i += NUMBERS_PER_ATTRIBUTE) {
      const name = this.encodedKeys[this.found[i + 4]!]!;
      if (names.includes(name)) continue;
      names.push(name);
      values.push([this.found[i + 2]!, this.found[i + 3]!]);
    }
    return { keys: names, ranges: values };
  }

  /**
   * Appends the byte ranges of the record [start, end) that remain without the found attributes, as from, to, from, to
   * ... Returns the number of ranges.
   */
  pushRest(start: number, end: number, into: number[]): number {
    let from = start;
    for (let i = 0; i < this.found.length; i += NUMBERS_PER_ATTRIBUTE) {
      into.push(from, this.found[i]!);
      from = this.found[i + 1]!;
    }
    into.push(from, end);
    return this.found.length / NUMBERS_PER_ATTRIBUTE + 1;
  }

  /** Returns the index of the key of the KeyValue [start, end), or -1 if the key is not in the list. */
  private keyOf(start: number, end: number): number {
    const { encodedKeys } = this;
    for (let i = 0; i < encodedKeys.length; i++) if (hasKey(this.bytes, start, end, encodedKeys[i]!)) return i;
    return -1;
  }

  private has(key: number): boolean {
    for (let i = 4; i < this.found.length; i += NUMBERS_PER_ATTRIBUTE) if (this.found[i] === key) return true;
    return false;
  }
}

/** Joins texts so that several attributes never give the same text as a single one: no KeyValue begins with a zero. */
function combineIdentities(text: string, next: string): string {
  const first = text.charCodeAt(0) === 0 ? text : `\0${text.length} ${text}`;
  return `${first}${next.length} ${next}`;
}

const ATTRIBUTES_TAGS = { logs: LOG_ATTRIBUTES_TAG, traces: SPAN_ATTRIBUTES_TAG };
