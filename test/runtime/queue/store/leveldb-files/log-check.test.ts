import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RANGES, refKey } from "../../../../../src/runtime/queue/store/format/layout.js";
import { evidenceOf } from "../../../../../src/runtime/queue/store/level/open/log-evidence.js";
import { makeLog } from "../../../../../src/runtime/queue/store/leveldb-files/log.js";
import { areInOrder, checkLogs } from "../../../../../src/runtime/queue/store/leveldb-files/log-check.js";
import { makeWriteBatch } from "../../../../../src/runtime/queue/store/leveldb-files/write-batch.js";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sluice-logs-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Writes logs in which every change, named by its number, is a commit; gives what is found in them. */
function check(logs: readonly (readonly number[])[], after = 0) {
  const names = logs.map((numbers, i) => {
    const commits = numbers.map((sequence) =>
      makeWriteBatch([{ key: refKey(RANGES.entry, sequence), value: undefined, sequence }]),
    );
    writeFileSync(join(directory, `00000${i + 1}.log`), makeLog(commits));
    return `00000${i + 1}.log`;
  });
  const found = checkLogs(directory, names, after);
  return { areIntact: found.map(({ isIntact }) => isIntact), hasGaps: evidenceOf(found, false).hasGaps, found };
}

describe("the numbers of changes in logs", () => {
  it("grow by one from change to change, and from log to log", () => {
    expect(
      check([
        [5, 6, 7],
        [8, 9],
      ]),
    ).toMatchObject({ areIntact: [true, true], hasGaps: false });
  });

  it("report repeated data and data older than the tables", () => {
    expect(check([[5, 6, 5, 6, 7]]).areIntact).toEqual([false]);
    expect(check([[5, 6, 7]], 6).areIntact).toEqual([false]);
    expect(check([[5, 6, 7]], 4).areIntact).toEqual([true]);
  });

  it("report missing data, even if a whole older log is missing", () => {
    expect(check([[5, 6, 9]])).toMatchObject({ areIntact: [true], hasGaps: true });
    expect(check([[5, 6], [8]], 4)).toMatchObject({ hasGaps: true });
    expect(check([[], [8, 9]], 4)).toMatchObject({ areIntact: [true, true], hasGaps: true });
    expect(check([[5, 6], []], 4)).toMatchObject({ areIntact: [true, true], hasGaps: false });
  });

  it("tell logs that have changed places", () => {
    expect(areInOrder(check([[5, 6], [7]]).found)).toBe(true);
    expect(areInOrder(check([[7], [5, 6]]).found)).toBe(false);
  });
});
