import { mkdirSync, readFileSync } from "node:fs";
import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, expect, it } from "vitest";
import { expiryOf } from "../../../../../../src/runtime/queue/dead-letters/replay-check.js";
import { LOST_FAILURE_SIGNATURE } from "../../../../../../src/runtime/queue/store/level/open/lost-failure.js";
import { makePlace, type Place, textsIn } from "../../level-harness.js";

/**
 * The keys and values of a queue as the version before the order of changes left it: a dead letter, two that were
 * overwritten by an earlier update, and a pending entry.
 */
const OVERWRITTEN = readFileSync(new URL("overwritten.txt", import.meta.url), "utf8");
const NOW = 1_800_000_000_000;

let place: Place;

beforeEach(async () => {
  place = makePlace();
  mkdirSync(place.directory);
  const db = new ClassicLevel<Buffer, Buffer>(place.directory, { keyEncoding: "buffer", valueEncoding: "buffer" });
  for (const line of OVERWRITTEN.trim().split("\n")) {
    const [key, value] = line.split(" ").map((hex) => Buffer.from(hex, "hex"));
    await db.put(key!, value!);
  }
  await db.close();
});

afterEach(() => place.remove());

const openStore = async () => {
  const store = place.store({}, { now: () => NOW });
  return { store, report: await store.open() };
};

it("gives overwritten dead letters back what is known about their failure, and tells how many they were", async () => {
  const { store, report } = await openStore();
  expect(report).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, repairedEntries: 2, setAside: undefined });
  expect(await textsIn(store, "failed")).toEqual(["kept", "first overwritten", "second overwritten"]);
  expect(await textsIn(store)).toEqual(["pending"]);
  const [kept, ...repaired] = await store.failed(undefined, 10, "oldest");
  expect(kept?.entry.failure).toMatchObject({ reason: "permanent", signature: "abc" });
  for (const { entry } of repaired) {
    expect(entry).toMatchObject({ state: "failed", attempts: 2, history: [{ at: 1_700_000_001_000 }, {}] });
    expect(entry.failure).toMatchObject({
      at: NOW,
      reason: "retry_exhausted",
      signature: LOST_FAILURE_SIGNATURE,
      error: { class: "HTTP 503", message: expect.stringContaining("unavailable") },
    });
  }
  const facts = await store.failedFacts(undefined, 10);
  expect(facts.map((one) => one.facts?.at)).toEqual([expect.any(Number), NOW, NOW]);
  await store.close();
});

it("repairs them once", async () => {
  await (await openStore()).store.close();
  const { store, report } = await openStore();
  expect(report.repairedEntries).toBeUndefined();
  const [, repaired] = await store.failed(undefined, 10, "oldest");
  const [back] = await store.replay([{ ref: repaired!.ref, entry: repaired!.entry }]);
  expect(back?.entry.state).toBe("pending");
  expect(await textsIn(store)).toEqual(["pending", "first overwritten"]);
  await store.close();
});

it("reads one that an older version overwrote after the repair, so that listing and retention go on", async () => {
  const { store } = await openStore();
  const [, repaired] = await store.failed(undefined, 10, "oldest");
  const { failure: _, ...overwritten } = repaired!.entry;
  await store.fail(repaired!.ref, overwritten);
  const found = await store.find(repaired!.entry.id);
  expect(found?.entry.failure).toMatchObject({ reason: "retry_exhausted", at: overwritten.lastAttemptAt });
  const facts = await store.failedFacts(undefined, 10);
  expect(facts.map((one) => one.facts?.at)).toEqual([expect.any(Number), overwritten.lastAttemptAt, NOW]);
  const limits = { retention: 1000, retention_by_category: {}, keep_deleted: 0 };
  expect(expiryOf(found!.entry, limits, NOW)).toBe(overwritten.lastAttemptAt! + 1000);
  await store.close();
});
