import { Batch } from "../../../src/runtime/otlp/batch.js";
import { editRecords } from "../../../src/runtime/otlp/edit/edit-records.js";
import { splitBatch } from "../../../src/runtime/otlp/edit/split-batch.js";
import { batchFromJson, batchToJson } from "../../../src/runtime/otlp/json/batch-json.js";
import { decodeTree, encodeTree } from "../../../src/runtime/otlp/json/tree.js";
import { isMalformed } from "../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS, type Signal } from "../../../src/runtime/otlp/signals/signal.js";
import { assert, type FuzzTarget, magnitude, shapeOf } from "../fuzz.js";
import { textMutator } from "../mutate-text.js";
import { mutateWire } from "../mutate-wire.js";
import type { Random } from "../random.js";
import { richJson } from "./rich-json.js";

const MAX_ELEMENTS = 3000;
const WORDS = [
  ...'{}[]:,"',
  '""',
  "null",
  "true",
  "false",
  "{}",
  "[]",
  '{"stringValue":"a"}',
  '"attributes":[',
  "\\u0000",
];

/** Requests in protobuf and in JSON, of every signal. */
export const telemetryTargets: readonly FuzzTarget[] = SIGNALS.flatMap((signal) => {
  const json = richJson(signal);
  const seed = Buffer.from(batchFromJson(signal, json).bytes);
  return [
    {
      name: `protobuf ${signal}`,
      share: 7,
      seeds: [seed, Buffer.alloc(0)],
      mutate: mutateWire,
      run: (input, random) => outcomeOf(() => Batch.admit(signal, input, MAX_ELEMENTS), input, random),
    },
    {
      name: `JSON ${signal}`,
      share: 7,
      seeds: [Buffer.from(json), Buffer.from("{}")],
      mutate: textMutator([...WORDS, ...(json.match(/"\w+":/g) ?? [])]),
      run: (input, random) => runJson(signal, input, random),
    },
  ];
});

function outcomeOf(read: () => Batch, input: Buffer, random: Random): string {
  let batch: Batch;
  try {
    batch = read();
  } catch (error) {
    if (!isMalformed(error)) throw error;
    // Invalid UTF-8 is replaced by three bytes before JSON is read.
    assert(error.offset <= 3 * input.length, "the offset of a refusal is outside of the input");
    return shapeOf(error.message);
  }
  // They take many times as long as the reading.
  if (random.oneIn(4)) holdToLaws(batch);
  return `taken ${magnitude(batch.count)} ${magnitude(batch.byteLength)}`;
}

/** Accepted input can be read, written, split and edited, with the same result. */
function holdToLaws(batch: Batch): void {
  const { signal, count, bytes } = batch;
  const json = batchToJson(batch);
  assert(encodeTree(signal, decodeTree(batch)).count === count, "a tree has other records than its batch");
  const again = batchFromJson(signal, json);
  assert(again.count === count, "JSON has other records than its batch");
  assert(batchToJson(again) === json, "JSON of JSON is not the same");
  assert(json.length <= 64 + 24 * bytes.length, "JSON is many times as long as the batch");
  const pieces = splitBatch(batch, { records: 2 });
  assert(pieces.reduce((sum, piece) => sum + piece.count, 0) === count, "pieces have other records than the batch");
  let seen = 0;
  const edited = editRecords(batch, (record) => {
    record.attributes.toObject();
    seen++;
  });
  assert(seen === count && edited.count === count, "a walk sees other records than were counted");
  assert(Buffer.compare(edited.bytes, bytes) === 0, "a batch that nobody changed has changed");
}

/** Text that JSON.parse rejects is rejected here too. */
function runJson(signal: Signal, input: Buffer, random: Random): string {
  const outcome = outcomeOf(() => batchFromJson(signal, input, MAX_ELEMENTS), input, random);
  if (outcome.startsWith("taken")) JSON.parse(input.toString("utf8").replace(/^\ufeff/, ""));
  return outcome;
}
