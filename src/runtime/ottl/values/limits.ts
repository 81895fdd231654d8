import { ERROR_CODES, Refusal } from "#contract/errors";
import { OttlError } from "./error.js";
import type { OttlValue } from "./value.js";

/**
 * Limits for the size of values. A record is as large as its sender made it. But a statement that doubles a text or a
 * list each time it runs must not exhaust the agent's memory, so sizes are checked wherever values grow.
 */
export const MAX_TEXT_LENGTH = 2 * 1024 * 1024;
/** For maps and lists: the number of values in them, and the length of all their texts together. */
export const MAX_ITEMS = 100_000;
export const MAX_CHARACTERS = 4 * 1024 * 1024;
/** How large statements may make a record, unless the config says otherwise. */
export const DEFAULT_MAX_RECORD_SIZE = 4 * 1024 * 1024;

/**
 * The work that statements did on the current record, in values read. Texts count by their length. One record is
 * processed in one go, so statements beyond the limit fail instead of blocking everything else.
 */
export const recordWork = { spent: 0 };
const MAX_RECORD_WORK = 400_000;
const CHARACTERS_PER_UNIT = 32;

/** Counts that a text of this length was read or searched. */
export function spendOnText(length: number): void {
  recordWork.spent += length / CHARACTERS_PER_UNIT;
}

/** Throws once the statements have done too much work on one record. */
export function checkWork(): void {
  if (recordWork.spent > MAX_RECORD_WORK)
    throw new OttlError("the record is too large for that many statements that read all of it");
}

/** Counts work of this many units and on a text of this length. Throws once it is too much. */
export function spendWork(units: number, length = 0): void {
  recordWork.spent += units + length / CHARACTERS_PER_UNIT;
  checkWork();
}

export function recordTooLarge(maxSize: number): OttlError {
  return new OttlError(`the record would be too large: more than ${maxSize} bytes (service.max_record_size)`);
}

/** The records of a batch may grow by as many bytes as this number of records of the maximum size. */
export const MAX_GROWN_RECORDS = 4;

/** No `OttlError`: the batch is refused whatever `error_mode` says, because going on would cost as much again. */
export function batchTooLarge(maxSize: number): Refusal {
  const limit = `${maxSize * MAX_GROWN_RECORDS} bytes (${MAX_GROWN_RECORDS} times service.max_record_size)`;
  const message = `its statements made the batch too large: it would grow by more than ${limit}`;
  return new Refusal("permanent", message, { code: ERROR_CODES.SLUICE_RECORD_TOO_LARGE, unexpected: true });
}

export function textTooLong(maxLength = MAX_TEXT_LENGTH): OttlError {
  return new OttlError(`the text would be longer than ${maxLength} characters`);
}

export function tooManyItems(): OttlError {
  return new OttlError(`the value would have more than ${MAX_ITEMS} items`);
}

/** Joins the parts with the delimiter; throws instead of creating a text that is too long. */
export function joinTexts(parts: readonly string[], delimiter: string): string {
  let length = delimiter.length * Math.max(0, parts.length - 1);
  for (let i = 0; i < parts.length; i++) length += parts[i]!.length;
  if (length > MAX_TEXT_LENGTH) throw textTooLong();
  return parts.join(delimiter);
}

/**
 * Throws if a value is too large to replace another one; examines no more of it than needed. A value that arrived
 * larger may stay as large, but not grow.
 */
export function checkSize(value: OttlValue, current: OttlValue = null): void {
  if (typeof value === "string") {
    if (value.length > MAX_TEXT_LENGTH && !(typeof current === "string" && value.length <= current.length))
      throw textTooLong();
  } else if (Array.isArray(value) || value instanceof Map) new SizeCounter().add(value);
}

/** About as many bytes as a value takes in a record. */
export function encodedSize(value: OttlValue): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Uint8Array) return value.length;
  if (!Array.isArray(value) && !(value instanceof Map)) return 0;
  const counter = new SizeCounter();
  counter.add(value);
  return counter.characters + counter.items * BYTES_PER_ITEM;
}

/** The tags and lengths around a value in a list or map. */
const BYTES_PER_ITEM = 8;

class SizeCounter {
  items = 0;
  characters = 0;

  add(value: OttlValue): void {
    if (++this.items > MAX_ITEMS) throw tooManyItems();
    if (typeof value === "string") this.text(value);
    else if (Array.isArray(value)) for (const item of value) this.add(item);
    else if (value instanceof Map) {
      for (const [key, item] of value) {
        this.text(key);
        this.add(item);
      }
    }
  }

  private text({ length }: string): void {
    this.characters += length;
    if (this.characters > MAX_CHARACTERS) throw textTooLong(MAX_CHARACTERS);
  }
}
