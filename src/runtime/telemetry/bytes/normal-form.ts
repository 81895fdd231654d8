import { type Message, REQUEST } from "./messages.js";
import type { Signal } from "./signal.js";
import { after, skip, varint } from "./wire.js";
import { WireWriter } from "./writer.js";

/**
 * A request in which every singular field comes at most once, and at most one field of each choice.
 *
 * Protobuf lets a singular field come again: the last scalar counts, messages are merged, and of a choice (oneof) the
 * last member counts. Nobody writes that on purpose, but whoever takes the first where the next reader takes the last
 * can be made to look past what the next one sees. So such a request is put right on its way in (see `Batch.admit`),
 * and all other readers may stop at the first. Unknown fields stay. The bytes must have been checked.
 */
export function normalForm(signal: Signal, bytes: Uint8Array): Uint8Array {
  const writer = new WireWriter(bytes.length);
  writeNormal(REQUEST[signal], [bytes], writer);
  return writer.written();
}

/** The message whose body is these pieces one behind the other: that is how protobuf merges two into one. */
function writeNormal(message: Message, bodies: readonly Uint8Array[], writer: WireWriter): void {
  for (const field of collectFields(message, bodies)) {
    const nested = message.byNumber[field.tag >>> 3]?.message;
    if (nested === undefined) {
      const last = field.occurrences.at(-1)!;
      writer.copy(last, 0, last.length);
      continue;
    }
    writer.varint(field.tag);
    writer.begin();
    writeNormal(nested, field.occurrences.map(bodyOf), writer);
    writer.end();
  }
}

/** A field to write: all occurrences of a singular one, one of any other. Each is whole, tag and all. */
interface FieldOccurrences {
  readonly tag: number;
  readonly occurrences: Uint8Array[];
}

function collectFields(message: Message, bodies: readonly Uint8Array[]): Iterable<FieldOccurrences> {
  const fields = new Set<FieldOccurrences>();
  const singular = new Map<number, FieldOccurrences>();
  for (const b of bodies) {
    for (let p = 0; p < b.length; ) {
      const tag = varint(b, p);
      const next = skip(b, after, tag);
      const bytes = b.subarray(p, next);
      p = next;
      const field = message.byNumber[tag >>> 3];
      const same = singular.get(tag);
      if (same !== undefined) same.occurrences.push(bytes);
      else {
        const added = { tag, occurrences: [bytes] };
        fields.add(added);
        if (field === undefined || field.repeated) continue;
        singular.set(tag, added);
        for (const [other, previous] of singular) {
          if (previous === added || field.oneof === undefined) continue;
          if (message.byNumber[other >>> 3]!.oneof !== field.oneof) continue;
          singular.delete(other);
          fields.delete(previous);
        }
      }
    }
  }
  return fields;
}

function bodyOf(field: Uint8Array): Uint8Array {
  varint(field, 0);
  varint(field, after);
  return field.subarray(after);
}
