import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenReport } from "../../../../src/runtime/queue/store/store.js";
import { fillStore, LIVE_ENTRIES, seededRandom } from "./filled-store.js";
import { makePlace, type Place } from "./level-harness.js";

const CHILD = fileURLToPath(new URL("damage-child.mjs", import.meta.url));

/** One file, and what is done to it. */
interface Damage {
  readonly file: string;
  readonly remove?: true;
  readonly cut?: number;
  readonly zero?: readonly [number, number];
  readonly flip?: { readonly at: number; readonly bit: number };
}

interface Look {
  readonly report: OpenReport;
  readonly pending: string[];
  readonly failed: string[];
  readonly corrupt: number;
}

interface Looks {
  readonly looks: readonly { readonly damages: readonly Damage[]; readonly first: Look; readonly second: Look }[];
  /** How the process ended that looked, and the damage after which it did not look any more. */
  readonly end: { readonly code?: unknown; readonly signal?: unknown; readonly at?: readonly Damage[] | undefined };
}

/** Which files, how many flips in each, and how many entries a flip may cost at most. */
const FLIPS = [
  [/\.ldb$/, 8, 2],
  [/\.log$/, 3, 1],
  [/MANIFEST/, 2, 0],
  [/CURRENT/, 1, 0],
  [/witness$/i, 1, 0],
] as const;

let place: Place;
let flips: Looks;
let others: Looks;
beforeAll(async () => {
  place = makePlace();
  await fillStore(place);
  [flips, others] = await Promise.all([
    lookAt(FLIPS.flatMap(([pattern, count]) => flipsIn(pattern, count)).map((flip) => [flip])),
    lookAt(known()),
  ]);
}, 120_000);
afterAll(() => place.remove());

function files(pattern: RegExp): string[] {
  const names = [...readdirSync(place.directory).map((name) => `queue/${name}`), "queue.witness"];
  return names.filter((name) => !/LOCK|LOG/.test(name) && pattern.test(name));
}

const contentOf = (file: string) => readFileSync(join(place.root, file));

/** Somewhere in a file, but not in the middle of a long payload. */
function flipsIn(pattern: RegExp, count: number): Damage[] {
  const next = seededRandom(count);
  return files(pattern).flatMap((file) => {
    const bytes = contentOf(file);
    const places = [...bytes.keys()].filter((at) => !/^\.+$/.test(bytes.toString("latin1", at - 16, at + 16)));
    return Array.from({ length: count }, () => ({
      file,
      flip: { at: places[Math.floor(next() * places.length)]!, bit: Math.floor(next() * 8) },
    }));
  });
}

/** LevelDB, or its repair, ends the process over each of these. */
function known(): Damage[][] {
  const [manifest] = files(/MANIFEST/);
  return files(/\.ldb$/).flatMap((table) => [
    [
      { file: "queue/CURRENT", remove: true },
      { file: table, cut: 100 },
    ],
    [
      { file: manifest!, cut: 40 },
      { file: table, zero: [0, 700] },
    ],
  ]);
}

async function lookAt(cases: readonly (readonly Damage[])[]): Promise<Looks> {
  const child = promisify(execFile)(process.execPath, [CHILD, place.root, JSON.stringify(cases)], {
    maxBuffer: 2 ** 28,
  });
  const ended = (error: { stdout: string; code: unknown; signal: unknown }) => error;
  const { stdout, code, signal } = await child.then(({ stdout }) => ({ stdout, code: 0, signal: null }), ended);
  const looks = stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Looks["looks"][number]]));
  return { looks, end: { code, signal, at: cases[looks.length] } };
}

/** No entry is there twice, and missing entries are reported once. */
function expectTold({ damages, first, second }: Looks["looks"][number], most = LIVE_ENTRIES): void {
  const where = JSON.stringify(damages);
  const found = [...first.pending, ...first.failed];
  expect(new Set(found).size, where).toBe(found.length);
  expect(found.length, where).toBeGreaterThanOrEqual(LIVE_ENTRIES - most);
  const told = first.report.lostEntries + first.corrupt;
  expect(found.length + told, where).toBeGreaterThanOrEqual(LIVE_ENTRIES);
  expect(second, where).toMatchObject({ pending: first.pending, failed: first.failed, corrupt: first.corrupt });
  expect(second.report, where).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0 });
}

describe("one flipped bit", () => {
  it("ends no process", () => {
    expect(flips.end).toEqual({ code: 0, signal: null, at: undefined });
  });

  for (const [pattern, count, most] of FLIPS)
    it(`in ${pattern.source} hides nothing else, and what it cost is told`, () => {
      const looks = flips.looks.filter(({ damages }) => pattern.test(damages[0]!.file));
      expect(looks.length).toBeGreaterThanOrEqual(count);
      for (const look of looks) expectTold(look, most);
    });
});

describe("damage to two files", () => {
  it("ends no process", () => {
    expect(others.end).toMatchObject({ code: 0, signal: null, at: undefined });
  });

  it("hides nothing else, and what it cost is told", () => {
    for (const look of others.looks) expectTold(look);
  });
});
