import { isLogMap, type LogValue } from "./log-value.js";

/** The parts of an entry that become bytes. */
interface EntryParts {
  readonly body: LogValue;
  readonly attributes: LogValue;
  readonly resource: LogValue;
}

/** Tags and lengths around a value and its key in a record, and a number itself. */
const BYTES_PER_VALUE = 24;
/** Maximum bytes of a UTF-16 code unit in UTF-8. */
const MAX_CHARACTER_BYTES = 3;

/**
 * Bounds what operators may make of an entry. Whatever adds to an entry calls `add` first. It counts upper bounds that
 * are cheap to know, and measures the entry only when their sum is above the limit.
 */
export class EntryGrowth {
  /** An upper bound for the entry's size; undefined before anything was added. */
  private bound: number | undefined;

  /**
   * Throws if the entry would be larger than `maxSize` with `value`, which takes up to `bound` bytes and takes the place
   * of `replaced`. An entry that came in larger may stay as large.
   */
  add(entry: EntryParts, value: LogValue, bound: number, maxSize: number, replaced: LogValue = null): void {
    this.bound = (this.bound ?? boundOfEntry(entry)) + bound;
    if (this.bound <= maxSize) return;
    const before = sizeOf(entry.body) + sizeOf(entry.attributes) + sizeOf(entry.resource);
    const after = before - sizeOf(replaced) + sizeOf(value);
    if (after > maxSize && after > before)
      throw new Error(`the record would be too large: more than ${maxSize} bytes (service.max_record_size)`);
    this.bound = after;
  }

  copy(): EntryGrowth {
    const copy = new EntryGrowth();
    copy.bound = this.bound;
    return copy;
  }
}

function boundOfEntry({ body, attributes, resource }: EntryParts): number {
  return boundOf(body) + boundOf(attributes) + boundOf(resource);
}

/** More bytes than the value takes in a record; costs little. */
export function boundOf(value: LogValue): number {
  return estimate(value, ({ length }) => length * MAX_CHARACTER_BYTES);
}

/** At least as many bytes as the value takes in a record. */
function sizeOf(value: LogValue): number {
  return estimate(value, Buffer.byteLength);
}

function estimate(value: LogValue, textSize: (text: string) => number): number {
  if (typeof value === "string") return textSize(value) + BYTES_PER_VALUE;
  if (value instanceof Uint8Array) return value.length + BYTES_PER_VALUE;
  let size = BYTES_PER_VALUE;
  if (Array.isArray(value)) for (const item of value) size += estimate(item, textSize);
  else if (isLogMap(value)) {
    for (const key of Object.keys(value)) size += textSize(key) + estimate(value[key]!, textSize);
  }
  return size;
}
