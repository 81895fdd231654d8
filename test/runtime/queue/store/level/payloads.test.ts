import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Keyring } from "../../../../../src/runtime/queue/store/encryption/keyring.js";
import { RANGES, refKey } from "../../../../../src/runtime/queue/store/format/layout.js";
import type { StoredEntry } from "../../../../../src/runtime/queue/store/store.js";
import { bodies } from "../../../../support/telemetry/batches.js";
import { keyring } from "../encryption/keys.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place } from "../level-harness.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

const LARGE = "x".repeat(700_000);

async function fill(keys: Keyring | undefined) {
  const store = place.store({}, { keyring: keys });
  await store.open();
  const texts = ["small", LARGE, "replayed", "gone", '"chunks":0}', "waits"];
  const put: StoredEntry[] = [];
  for (const text of texts) put.push(await store.put(newEntry(text)));
  for (const { ref, entry } of put.slice(0, 5)) await store.fail(ref, failedEntry(entry));
  const [again] = await store.replay([put[2]!]);
  await store.fail(again!.ref, failedEntry(again!.entry));
  await store.delete([put[3]!.ref]);
  const wanted = [...put, again!].map(({ ref, entry: { signal, items } }) => ({ ref, signal, items }));
  return { store, wanted };
}

describe.each([
  ["plain", undefined],
  ["encrypted", keyring("one")],
])("payloads that are read together, %s", (_, keys) => {
  it("are those that are read one by one, wherever they lie", async () => {
    const { store, wanted } = await fill(keys);
    const read = await store.payloads(wanted);
    expect(read.map((batch) => batch && bodies(batch).join())).toEqual([
      ...["small", LARGE, "replayed", undefined, '"chunks":0}', "waits", "replayed"],
    ]);
    await store.close();
  });
});

describe("payloads that are read together", () => {
  it("skip a damaged one, which is set aside, and return the others", async () => {
    const { store, wanted } = await fill(undefined);
    await store.close();
    const db = new ClassicLevel<Uint8Array, Uint8Array>(place.directory, {
      keyEncoding: "view",
      valueEncoding: "view",
    });
    const key = refKey(RANGES.entry, wanted[0]!.ref);
    const value = Buffer.from((await db.get(key))!);
    value[value.length - 1]! ^= 1;
    await db.put(key, value);
    await db.close();
    await store.open();
    const read = await store.payloads([wanted[0]!, wanted[4]!]);
    expect(read.map((batch) => batch && bodies(batch).join())).toEqual([undefined, '"chunks":0}']);
    expect(store.stats.corrupt).toBe(1);
    await store.close();
  });
});
