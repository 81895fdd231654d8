import { crc32 } from "node:zlib";
import { expect, it } from "vitest";
import { Keyring } from "../../../../../src/runtime/queue/store/encryption/keyring.js";
import type { QueueStore } from "../../../../../src/runtime/queue/store/store.js";
import { failedEntry, newEntry } from "../entries.js";
import { textsIn } from "../level-harness.js";
import { key, keyring, readingKeyring } from "./keys.js";

export const SECRET = "the secret text";

/** A queue that is made anew for each test, wherever it is kept. */
export interface KeptQueue {
  /** Another store of the same queue, not opened yet. */
  store(keys: Keyring | undefined): QueueStore & Required<Pick<QueueStore, "notes">>;
  /** All that is kept of it, and when it was written where that is known. */
  contents(): Promise<string>;
  /** Changes the payload of an entry of a store that is closed; `other` is that of another entry. */
  changePayload(ref: number, otherRef: number, change: (value: Buffer, other: Buffer) => Buffer): Promise<void>;
}

export async function opened(queue: KeptQueue, keys: Keyring | undefined) {
  const store = queue.store(keys);
  return { store, report: await store.open() };
}

/** Puts entries of all kinds: large, failed, updated, replayed, notes. */
export async function fill(queue: KeptQueue, keys: Keyring | undefined, ...texts: string[]): Promise<void> {
  const { store } = await opened(queue, keys);
  await store.notes.load();
  store.notes.add({ owner: "p", after: 0, bytes: Buffer.from(SECRET) });
  for (const text of texts) await store.put(newEntry(text));
  await store.put(newEntry(`${SECRET} large ${"x".repeat(700_000)}`));
  const dead = await store.put(newEntry(`${SECRET} dead`));
  const failed = failedEntry(dead.entry);
  await store.fail(dead.ref, { ...failed, failure: { ...failed.failure!, names: [SECRET] } });
  const updated = await store.put(newEntry(`${SECRET} updated`));
  const lastError = { kind: "transient", class: "x", code: "x", message: SECRET } as const;
  store.update(updated.ref, { ...updated.entry, lastError });
  const replayed = await store.put(newEntry(`${SECRET} replayed`));
  await store.fail(replayed.ref, failedEntry(replayed.entry));
  await store.replay([{ ref: replayed.ref, entry: replayed.entry }]);
  await store.close();
}

/** The promises of every store about its encryption. */
export function testEncryptedQueue(queue: KeptQueue): void {
  const open = (keys: Keyring | undefined) => opened(queue, keys);

  it("has nothing of what is in it in plain text, and gives it back", async () => {
    await fill(queue, keyring("a"), `${SECRET} one`, `${SECRET} two`);
    const hidden = [SECRET, Buffer.from(SECRET).toString("base64").slice(0, -4)];
    for (const text of hidden) expect(await queue.contents()).not.toContain(text);
    const { store, report } = await open(keyring("a"));
    expect(report).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect((await textsIn(store)).map((text) => text.slice(0, 20))).toEqual(
      ["one", "two", "large xxxxxxxxxxx", "updated", "replayed"].map((text) => `${SECRET} ${text}`.slice(0, 20)),
    );
    expect(await textsIn(store, "failed")).toEqual([`${SECRET} dead`]);
    expect((await store.notes.load()).map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([SECRET]);
    await store.close();
    for (const text of hidden) expect(await queue.contents()).not.toContain(text);
  });

  it.each<[string, () => Keyring | undefined, RegExp]>([
    ["no keys", () => undefined, /encrypted with the key "a": add it/],
    ["another key", () => keyring("b"), /encrypted with the key "a": add it/],
    ["another key of the same name", () => new Keyring([key("b", "a")], key("b", "a")), /"a" is not the key/],
  ])("is not opened with %s, and not touched", async (_, keys, message) => {
    await fill(queue, keyring("a"), "one");
    const before = await queue.contents();
    await expect(open(keys())).rejects.toMatchObject({ code: "wrong_key", message: expect.stringMatching(message) });
    expect(await queue.contents()).toBe(before);
    const { store } = await open(keyring("a"));
    expect(await textsIn(store)).toHaveLength(4);
    await store.close();
  });

  it("is read with the keys of before and written with a new one, until nothing needs the old one", async () => {
    await fill(queue, keyring("a"), "one");
    const { store } = await open(keyring("b", "a"));
    const { ref: newest } = await store.put(newEntry("new"));
    expect(await textsIn(store)).toHaveLength(5);
    for (const { ref } of await store.pending(undefined, 10)) if (ref !== newest) store.ack(ref);
    await store.delete((await store.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    await store.close();
    await expect(open(keyring("b")), "a note needs it").rejects.toMatchObject({ code: "wrong_key" });
    const { store: next } = await open(keyring("b", "a"));
    next.notes.remove((await next.notes.load()).map(({ number }) => number));
    await next.close();
    await (await open(keyring("b", "a"))).store.close();
    const { store: last, report } = await open(keyring("b"));
    expect(report).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect(await textsIn(last)).toEqual(["new"]);
    await last.close();
  });

  it("may have been begun in plain text, and may be ended so", async () => {
    await fill(queue, undefined, "plain");
    const { store } = await open(keyring("a"));
    await store.put(newEntry(`${SECRET} encrypted`));
    expect(await textsIn(store)).toHaveLength(5);
    await store.close();
    expect(await queue.contents()).not.toContain(`${SECRET} encrypted`);
    const off = (await open(readingKeyring("a"))).store;
    await off.put(newEntry("plain again"));
    // An entry that is written anew keeps saying how its payload was encrypted.
    for (const { ref, entry } of await off.pending(undefined, 10)) off.update(ref, { ...entry, attempts: 1 });
    await off.close();
    expect(await queue.contents()).toContain("plain again");
    const reading = (await open(readingKeyring("a"))).store;
    expect((await textsIn(reading)).slice(-2)).toEqual([`${SECRET} encrypted`, "plain again"]);
    for (const { ref } of (await reading.pending(undefined, 10)).slice(0, -1)) reading.ack(ref);
    await reading.delete((await reading.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    await reading.close();
    await (await open(readingKeyring("a"))).store.close();
    const without = (await open(undefined)).store;
    expect(await textsIn(without)).toEqual(["plain again"]);
    await without.close();
  });

  it.each<[string, (value: Buffer, other: Buffer) => Buffer]>([
    ["a bit is flipped in it", (value) => flipped(value, 100)],
    ["a bit is flipped in it and the checksum mended", (value) => withChecksum(flipped(value, 100))],
    ["its counter is changed", (value) => withChecksum(flipped(value, 42))],
    ["its format is changed", (value) => withChecksum(flipped(value, 5))],
    ["its tag is changed", (value) => withChecksum(flipped(value, value.length - 1))],
    ["it is cut", (value) => withChecksum(value.subarray(0, 90))],
    ["it is all but empty", (value) => withChecksum(value.subarray(0, 30))],
    ["it is that of another entry", (_, other) => other],
    [
      "it is that of another entry, under its own place",
      (value, other) => withChecksum(Buffer.concat([value.subarray(0, 16), other.subarray(16)])),
    ],
  ])("loses one entry and no other when %s", async (_, damaged) => {
    const { store } = await open(keyring("a"));
    const refs: number[] = [];
    for (const text of ["one", "two", "three"]) refs.push((await store.put(newEntry(text))).ref);
    await store.close();
    await queue.changePayload(refs[0]!, refs[1]!, damaged);
    const again = (await open(keyring("a"))).store;
    expect(await textsIn(again)).toEqual(["two", "three"]);
    expect(again.stats.corrupt).toBe(1);
    await again.close();
    const third = await open(keyring("a"));
    expect(third.report.corruptEntries, "it is said once").toBe(0);
    expect(await textsIn(third.store)).toEqual(["two", "three"]);
    await third.store.close();
    expect(await queue.contents()).not.toContain("three");
  });
}

export function flipped(value: Buffer, at: number): Buffer {
  const copy = Buffer.from(value);
  copy[at]! ^= 1;
  return copy;
}

export function withChecksum(value: Buffer): Buffer {
  const copy = Buffer.from(value);
  copy.writeUInt32LE(crc32(copy.subarray(4)), 0);
  return copy;
}
