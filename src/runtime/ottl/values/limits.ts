import { OttlError } from "./error.js";
import type { OttlValue } from "./value.js";

/**
 * Limits for the size of values. A record is as large as its sender made it. But a statement that doubles a text or a
 * list each time it runs must not exhaust the agent's memory, so sizes are checked wherever values grow.
 */
export const MAX_TEXT_LENGTH = 2 * 1024 * 1024;
/** For maps and lists: the number of values in them, and the length of all their texts together. */
export const MAX_ITEMS = 250_000;
export const MAX_CHARACTERS = 16 * 1024 * 1024;

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

class SizeCounter {
  private items = 0;
  private characters = 0;

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
