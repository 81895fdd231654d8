import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makeLevelDb } from "../../../../../../src/runtime/queue/store/level/level-db.js";
import type { LevelStore } from "../../../../../../src/runtime/queue/store/level-store.js";
import type { OpenReport } from "../../../../../../src/runtime/queue/store/store.js";
import { newEntry } from "../../entries.js";
import { fillStore, LIVE_ENTRIES } from "../../filled-store.js";
import { makePlace, type Place, textsIn } from "../../level-harness.js";

let filled: Place;
let place: Place;
let store: LevelStore;
let whole: string[];
beforeAll(async () => {
  filled = makePlace();
  await fillStore(filled);
  store = filled.store();
  await store.open();
  whole = await allTexts();
  await store.close();
});
afterAll(() => filled.remove());
beforeEach(() => {
  place = makePlace();
  cpSync(filled.root, place.root, { recursive: true });
});
afterEach(async () => {
  await store.close();
  await place.remove();
});

const at = (...names: string[]) => join(place.directory, ...names);
const dataFiles = (folder: string) => readdirSync(folder).filter((name) => /^(CURRENT|MANIFEST.*|\d+\..*)$/.test(name));
const foldersAside = () => readdirSync(join(place.root, ".set-aside"));

async function allTexts(): Promise<string[]> {
  return [...(await textsIn(store)), ...(await textsIn(store, "failed"))];
}

/** Opens the store. Only a number of entries may be missing, and the store reports it. */
async function expectAllBut(lostEntries: number): Promise<OpenReport> {
  store = place.store();
  const report = await store.open();
  expect(report).toMatchObject({ isNew: false, lostEntries, corruptEntries: 0 });
  const texts = await allTexts();
  expect(whole).toEqual(expect.arrayContaining(texts));
  expect(texts).toHaveLength(whole.length - lostEntries);
  expect(readdirSync(place.directory)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^[A-UX-Z]+ING$|rebuilt/)]),
  );
  await store.close();
  await store.open();
  expect(await allTexts()).toEqual(texts);
  return report;
}

describe("a database that is made anew", () => {
  it("has what was written last under every key, in the order it was in", async () => {
    expect(whole).toHaveLength(LIVE_ENTRIES);
    rmSync(at("CURRENT"));
    const { setAside } = await expectAllBut(0);
    expect(await allTexts()).toEqual(whole);
    expect(dataFiles(setAside!)).toContainEqual(expect.stringMatching(/ldb$/));
    await store.put(newEntry("new"));
    expect((await textsIn(store)).at(-1)).toBe("new");
  });

  it("uses tables and logs that a MANIFEST whose end is gone does not name", async () => {
    const manifest = at(dataFiles(place.directory).find((name) => name.startsWith("MANIFEST"))!);
    const bytes = readFileSync(manifest);
    const firstEdit = 7 + bytes.readUInt16LE(4);
    writeFileSync(manifest, bytes.subarray(0, firstEdit + 7 + bytes.readUInt16LE(firstEdit + 4)));
    await expectAllBut(0);
  });

  it("begins again when it was interrupted before the new one was whole", async () => {
    rmSync(at("CURRENT"));
    const makeDb = (directory: string) => {
      if (basename(directory) === "rebuilt") throw new Error("killed");
      return makeLevelDb(directory);
    };
    await expect(place.store({}, { makeDb }).open()).rejects.toThrow("killed");
    mkdirSync(at("rebuilt"), { recursive: true });
    writeFileSync(at("rebuilt", "000007.ldb"), "half of a table");
    await expectAllBut(0);
    expect(foldersAside()).toHaveLength(1);
  });

  /** Rebuilds it, and puts files back to where they were before the new database had taken the place of the old one. */
  async function interruptSwap(mark: "REBUILT" | "SWAPPING", movedFiles: number): Promise<string> {
    rmSync(at("CURRENT"));
    store = place.store();
    const folder = (await store.open()).setAside!;
    await store.close();
    mkdirSync(at("rebuilt"));
    const names = dataFiles(place.directory).sort();
    for (const name of mark === "SWAPPING" ? names.slice(movedFiles) : names) renameSync(at(name), at("rebuilt", name));
    const oldNames = mark === "REBUILT" ? dataFiles(folder).slice(movedFiles) : [];
    for (const name of oldNames) renameSync(join(folder, name), at(name));
    writeFileSync(at(mark), folder);
    writeFileSync(at("REPAIRING"), JSON.stringify({ folder, lostEntries: 0, corruptEntries: 0 }));
    return folder;
  }

  it.each([
    ["REBUILT", 0],
    ["REBUILT", 2],
    ["SWAPPING", 0],
    ["SWAPPING", 2],
  ] as const)(
    "continues where it was interrupted while it replaced the old one (%s, %i moved)",
    async (mark, moved) => {
      const folder = await interruptSwap(mark, moved);
      expect((await expectAllBut(0)).setAside).toBe(folder);
      expect(foldersAside()).toHaveLength(1);
      expect(dataFiles(folder).length).toBeGreaterThanOrEqual(3);
    },
  );
});

describe("a repair that was interrupted after it had counted", () => {
  it("is reported at the next opening of the store", async () => {
    writeFileSync(at("REPAIRING"), JSON.stringify({ lostEntries: 3, corruptEntries: 2 }));
    store = place.store();
    expect(await store.open()).toMatchObject({ lostEntries: 3, corruptEntries: 2, setAside: undefined });
    await store.close();
    expect(await store.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0 });
  });
});

describe("an opening that never came back", () => {
  it("is tried once more, and all is compared before", async () => {
    writeFileSync(at("OPENING"), "1");
    expect((await expectAllBut(0)).setAside).toBeUndefined();
  });

  it("is not tried a third time: the database is rebuilt", async () => {
    writeFileSync(at("OPENING"), "2");
    expect(existsSync((await expectAllBut(0)).setAside!)).toBe(true);
  });
});
