import { ARRAY_VALUE_TAG, ELEMENT_TAG, KEY_TAG, KVLIST_VALUE_TAG, VALUE_TAG } from "./tags.generated.js";
import type { WireWriter } from "./writer.js";

/**
 * Each level of a value takes up to three messages on the wire. This limit keeps written values within the check for
 * incoming ones.
 */
export const MAX_VALUE_DEPTH = 60;

/** Writes the body of an AnyValue that may be `depth` levels deep. */
type WriteAnyValue<V> = (writer: WireWriter, value: V, depth: number) => void;

/** Writes a list as the body of an AnyValue, and each item with `write`. */
export function writeList<V>(writer: WireWriter, items: readonly V[], depth: number, write: WriteAnyValue<V>): void {
  writer.byte(ARRAY_VALUE_TAG);
  writer.begin();
  for (const item of items) {
    writer.byte(ELEMENT_TAG);
    writer.begin();
    write(writer, item, depth);
    writer.end();
  }
  writer.end();
}

/** Writes a map as the body of an AnyValue, and each of its values with `write`. */
export function writeMap<V>(
  writer: WireWriter,
  members: Iterable<readonly [string, V]>,
  depth: number,
  write: WriteAnyValue<V>,
): void {
  writer.byte(KVLIST_VALUE_TAG);
  writer.begin();
  for (const [key, value] of members) {
    writer.byte(ELEMENT_TAG);
    writer.begin();
    writeKeyValueBody(writer, key, value, depth, write);
    writer.end();
  }
  writer.end();
}

/** Writes the body of a KeyValue. */
export function writeKeyValueBody<V>(
  writer: WireWriter,
  key: string,
  value: V,
  depth: number,
  write: WriteAnyValue<V>,
): void {
  writer.byte(KEY_TAG);
  writer.text(key);
  writer.byte(VALUE_TAG);
  writer.begin(typeof value === "string" ? value.length + 2 : 2);
  write(writer, value, depth);
  writer.end();
}
