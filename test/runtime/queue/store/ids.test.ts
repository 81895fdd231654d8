import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import { failure, newEntry } from "./entries.js";
import { makePlace, type Place } from "./level-harness.js";

let place: Place;
let store: LevelStore;

beforeEach(async () => {
  place = makePlace();
  await open();
});

afterEach(async () => {
  await store.close();
  await place.remove();
});

/** As another process would. */
async function open(): Promise<void> {
  store = place.store();
  await store.open();
}

const put = async (text: string) => (await store.put(newEntry(text))).entry.id;

it("gives no id twice, even if the disk lost the last writes", async () => {
  await put("kept");
  await store.close();
  const [queue, copy] = [place.directory, join(place.root, "copy")];
  await cp(queue, copy, { recursive: true });
  await cp(`${queue}.witness`, `${copy}.witness`);

  await open();
  const forgotten = [await put("a"), await put("b")];
  await store.close();
  await rm(queue, { recursive: true });
  await cp(copy, queue, { recursive: true });
  await cp(`${copy}.witness`, `${queue}.witness`);

  await open();
  const given = [await put("c"), await put("d")];
  expect(given.filter((id) => forgotten.includes(id))).toEqual([]);
});

it("gives an imported entry a new id when its own is that of an entry to come", async () => {
  const [tag, sequence] = (await put("a")).split("-");
  const next = `${tag}-${Number(sequence) + 2}`;
  const imported = await store.put({ ...newEntry("b"), fields: { id: next, state: "failed", failure } });
  const live = await put("c");
  expect(live).toBe(next);
  expect(imported.entry.id).not.toBe(next);
});
