import type { Signal } from "../signals/signal.js";
import { type Message, REQUEST } from "./messages.js";
import { after, fieldTag, stepOver, varint } from "./wire.js";
import { WireWriter } from "./writer.js";

/**
 * Rewrites a request so every singular field and every oneof occurs at most once.
 *
 * Protobuf allows repeated singular fields: the last scalar counts, messages are merged, and the last member of a oneof
 * counts. No encoder writes this on purpose. But if one reader takes the first value and the next reader the last, an
 * attacker can hide data from the first. So such a request is normalised on its way in (see `Batch.admit`), and all
 * other readers may stop at the first occurrence. Unknown fields stay. The bytes must have been checked.
 *
 * A hostile request may contain millions of fields, so only the positions of messages to be merged are kept.
 */
export function normalForm(signal: Signal, bytes: Uint8Array): Uint8Array {
  const writer = new WireWriter(bytes.length);
  writeNormal(REQUEST[signal], bytes, [0, bytes.length], writer);
  return writer.written();
}

/** The parts of a message's body as start, end, start, end ... Protobuf merges messages by concatenating them. */
type Pieces = readonly number[];

function writeNormal(message: Message, b: Uint8Array, pieces: Pieces, writer: WireWriter): void {
  const last = lastOccurrences(message, b, pieces);
  const written: boolean[] = [];
  for (let i = 0; i < pieces.length; i += 2) {
    for (let p = pieces[i]!; p < pieces[i + 1]!; ) {
      const at = p;
      p = stepOver(b, p);
      const field = message.byNumber[fieldTag >>> 3];
      if (field === undefined) writer.copy(b, at, p);
      else if (field.repeated) writeField(field.message, b, [at, p], writer);
      else {
        const choice = choiceOf(message, field.number);
        if (written[choice]) continue;
        written[choice] = true;
        writeSingular(message, b, pieces, last[choice]!, writer);
      }
    }
  }
}

/** Where the last field of each oneof starts, by the number of `choiceOf`. */
function lastOccurrences(message: Message, b: Uint8Array, pieces: Pieces): number[] {
  const last: number[] = [];
  for (let i = 0; i < pieces.length; i += 2) {
    for (let p = pieces[i]!; p < pieces[i + 1]!; ) {
      const at = p;
      p = stepOver(b, p);
      const field = message.byNumber[fieldTag >>> 3];
      if (field !== undefined && !field.repeated) last[choiceOf(message, field.number)] = at;
    }
  }
  return last;
}

/** The number of a singular field, or of the first member of its oneof. */
function choiceOf(message: Message, number: number): number {
  const { oneof } = message.byNumber[number]!;
  return oneof === undefined ? number : message.byName.get(oneof)!.number;
}

/** Writes the field whose last occurrence is at `lastAt`. */
function writeSingular(message: Message, b: Uint8Array, pieces: Pieces, lastAt: number, writer: WireWriter): void {
  const lastEnd = stepOver(b, lastAt);
  const tag = fieldTag;
  const nested = message.byNumber[tag >>> 3]!.message;
  if (nested === undefined) writer.copy(b, lastAt, lastEnd);
  else writeField(nested, b, occurrences(message, b, pieces, tag), writer);
}

/** All occurrences of a singular field to be merged: those after the last other member of its oneof. */
function occurrences(message: Message, b: Uint8Array, pieces: Pieces, wanted: number): number[] {
  const choice = choiceOf(message, wanted >>> 3);
  const found: number[] = [];
  for (let i = 0; i < pieces.length; i += 2) {
    for (let p = pieces[i]!; p < pieces[i + 1]!; ) {
      const at = p;
      p = stepOver(b, p);
      const number = fieldTag >>> 3;
      if (fieldTag === wanted) found.push(at, p);
      else if (message.byNumber[number]?.repeated === false && choiceOf(message, number) === choice) found.length = 0;
    }
  }
  return found;
}

/** Writes fields of one tag as one field: merged if they are messages, otherwise only the first. */
function writeField(nested: Message | undefined, b: Uint8Array, fields: Pieces, writer: WireWriter): void {
  if (nested === undefined) return writer.copy(b, fields[0]!, fields[1]!);
  const tag = varint(b, fields[0]!);
  writer.varint(tag);
  writer.begin();
  writeNormal(
    nested,
    b,
    fields.map((at, i) => (i % 2 === 0 ? bodyStart(b, at) : at)),
    writer,
  );
  writer.end();
}

function bodyStart(b: Uint8Array, fieldStart: number): number {
  varint(b, fieldStart);
  varint(b, after);
  return after;
}
