import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Keyring } from "../../../../../src/runtime/queue/store/encryption/keyring.js";
import { ValueCipher } from "../../../../../src/runtime/queue/store/encryption/value-cipher.js";
import { RANGES, refKey } from "../../../../../src/runtime/queue/store/format/layout.js";
import { newEntry } from "../entries.js";
import { makePlace, type Place, textsIn } from "../level-harness.js";
import { fill, flipped, type KeptQueue, SECRET, testEncryptedQueue } from "./encrypted-queue.js";
import { keyring } from "./keys.js";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

/** LevelDB's files. */
const queue: KeptQueue = {
  store: (keys) => place.store({}, { keyring: keys }),
  contents: async () =>
    filesIn(place.root)
      .sort()
      .map((file) => `${file} ${statSync(file).mtimeMs} ${readFileSync(file, "latin1")}`)
      .join("\n"),
  changePayload: (ref, otherRef, damaged) =>
    change(async (db) => {
      const [at, otherAt] = [refKey(RANGES.entry, ref), refKey(RANGES.entry, otherRef)];
      await db.put(at, damaged((await db.get(at))!, (await db.get(otherAt))!));
    }),
};

async function opened(keys: Keyring | undefined) {
  const store = place.store({}, { keyring: keys });
  const report = await store.open();
  return { store, report };
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name));
}

const filesWith = (text: string) => filesIn(place.root).filter((file) => readFileSync(file).includes(text));

/** Changes raw values of a store that is closed. */
async function change(work: (db: ClassicLevel<Buffer, Buffer>) => Promise<void>): Promise<void> {
  const options = { keyEncoding: "buffer", valueEncoding: "buffer", compression: false } as const;
  const db = new ClassicLevel<Buffer, Buffer>(place.directory, options);
  await work(db);
  await db.close();
}

describe("an encrypted queue", () => {
  testEncryptedQueue(queue);

  it("is not repaired either while its key is not there", async () => {
    await fill(queue, keyring("a"), "one");
    const log = readdirSync(place.directory).find((name) => name.endsWith(".log"))!;
    const bytes = readFileSync(join(place.directory, log));
    bytes[Math.floor(bytes.length / 2)]! ^= 1;
    writeFileSync(join(place.directory, log), bytes);
    const before = await queue.contents();
    await expect(opened(undefined)).rejects.toMatchObject({ code: "wrong_key" });
    expect(await queue.contents()).toBe(before);
  });

  it("sets nothing aside without its key, even if the file that names it was removed", async () => {
    await fill(queue, keyring("a"), "one");
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
    await fill(queue, undefined, "one", "two");
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

  it("is repaired like any other, and what is set aside of it is encrypted", async () => {
    await fill(queue, keyring("a"), ...Array.from({ length: 20 }, (_, i) => `${SECRET} ${i}`));
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
    const value = (await store["writes"].current.get(refKey(RANGES.entry, ref)))!;
    expect(Buffer.from(value).includes("gone")).toBe(true);
    await store.erase([ref]);
    expect(await textsIn(store)).toEqual(["kept"]);
    await store.close();
  });
});
