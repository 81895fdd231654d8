import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Keyring } from "../../../../../src/extensions/reliability/store/encryption/keyring.js";
import { ValueCipher } from "../../../../../src/extensions/reliability/store/encryption/value-cipher.js";
import { RANGES, refKey } from "../../../../../src/extensions/reliability/store/format/keys.js";
import { failedEntry, newEntry } from "../entries.js";
import { makePlace, type Place, textsIn } from "../level-harness.js";
import { key, keyring, readingKeyring } from "./keys.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

const SECRET = "the secret text";

async function opened(keys: Keyring | undefined) {
  const store = place.store({}, { keyring: keys });
  const report = await store.open();
  return { store, report };
}

/** Puts entries of all kinds: large, failed, updated, replayed, notes. */
async function fill(keys: Keyring | undefined, ...texts: string[]): Promise<void> {
  const { store } = await opened(keys);
  await store.notes.load();
  store.notes.add({ owner: "p", after: 0, bytes: Buffer.from(SECRET) });
  for (const text of texts) await store.put(newEntry(text));
  await store.put(newEntry(`${SECRET} large ${"x".repeat(700_000)}`));
  const dead = await store.put(newEntry(`${SECRET} dead`));
  const failed = failedEntry(dead.entry);
  await store.fail(dead.ref, { ...failed, failure: { ...failed.failure!, names: [SECRET] } });
  const updated = await store.put(newEntry(`${SECRET} updated`));
  store.update(updated.ref, {
    ...updated.entry,
    lastError: { kind: "transient", class: "x", code: "x", message: SECRET },
  });
  const replayed = await store.put(newEntry(`${SECRET} replayed`));
  await store.fail(replayed.ref, failedEntry(replayed.entry));
  await store.replay([{ ref: replayed.ref, entry: replayed.entry }]);
  await store.close();
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name));
}

const filesWith = (text: string) => filesIn(place.root).filter((file) => readFileSync(file).includes(text));

/** All bytes and times of everything. */
function fingerprint(): string {
  const hash = createHash("sha256");
  for (const file of filesIn(place.root).sort())
    hash
      .update(file)
      .update(readFileSync(file))
      .update(String(statSync(file).mtimeMs));
  return hash.digest("hex");
}

/** Changes raw values of a store that is closed. */
async function change(work: (db: ClassicLevel<Buffer, Buffer>) => Promise<void>): Promise<void> {
  const options = { keyEncoding: "buffer", valueEncoding: "buffer", compression: false } as const;
  const db = new ClassicLevel<Buffer, Buffer>(place.directory, options);
  await work(db);
  await db.close();
}

const used = () => {
  const file = join(place.directory, "KEYS");
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, "utf8")) as { id: string }[]).map(({ id }) => id);
};

describe("an encrypted queue", () => {
  it("has nothing of what is in it in plain text in any file, and gives it back", async () => {
    await fill(keyring("a"), `${SECRET} one`, `${SECRET} two`);
    expect(filesWith(SECRET)).toEqual([]);
    const { store, report } = await opened(keyring("a"));
    expect(report).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect((await textsIn(store)).map((text) => text.slice(0, 20))).toEqual(
      ["one", "two", "large xxxxxxxxxxx", "updated", "replayed"].map((text) => `${SECRET} ${text}`.slice(0, 20)),
    );
    expect(await textsIn(store, "failed")).toEqual([`${SECRET} dead`]);
    expect((await store.notes.load()).map(({ bytes }) => Buffer.from(bytes).toString())).toEqual([SECRET]);
    await store.close();
    expect(filesWith(SECRET)).toEqual([]);
  });

  it.each<[string, () => Keyring | undefined, RegExp]>([
    ["no keys", () => undefined, /encrypted with the key "a": add it/],
    ["another key", () => keyring("b"), /encrypted with the key "a": add it/],
    ["another key of the same name", () => new Keyring([key("b", "a")], key("b", "a")), /"a" is not the one/],
  ])("is not opened with %s, and not touched", async (_, keys, message) => {
    await fill(keyring("a"), "one");
    const before = fingerprint();
    await expect(opened(keys())).rejects.toMatchObject({ code: "wrong_key", message: expect.stringMatching(message) });
    expect(fingerprint()).toBe(before);
    const { store } = await opened(keyring("a"));
    expect(await textsIn(store)).toHaveLength(4);
    await store.close();
  });

  it("is not repaired either while its key is not there", async () => {
    await fill(keyring("a"), "one");
    const log = readdirSync(place.directory).find((name) => name.endsWith(".log"))!;
    const bytes = readFileSync(join(place.directory, log));
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    writeFileSync(join(place.directory, log), bytes);
    const before = fingerprint();
    await expect(opened(undefined)).rejects.toMatchObject({ code: "wrong_key" });
    expect(fingerprint()).toBe(before);
  });

  it("sets nothing aside without its key, also when the file is gone that names it", async () => {
    await fill(keyring("a"), "one");
    rmSync(join(place.directory, "KEYS"));
    await change(async (db) => {
      for (const at of ["m"]) await db.del(Buffer.from(at));
    });
    for (const keys of [undefined, keyring("b")])
      await expect(opened(keys)).rejects.toMatchObject({ code: "wrong_key", message: /check [0-9a-f]{16}/ });
    expect(existsSync(join(place.root, ".set-aside"))).toBe(false);
    const { store } = await opened(keyring("a", "b"));
    expect(await textsIn(store)).toHaveLength(4);
    await store.close();
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
    const { store } = await opened(keyring("a"));
    const refs: number[] = [];
    for (const text of ["one", "two", "three"]) refs.push((await store.put(newEntry(text))).ref);
    await store.close();
    await change(async (db) => {
      const [first, second] = [refKey(RANGES.entry, refs[0]!), refKey(RANGES.entry, refs[1]!)];
      await db.put(first, damaged((await db.get(first))!, (await db.get(second))!));
    });
    const again = (await opened(keyring("a"))).store;
    expect(await textsIn(again)).toEqual(["two", "three"]);
    expect(again.stats.corrupt).toBe(1);
    await again.close();
    expect(filesWith("one")).toEqual([]);
  });

  it("is read although a checksum is damaged, since the tag tells that the rest is whole", async () => {
    const { store } = await opened(keyring("a"));
    const { ref } = await store.put(newEntry("one"));
    await store.close();
    await change(async (db) =>
      db.put(refKey(RANGES.entry, ref), flipped((await db.get(refKey(RANGES.entry, ref)))!, 0)),
    );
    const again = (await opened(keyring("a"))).store;
    expect(await textsIn(again)).toEqual(["one"]);
    await again.close();
  });

  it("reads values of a former version, which have a checksum inside too", async () => {
    await fill(undefined, "one", "two");
    const cipher = new ValueCipher(keyring("a"));
    const queueId = Buffer.from("0123456789abcdef", "hex");
    cipher.bindTo(queueId);
    await change(async (db) => {
      for (const [at, value] of await db.iterator().all()) await db.put(at, Buffer.from(cipher.encrypt(value)));
      const value = (await db.get(refKey(RANGES.entry, 1)))!;
      expect(value[5]).toBe(4);
    });
    writeFileSync(join(place.directory, "QUEUE"), queueId.toString("hex"));
    const { store, report } = await opened(keyring("a"));
    expect(report).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect(await textsIn(store)).toHaveLength(5);
    expect(await textsIn(store, "failed")).toEqual([`${SECRET} dead`]);
    expect(await store.notes.load()).toHaveLength(1);
    await store.close();
  });

  it("is read with the keys of before and written with a new one, until nothing needs the old one", async () => {
    await fill(keyring("a"), "one");
    expect(used()).toEqual(["a"]);
    const { store } = await opened(keyring("b", "a"));
    await store.put(newEntry("new"));
    expect(used()).toEqual(["a", "b"]);
    expect(await textsIn(store)).toHaveLength(5);
    for (const { ref } of [...(await store.pending(undefined, 10)), ...(await store.failed(undefined, 10, "oldest"))])
      if (ref < 7) await store.delete([ref]);
    await store.close();
    await expect(opened(keyring("b"))).rejects.toMatchObject({ code: "wrong_key" });
    const { store: next } = await opened(keyring("b", "a"));
    const notes = await next.notes.load();
    next.notes.remove(notes.map(({ number }) => number));
    await next.close();
    await (await opened(keyring("b", "a"))).store.close();
    expect(used()).toEqual(["b"]);
    const { store: last, report } = await opened(keyring("b"));
    expect(report).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect(await textsIn(last)).toEqual(["new"]);
    await last.close();
  });

  it("may have been begun in plain text, and may be ended so", async () => {
    await fill(undefined, "plain");
    const { store } = await opened(keyring("a"));
    await store.put(newEntry(`${SECRET} encrypted`));
    expect(await textsIn(store)).toHaveLength(5);
    await store.close();
    expect(filesWith(`${SECRET} encrypted`)).toEqual([]);
    const off = (await opened(readingKeyring("a"))).store;
    await off.put(newEntry("plain again"));
    expect((await textsIn(off)).slice(-2)).toEqual([`${SECRET} encrypted`, "plain again"]);
    expect(filesWith("plain again")).not.toEqual([]);
    for (const { ref } of (await off.pending(undefined, 10)).slice(0, -1)) off.ack(ref);
    await off.delete((await off.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    await off.close();
    await (await opened(readingKeyring("a"))).store.close();
    expect(used()).toEqual([]);
    const without = (await opened(undefined)).store;
    expect(await textsIn(without)).toEqual(["plain again"]);
    await without.close();
  });

  it("is repaired like any other, and what is set aside of it is encrypted", async () => {
    await fill(keyring("a"), ...Array.from({ length: 20 }, (_, i) => `${SECRET} ${i}`));
    const table = readdirSync(place.directory).find((name) => name.endsWith(".ldb") || name.endsWith(".log"))!;
    const bytes = readFileSync(join(place.directory, table));
    bytes[Math.floor(bytes.length / 3)]! ^= 4;
    writeFileSync(join(place.directory, table), bytes);
    const { store, report } = await opened(keyring("a"));
    expect(report.lostEntries + report.corruptEntries).toBeLessThan(25);
    expect((await textsIn(store)).length).toBeGreaterThan(0);
    await store.close();
    expect(filesWith(SECRET)).toEqual([]);
  });

  it("leaves nothing of what is erased", async () => {
    const { store } = await opened(keyring("a"));
    const { ref } = await store.put(newEntry("gone"));
    await store.put(newEntry("kept"));
    const value = (await store["database"].current.get(refKey(RANGES.entry, ref)))!;
    expect(Buffer.from(value).includes("gone")).toBe(true);
    await store.erase([ref]);
    expect(await textsIn(store)).toEqual(["kept"]);
    await store.close();
  });
});

function flipped(value: Buffer, at: number): Buffer {
  const copy = Buffer.from(value);
  copy[at]! ^= 1;
  return copy;
}

function withChecksum(value: Buffer): Buffer {
  const copy = Buffer.from(value);
  copy.writeUInt32LE(crc32(copy.subarray(4)), 0);
  return copy;
}
