import { describe, expect, it } from "vitest";
import { findBlocks } from "../../../../../src/runtime/queue/store/leveldb-files/find-blocks.js";
import { makeLog, readLog, wholeRecord } from "../../../../../src/runtime/queue/store/leveldb-files/log.js";

const BLOCK_BYTES = 32_768;
const GARBAGE_BYTES = 8 * 1024 * 1024;

/** At every third byte of it a fragment seems to begin that fills a block, and so does the one behind it. */
function seemingFragments(): Buffer {
  const garbage = Buffer.alloc(GARBAGE_BYTES);
  for (let i = 0; i < garbage.length; i++) garbage[i] = [0x7f, 0x7f, 1][i % 3]!;
  return garbage;
}

// Without a limit these take minutes, in which the process does nothing else.
describe("files that are garbage", () => {
  it("are read in a time that grows with their size, and what is whole behind the garbage is found", () => {
    const records = [Buffer.from("one"), Buffer.alloc(2 * BLOCK_BYTES, "two")];
    const { records: read, isIntact } = readLog(Buffer.concat([seemingFragments(), makeLog(records)]));
    expect(isIntact).toBe(false);
    expect(read.slice(1).map(wholeRecord)).toEqual(records);
  });

  it("are read within that time even if they are full of zeros", () => {
    expect(findBlocks(Buffer.alloc(4 * GARBAGE_BYTES))).toEqual([]);
  });
});
