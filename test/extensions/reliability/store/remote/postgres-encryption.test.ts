import { randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Keyring } from "../../../../../src/extensions/reliability/store/encryption/keyring.js";
import type { RemoteStoreOptions } from "../../../../../src/extensions/reliability/store/remote/remote-store.js";
import { type Postgres, postgresProgram, startPostgres } from "../../../../support/servers/postgres.js";
import { key, keyring, readingKeyring } from "../encryption/keys.js";
import { failedEntry, newEntry } from "../entries.js";
import { textsIn } from "../level-harness.js";
import { storeIn } from "./postgres-harness.js";

const SECRET = "the secret text";
let postgres: Postgres;
let db: Awaited<ReturnType<Postgres["connect"]>>;
let queue: string;

async function opened(keys: Keyring | undefined, options: RemoteStoreOptions = {}) {
  const store = storeIn(postgres, queue, { ...options, keyring: keys });
  return { store, report: await store.open() };
}

/** Puts entries of all kinds: large, failed, updated, replayed, notes. */
async function fill(keys: Keyring | undefined, ...texts: string[]): Promise<void> {
  const { store } = await opened(keys);
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

async function ask(text: string, values: unknown[] = [queue]): Promise<Record<string, unknown>[]> {
  return (await db.query(text, values)).rows;
}

/** Everything that the server has of the queue, but who owns it. */
async function everything(): Promise<string> {
  const queues = await ask("SELECT queue, tag, last_ref, id FROM sluice_queue WHERE queue = $1");
  const entries = await ask("SELECT * FROM sluice_queue_entries WHERE queue = $1 ORDER BY ref");
  const notes = await ask("SELECT * FROM sluice_queue_notes WHERE queue = $1 ORDER BY number");
  return JSON.stringify([...queues, ...entries, ...notes], (_, value) =>
    value?.type === "Buffer" ? Buffer.from(value.data).toString("latin1") : value,
  );
}

const notesOf = async (keys: Keyring) => {
  const { store } = await opened(keys);
  const notes = await store.notes.load();
  await store.close();
  return notes.map(({ bytes }) => Buffer.from(bytes).toString());
};

describe.skipIf(postgresProgram === undefined)("an encrypted queue in postgres", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
    db = await postgres.connect();
  });
  afterAll(() => postgres?.close());
  beforeEach(() => {
    queue = `agent/${randomUUID()}`;
  });

  it("has nothing of what is in it in plain text on the server, and gives it back", async () => {
    await fill(keyring("a"), `${SECRET} one`);
    const kept = await everything();
    expect(kept).not.toContain(SECRET);
    expect(kept).not.toContain(Buffer.from(SECRET).toString("base64").slice(0, -4));
    const { store, report } = await opened(keyring("a"));
    expect(report).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect((await textsIn(store)).map((text) => text.slice(0, 20))).toEqual(
      ["one", "large xxxxxxxxxxx", "updated", "replayed"].map((text) => `${SECRET} ${text}`.slice(0, 20)),
    );
    expect(await textsIn(store, "failed")).toEqual([`${SECRET} dead`]);
    await store.close();
    expect(await notesOf(keyring("a"))).toEqual([SECRET]);
    expect(await everything()).not.toContain(SECRET);
  });

  it.each<[string, () => Keyring | undefined, RegExp]>([
    ["no keys", () => undefined, /encrypted with the key "a": add it/],
    ["another key", () => keyring("b"), /encrypted with the key "a": add it/],
    ["another key of the same name", () => new Keyring([key("b", "a")], key("b", "a")), /"a" is not the one/],
  ])("is not opened with %s, and not touched", async (_, keys, message) => {
    await fill(keyring("a"), "one");
    const before = await everything();
    await expect(opened(keys())).rejects.toMatchObject({ code: "wrong_key", message: expect.stringMatching(message) });
    expect(await everything()).toBe(before);
    const { store } = await opened(keyring("a"));
    expect(await textsIn(store)).toHaveLength(4);
    await store.close();
  });

  it("is not opened either when only a note or a payload needs the key", async () => {
    await fill(keyring("a"), "one");
    const { store } = await opened(keyring("b", "a"));
    for (const { ref, entry } of await store.pending(undefined, 10)) store.update(ref, { ...entry, attempts: 2 });
    for (const { ref, entry } of await store.failed(undefined, 10, "oldest")) await store.fail(ref, entry);
    await store.close();
    await expect(opened(keyring("b"))).rejects.toMatchObject({ code: "wrong_key", message: /the key "a"/ });
    const again = await opened(keyring("b", "a"));
    expect(await textsIn(again.store)).toHaveLength(4);
    await again.store.delete((await again.store.pending(undefined, 10)).map(({ ref }) => ref));
    await again.store.delete((await again.store.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    await again.store.close();
    await expect(opened(keyring("b"))).rejects.toMatchObject({ code: "wrong_key" });
  });

  it("is read with the keys of before and written with a new one, until nothing needs the old one", async () => {
    await fill(keyring("a"), "one");
    const { store } = await opened(keyring("b", "a"));
    const { ref: newest } = await store.put(newEntry("new"));
    expect(await textsIn(store)).toHaveLength(5);
    for (const { ref } of await store.pending(undefined, 10)) if (ref !== newest) store.ack(ref);
    await store.delete((await store.failed(undefined, 10, "oldest")).map(({ ref }) => ref));
    store.notes.remove((await store.notes.load()).map(({ number }) => number));
    await store.close();
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
    expect(await everything()).not.toContain(`${SECRET} encrypted`);
    const off = (await opened(readingKeyring("a"))).store;
    await off.put(newEntry("plain again"));
    // An entry that is written anew keeps saying how its payload was encrypted.
    for (const { ref, entry } of await off.pending(undefined, 10)) off.update(ref, { ...entry, attempts: 1 });
    await off.close();
    const reading = (await opened(readingKeyring("a"))).store;
    expect((await textsIn(reading)).slice(-2)).toEqual([`${SECRET} encrypted`, "plain again"]);
    for (const { ref } of (await reading.pending(undefined, 10)).slice(0, -1)) reading.ack(ref);
    await reading.close();
    const without = (await opened(undefined)).store;
    expect(await textsIn(without)).toEqual(["plain again"]);
    await without.close();
  });

  it("takes nothing that is not encrypted, where that is refused", async () => {
    await fill(undefined, "plain");
    const strict = new Keyring([key("a")], key("a"), true);
    const before = await everything();
    await expect(opened(strict)).rejects.toMatchObject({ code: "wrong_key", message: /refuse_plain/ });
    expect(withoutId(await everything())).toBe(withoutId(before));
  });

  it.each<[string, (value: Buffer, other: Buffer) => Buffer]>([
    ["a bit is flipped in it", (value) => flipped(value, 100)],
    ["a bit is flipped in it and the checksum mended", (value) => withChecksum(flipped(value, 100))],
    ["its tag is changed", (value) => withChecksum(flipped(value, value.length - 1))],
    ["its key is another one", (value) => withChecksum(flipped(value, 18))],
    ["it is cut", (value) => value.subarray(0, 30)],
    ["it is empty", () => Buffer.alloc(0)],
    ["it is that of another entry", (_, other) => other],
    [
      "it is that of another entry, under its own place",
      (value, other) => withChecksum(Buffer.concat([value.subarray(0, 16), other.subarray(16)])),
    ],
  ])("sets one entry aside and no other when %s", async (_, damaged) => {
    const { store } = await opened(keyring("a"));
    const [one, two] = await Promise.all(["one", "two", "three"].map((text) => store.put(newEntry(text))));
    const rows = await ask("SELECT payload FROM sluice_queue_entries WHERE queue = $1 ORDER BY ref");
    const [value, other] = rows.map(({ payload }) => payload as Buffer);
    const change = "UPDATE sluice_queue_entries SET payload = $3 WHERE queue = $1 AND ref = $2";
    await ask(change, [queue, one!.ref, damaged(value!, other!)]);
    await expect(store.payload(one!.ref)).rejects.toMatchObject({ code: "corrupt" });
    expect(await textsIn(store)).toEqual(["two", "three"]);
    expect(store.stats.corrupt).toBe(1);
    await store.close();
    const again = await opened(keyring("a"));
    expect(again.report.corruptEntries).toBe(0);
    expect(again.store.stats.corrupt).toBe(1);
    expect(await textsIn(again.store)).toEqual(["two", "three"]);
    expect(await again.store.find(two!.entry.id)).toBeDefined();
    await again.store.close();
    expect(await ask("SELECT 1 FROM sluice_queue_entries WHERE queue = $1")).toHaveLength(3);
  });

  it("sets an entry aside whose head was changed or moved, and says so once", async () => {
    const { store } = await opened(keyring("a"));
    const [one, two] = await Promise.all(["one", "two", "three"].map((text) => store.put(newEntry(text))));
    await store.close();
    const [{ entry } = {}] = await ask("SELECT entry FROM sluice_queue_entries WHERE queue = $1 AND ref = $2", [
      queue,
      two!.ref,
    ]);
    await ask("UPDATE sluice_queue_entries SET entry = $3 WHERE queue = $1 AND ref = $2", [queue, one!.ref, entry]);
    const { store: again, report } = await opened(keyring("a"));
    expect(report.corruptEntries).toBe(1);
    expect(await textsIn(again)).toEqual(["two", "three"]);
    await again.close();
    const third = await opened(keyring("a"));
    expect(third.report.corruptEntries).toBe(0);
    await third.store.close();
  });

  it("does not open what was encrypted for another queue, and finds its id again when that is lost", async () => {
    const first = queue;
    await fill(keyring("a"), "one");
    queue = `agent/${randomUUID()}`;
    const { store } = await opened(keyring("a"));
    const { ref } = await store.put(newEntry("mine"));
    await store.close();
    const copy = "UPDATE sluice_queue_entries e SET entry = o.entry, payload = o.payload FROM sluice_queue_entries o";
    await ask(`${copy} WHERE e.queue = $1 AND e.ref = $3 AND o.queue = $2 AND o.ref = 1`, [queue, first, ref]);
    const other = await opened(keyring("a"));
    expect(await textsIn(other.store)).toEqual([]);
    expect(other.report.corruptEntries).toBe(1);
    await other.store.close();
    queue = first;
    await ask("UPDATE sluice_queue SET id = NULL WHERE queue = $1");
    const mine = await opened(keyring("a"));
    expect(await textsIn(mine.store)).toHaveLength(4);
    await mine.store.put(newEntry("more"));
    await mine.store.close();
    const last = await opened(keyring("a"));
    expect(await textsIn(last.store)).toHaveLength(5);
    await last.store.close();
  });
});

/** A queue gets its id when keys are there for it, whatever is in it. */
function withoutId(text: string): string {
  return text.replace(/"id":("[\da-f]+"|null)/, "");
}

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
