import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { ClassicLevel } from "classic-level";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import type { OpenReport, StoredEntry } from "../../../../src/runtime/queue/store/store.js";
import { failedEntry, newEntry } from "./entries.js";
import { failingDb } from "./failing-db.js";
import { makePlace, type Place, textsIn } from "./level-harness.js";

let place: Place;
let store: LevelStore;
let put: StoredEntry[];

const PENDING = 40;
const FAILED = 10;
const texts = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => textOf(from + i));
const textOf = (n: number) => `${n}:`.padEnd(3000, String(n));

beforeEach(async () => {
  place = makePlace();
  store = place.store();
  await store.open();
  put = [];
  for (const text of texts(0, PENDING + FAILED)) put.push(await store.put(newEntry(text)));
  for (const { ref, entry } of put.slice(0, FAILED)) await store.fail(ref, failedEntry(entry));
});

afterEach(async () => {
  await store.close();
  await place.remove();
});

const filesLike = (pattern: RegExp) => readdirSync(place.directory).filter((name) => pattern.test(name));
const pathOf = (pattern: RegExp) => join(place.directory, filesLike(pattern)[0]!);

function flip(path: string, share: number): void {
  const bytes = readFileSync(path);
  bytes[Math.min(bytes.length - 1, Math.floor(bytes.length * share))]! ^= 0x10;
  writeFileSync(path, bytes);
}

/** Closes and opens it twice without writes in between, so that everything is in table files. */
async function intoTables(): Promise<void> {
  await store.close();
  store = place.store();
  await store.open();
  await store.close();
}

async function reopen(): Promise<OpenReport> {
  store = place.store();
  return store.open();
}

/** Everything that can still be read is what was put, each once; gives how many that are. */
async function readable(): Promise<{ pending: string[]; failed: string[]; total: number }> {
  const pending = await textsIn(store);
  const failed = await textsIn(store, "failed");
  const all = [...pending, ...failed];
  expect(new Set(all).size).toBe(all.length);
  for (const text of all) expect(text).toBe(textOf(Number.parseInt(text, 10)));
  expect(store.stats.pending.entries).toBe(pending.length);
  expect(store.stats.failed.entries).toBe(failed.length);
  return { pending, failed, total: all.length };
}

async function takesNewEntries(): Promise<void> {
  const ids = new Set(put.map(({ entry }) => entry.id));
  const again = await store.put(newEntry("new"));
  expect(ids.has(again.entry.id)).toBe(false);
  expect((await textsIn(store)).at(-1)).toBe("new");
  await store.delete([again.ref]);
}

describe("a log that is gone", () => {
  it.each(["removed", "emptied"])(
    "loses the entries put since the store was opened, and reports it (%s)",
    async (how) => {
      await intoTables();
      await reopen();
      for (const text of texts(100, 105)) await store.put(newEntry(text));
      await store.close();
      if (how === "removed") rmSync(pathOf(/\.log$/));
      else truncateSync(pathOf(/\.log$/), 0);
      expect(await reopen()).toMatchObject({ lostEntries: 5 });
      expect(await readable()).toMatchObject({ total: PENDING + FAILED });
    },
  );
});

describe("a damaged queue", () => {
  it("reports nothing when nothing is wrong", async () => {
    await store.close();
    expect(await reopen()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    await intoTables();
    expect(await reopen()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect((await readable()).total).toBe(PENDING + FAILED);
  });

  for (const share of [0.02, 0.3, 0.55, 0.8, 0.97])
    it(`keeps all but what a flipped bit in the log hit, at ${share} of it`, async () => {
      await store.close();
      flip(pathOf(/\.log$/), share);
      const report = await reopen();
      expect(report.setAside).toBeDefined();
      expect(readdirSync(report.setAside!).filter((name) => name.endsWith(".log"))).toHaveLength(1);
      const { total } = await readable();
      expect(total).toBeGreaterThanOrEqual(PENDING + FAILED - 1);
      expect(total + report.lostEntries + report.corruptEntries).toBe(PENDING + FAILED);
      expect(report.isNew).toBe(false);
      await takesNewEntries();
    });

  for (const share of [0.001, 0.2, 0.4, 0.6, 0.8, 0.95, 0.999])
    it(`keeps all but what a flipped bit in a table hit, at ${share} of it`, async () => {
      await intoTables();
      const tables = filesLike(/\.ldb$/);
      expect(tables.length).toBeGreaterThan(0);
      for (const name of tables) flip(join(place.directory, name), share);
      const report = await reopen();
      const { total } = await readable();
      expect(total).toBeGreaterThanOrEqual(PENDING + FAILED - 2);
      expect(total + report.lostEntries + store.stats.corrupt).toBeGreaterThanOrEqual(PENDING + FAILED);
      await takesNewEntries();
    });

  for (const share of [0, 0.5, 0.99])
    it(`survives a flipped bit in MANIFEST, at ${share} of it`, async () => {
      await intoTables();
      flip(pathOf(/^MANIFEST/), share);
      const report = await reopen();
      expect(report).toMatchObject({ isNew: false, lostEntries: 0, corruptEntries: 0 });
      expect(existsSync(report.setAside!)).toBe(true);
      expect((await readable()).total).toBe(PENDING + FAILED);
      await takesNewEntries();
    });

  for (const lost of ["CURRENT", "MANIFEST"])
    it(`survives a lost ${lost}`, async () => {
      await store.close();
      await rm(pathOf(new RegExp(`^${lost}`)));
      const report = await reopen();
      expect(report).toMatchObject({ isNew: false, lostEntries: 0, corruptEntries: 0 });
      expect(report.setAside).toBeDefined();
      expect((await readable()).total).toBe(PENDING + FAILED);
      await takesNewEntries();
    });

  it("keeps replayed entries, their payloads and ids through a repair", async () => {
    const again = await store.replay(put.slice(0, 3).map(({ ref, entry }) => ({ ref, entry })));
    await store.fail(again[0]!.ref, failedEntry(again[0]!.entry));
    await store.close();
    await rm(pathOf(/^MANIFEST/));
    expect(await reopen()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect(await textsIn(store)).toEqual([...texts(FAILED, PENDING + FAILED), textOf(1), textOf(2)]);
    expect(await textsIn(store, "failed")).toEqual([...texts(3, FAILED), textOf(0)]);
    for (const { ref, entry } of again) expect((await store.find(entry.id))?.ref).toBe(ref);
  });

  it("survives nonsense in CURRENT", async () => {
    await store.close();
    flip(join(place.directory, "CURRENT"), 0.5);
    const report = await reopen();
    expect(report.setAside).toBeDefined();
    expect((await readable()).total).toBe(PENDING + FAILED);
  });

  it("counts what a lost table took along", async () => {
    await intoTables();
    for (const name of filesLike(/\.ldb$/)) await rm(join(place.directory, name));
    const report = await reopen();
    expect(report.isNew).toBe(false);
    expect(report.lostEntries).toBe(PENDING + FAILED);
    expect(report.setAside).toBeDefined();
    expect((await readable()).total).toBe(0);
    await takesNewEntries();
  });

  it("notices that the end of the log is missing", async () => {
    await store.close();
    const log = pathOf(/\.log$/);
    truncateSync(log, Math.floor(readFileSync(log).length / 2));
    const report = await reopen();
    expect(report.isNew).toBe(false);
    const { total } = await readable();
    expect(total).toBeGreaterThan(10);
    expect(total + report.lostEntries).toBeGreaterThanOrEqual(PENDING + FAILED);
    await takesNewEntries();
  });

  it("notices that the log is gone", async () => {
    await store.close();
    await rm(pathOf(/\.log$/));
    const report = await reopen();
    expect(report).toMatchObject({ isNew: false, lostEntries: PENDING + FAILED });
    await takesNewEntries();
  });

  it("tells an emptied directory from a new one", async () => {
    await store.close();
    await rm(place.directory, { recursive: true });
    const report = await reopen();
    expect(report).toMatchObject({ isNew: false, lostEntries: PENDING + FAILED });
    await takesNewEntries();
  });

  it("replaces a damaged witness", async () => {
    await store.close();
    flip(`${place.directory}.witness`, 0.1);
    const report = await reopen();
    expect(report).toMatchObject({ isNew: false, lostEntries: 0 });
    expect(readdirSync(report.setAside!)).toEqual(["queue.witness"]);
    expect((await readable()).total).toBe(PENDING + FAILED);
    await store.close();
    expect((await reopen()).setAside).toBeUndefined();
  });

  it("starts although its files are beyond repair, and keeps them", async () => {
    await intoTables();
    for (const name of filesLike(/\.ldb$|^MANIFEST/)) writeFileSync(join(place.directory, name), "nonsense");
    const report = await reopen();
    expect(report).toMatchObject({ isNew: false, lostEntries: PENDING + FAILED });
    expect(readdirSync(report.setAside!)).toContain("CURRENT");
    await takesNewEntries();
  });

  /** The end of a table tells where everything in it is. */
  function breakTables(): void {
    for (const name of filesLike(/\.ldb$/)) {
      const bytes = readFileSync(join(place.directory, name));
      rmSync(join(place.directory, name));
      writeFileSync(join(place.directory, name), bytes.fill(0xff, Math.max(0, bytes.length - 100)));
    }
  }

  it("reads tables block by block that cannot be opened", async () => {
    await intoTables();
    breakTables();
    const report = await reopen();
    expect(readdirSync(report.setAside!).some((name) => name.endsWith(".ldb"))).toBe(true);
    expect(report).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect((await readable()).total).toBe(PENDING + FAILED);
    await takesNewEntries();
  });

  it("survives a flipped bit anywhere in the end of a table, where its index and filter are", async () => {
    await intoTables();
    const path = pathOf(/\.ldb$/);
    const whole = readFileSync(path);
    for (let back = 1; back < 400; back += 7) {
      const bytes = Buffer.from(whole);
      bytes[bytes.length - back]! ^= 1 << (back % 8);
      const other = makePlace();
      cpSync(place.root, other.root, { recursive: true });
      writeFileSync(path.replace(place.root, other.root), bytes);
      const damaged = other.store();
      await damaged.open();
      expect((await textsIn(damaged)).length, `${back} from the end`).toBeGreaterThanOrEqual(PENDING - 2);
      await damaged.close();
      await other.remove();
    }
  });

  it("finishes a repair that was interrupted, and tells what was lost all the same", async () => {
    await intoTables();
    const path = pathOf(/\.ldb$/);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0, 80_000, 100_000));
    const failing = failingDb();
    store = place.store({}, { makeDb: failing.make });
    failing.failNextRead(new Error("IO error: Input/output error"));
    await expect(store.open()).rejects.toMatchObject({ code: "io" });
    const report = await reopen();
    expect(report.lostEntries).toBeGreaterThan(0);
    const { total } = await readable();
    expect(total + report.lostEntries + report.corruptEntries).toBe(PENDING + FAILED);
    await store.close();
    expect(await reopen()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
  });

  it("keeps tables that another program has compressed, and can read them", async () => {
    await store.close();
    const db = new ClassicLevel(place.directory, { compression: true });
    await db.compactRange("", "z");
    await db.close();
    expect(await reopen()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
    expect((await readable()).total).toBe(PENDING + FAILED);
    await store.close();
    rmSync(join(place.directory, "CURRENT"));
    expect(await reopen()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
    expect((await readable()).total).toBe(PENDING + FAILED);
  });

  it("repairs itself when LevelDB finds damage while it is open", async () => {
    await intoTables();
    const reports: OpenReport[] = [];
    const failing = failingDb();
    store = place.store({}, { makeDb: failing.make, onDamage: (report) => reports.push(report) });
    await store.open();
    await store.put(newEntry("later"));
    failing.failNextRead(Object.assign(new Error("Corruption: bad entry in block"), { code: "LEVEL_CORRUPTION" }));
    const [found] = await Promise.all([textsIn(store), store.put(newEntry("meanwhile")), textsIn(store, "failed")]);
    expect(found.slice(0, PENDING + 1)).toEqual([...texts(FAILED, PENDING + FAILED), "later"]);
    expect(reports).toMatchObject([{ lostEntries: 0, corruptEntries: 0 }]);
    expect(existsSync(reports[0]!.setAside!)).toBe(true);
    await takesNewEntries();
  });

  it("sets an entry with a damaged chunk aside and continues", async () => {
    const large = "y".repeat(900_000);
    const { ref, entry } = await store.put(newEntry(large));
    await store.put(newEntry("behind"));
    await intoTables();
    for (const name of filesLike(/\.ldb$/)) {
      const path = join(place.directory, name);
      const bytes = readFileSync(path);
      const at = bytes.indexOf("y".repeat(1000), 300_000);
      if (at < 0) continue;
      bytes[at]! ^= 1;
      writeFileSync(path, bytes);
    }
    await reopen();
    await expect(store.payload(ref)).rejects.toMatchObject({ code: "corrupt" });
    await expect(store.payload(ref)).rejects.toMatchObject({ code: "not_found" });
    expect(await store.find(entry.id)).toBeUndefined();
    expect(store.stats.corrupt).toBe(1);
    expect((await textsIn(store)).at(-1)).toBe("behind");
    await store.close();
    await reopen();
    expect(store.stats).toMatchObject({ corrupt: 1, pending: { entries: PENDING + 1 } });
  });
});

describe("a queue that cannot be opened", () => {
  it("says which directory is in use", async () => {
    const second = place.store();
    const error = await second.open().catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "locked" });
    expect(error.message).toContain(place.directory);
    expect((await readable()).total).toBe(PENDING + FAILED);
  });

  it("leaves a newer version's queue alone", async () => {
    await store.close();
    const witness = `${place.directory}.witness`;
    const { crc32c } = await import("../../../../src/runtime/codecs/crc32c.js");
    const said = readFileSync(witness, "utf8").slice(0, 502).replace('"format":2', '"format":9');
    writeFileSync(witness, `${said} ${crc32c(Buffer.from(said)).toString(16).padStart(8, "0")}\n`);
    const before = readdirSync(place.directory);
    await expect(place.store().open()).rejects.toMatchObject({ code: "newer_version" });
    expect(readdirSync(place.directory)).toEqual(before);
  });
});
