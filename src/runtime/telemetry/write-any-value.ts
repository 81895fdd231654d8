import { ARRAY, ELEMENT, KEY, MAP, VALUE } from "./any-value.js";
import type { WireWriter } from "./writer.js";

/** Writes the body of an AnyValue. Of its depth so much is left. */
export type WriteAny<V> = (writer: WireWriter, value: V, depth: number) => void;

/** Writes a list as the body of an AnyValue, each item as `write` does it. */
export function writeList<V>(writer: WireWriter, items: readonly V[], depth: number, write: WriteAny<V>): void {
  writer.byte(ARRAY);
  writer.begin();
  for (const item of items) {
    writer.byte(ELEMENT);
    writer.begin();
    write(writer, item, depth);
    writer.end();
  }
  writer.end();
}

/** Writes a map as the body of an AnyValue, each value in it as `write` does it. */
export function writeMap<V>(
  writer: WireWriter,
  members: Iterable<readonly [string, V]>,
  depth: number,
  write: WriteAny<V>,
): void {
  writer.byte(MAP);
  writer.begin();
  for (const [key, value] of members) {
    writer.byte(ELEMENT);
    writer.begin();
    writeMember(writer, key, value, depth, write);
    writer.end();
  }
  writer.end();
}

/** Writes the body of a KeyValue. */
export function writeMember<V>(writer: WireWriter, key: string, value: V, depth: number, write: WriteAny<V>): void {
  writer.byte(KEY);
  writer.text(key);
  writer.byte(VALUE);
  writer.begin(typeof value === "string" ? value.length + 2 : 2);
  write(writer, value, depth);
  writer.end();
}
