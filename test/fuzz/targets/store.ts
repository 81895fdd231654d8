import { decodeMeta } from "../../../src/runtime/queue/store/format/entry.js";
import { frame, keyOfValue, RANGES, seal, unframe } from "../../../src/runtime/queue/store/format/layout.js";
import { decodeBlock, isBlockIntact, makeBlock } from "../../../src/runtime/queue/store/leveldb-files/block.js";
import { rescueBlock, rescueEntries } from "../../../src/runtime/queue/store/leveldb-files/block-rescue.js";
import { findBlocks } from "../../../src/runtime/queue/store/leveldb-files/find-blocks.js";
import { makeLog, readLog, wholeRecord } from "../../../src/runtime/queue/store/leveldb-files/log.js";
import { readManifest } from "../../../src/runtime/queue/store/leveldb-files/manifest.js";
import { ifIntact } from "../../../src/runtime/queue/store/leveldb-files/varint-reader.js";
import { makeWriteBatch, readChanges } from "../../../src/runtime/queue/store/leveldb-files/write-batch.js";
import { assert, type FuzzTarget, magnitude } from "../fuzz.js";
import { mutateBytes } from "../mutate-bytes.js";

const REF = 7;
const value = Buffer.from(seal(frame(RANGES.entry, REF, 0, { a: 1 }, [Buffer.from("a body")])));
const key = Buffer.from("e00000001\u0001\0\0\0\0\0\0\0", "latin1");
const changes = makeWriteBatch([
  { key, value, sequence: 4 },
  { key: Buffer.from("gone"), value: undefined, sequence: 5 },
]);
const block = makeBlock([
  [key, value],
  [Buffer.from("f00000002\u0001\0\0\0\0\0\0\0", "latin1"), value],
]);

/** The files of a queue, as a crash or a bad disk may leave them. */
export const storeTargets: readonly FuzzTarget[] = [
  { name: "store log", share: 8, seeds: [makeLog([changes]), changes], mutate: mutateBytes, run: runLog },
  {
    name: "store manifest",
    share: 5,
    seeds: [makeLog([Buffer.of(1, 1, 97, 2, 3, 9, 0, 3, 4, 4, 9)]), Buffer.of(1, 1, 97, 2, 3, 4, 9)],
    mutate: mutateBytes,
    run: runManifest,
  },
  { name: "store block", share: 6, seeds: [block, Buffer.concat([block, block])], mutate: mutateBytes, run: runBlock },
  { name: "store value", share: 6, seeds: [value], mutate: mutateBytes, run: runValue },
];

/** Damaged fragments, and whole ones around a damaged record. */
function runLog(input: Buffer): string {
  const { records, isIntact } = readLog(input);
  const found = records.flatMap((record) => readChanges(record, 1));
  const again = readLog(makeLog([input]));
  assert(again.isIntact && again.records.length === 1, "a log that was just written is damaged");
  assert(wholeRecord(again.records[0]!)!.equals(input), "a record is not what was written");
  const inside = readChanges(again.records[0]!, 1);
  return `${isIntact} ${magnitude(records.length)} ${magnitude(found.length)} ${magnitude(inside.length)}`;
}

function runManifest(input: Buffer): string {
  const [damaged, inside] = [readManifest(input), readManifest(makeLog([input]))];
  return `${damaged === undefined} ${inside === undefined} ${magnitude(inside?.tables.size ?? 0)}`;
}

function runBlock(input: Buffer): string {
  const entries = ifIntact(() => decodeBlock(input));
  const rescued = rescueEntries(input);
  const mended = rescueBlock(input, { after: undefined, upTo: Buffer.alloc(input.length + 9, 255) });
  if (mended !== undefined) assert(decodeBlock(mended.bytes).length === rescued.length, "a mended block lost entries");
  const found = findBlocks(input);
  for (const { offset, size } of found) assert(offset + size <= input.length, "a block is found outside of its table");
  const isWhole = input.length > 5 && isBlockIntact(input);
  return `${isWhole} ${entries?.length} ${rescued.length} ${mended === undefined} ${found.length}`;
}

function runValue(input: Buffer): string {
  const framed = unframe(RANGES.entry, REF, 0, input);
  const meta = ifIntact(() => decodeMeta(input));
  return `${framed === undefined} ${keyOfValue(input)?.length} ${meta === undefined}`;
}
