import { OttlError } from "./error.js";
import type { OttlValue } from "./value.js";

/**
 * How large values may become. A record is as large as its sender made it; a statement that doubles a text or a list
 * each time it runs must not take the agent's memory, so what grows is measured where it grows.
 */
export const MAX_TEXT_LENGTH = 2 * 1024 * 1024;
/** Of maps and lists: the values in them, and all their texts together. */
export const MAX_ITEMS = 250_000;
export const MAX_CHARACTERS = 16 * 1024 * 1024;

export function textTooLong(maxLength = MAX_TEXT_LENGTH): OttlError {
  return new OttlError(`the text would be longer than ${maxLength} characters`);
}

export function tooManyItems(): OttlError {
  return new OttlError(`the value would have more than ${MAX_ITEMS} items`);
}

/** The parts with the delimiter between them; throws instead of making a text that is too long. */
export function joinTexts(parts: readonly string[], delimiter: string): string {
  let length = delimiter.length * Math.max(0, parts.length - 1);
  for (let i = 0; i < parts.length; i++) length += parts[i]!.length;
  if (length > MAX_TEXT_LENGTH) throw textTooLong();
  return parts.join(delimiter);
}

/**
 * Throws when a value is too large to be kept in the place of another, looking at no more of it than it takes to know.
 * What came in larger may stay so, but not grow.
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
