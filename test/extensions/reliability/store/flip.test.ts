import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenReport } from "../../../../src/extensions/reliability/store/store.js";
import { failedEntry, newEntry } from "./entries.js";
import { makePlace, type Place } from "./level-harness.js";

const CHILD = fileURLToPath(new URL("flip-child.mjs", import.meta.url));
const LIVE = 38;

interface Flip {
  readonly file: string;
  readonly at: number;
  readonly bit: number;
}

interface Look {
  readonly report: OpenReport;
  readonly pending: string[];
  readonly failed: string[];
  readonly corrupt: number;
}

/** Which files, how many flips in each, and how many entries a flip may cost at most. */
const CASES = [
  [/\.ldb$/, 8, 2],
  [/\.log$/, 3, 6],
  [/MANIFEST/, 2, 0],
  [/CURRENT/, 1, 0],
  [/witness$/, 1, 0],
] as const;

let place: Place;
let all: Looks;
beforeAll(async () => {
  place = makePlace();
  await fill();
  all = await lookAt(CASES.flatMap(([pattern, count]) => flipsIn(pattern, count)));
});
afterAll(() => place.remove());

/** Three tables and a log: small and large entries, dead letters, replayed, changed and delivered ones. */
async function fill(): Promise<void> {
  const store = place.store();
  await store.open();
  const put = [];
  for (let n = 0; n < 30; n++) put.push(await store.put(newEntry(`${n}`.padEnd(sizeOf(n), "."))));
  for (const { ref, entry } of put.slice(0, 8)) await store.fail(ref, failedEntry(entry));
  for (const { ref } of put.slice(8, 12)) store.ack(ref);
  for (const { ref, entry } of put.slice(12, 16)) store.update(ref, { ...entry, attempts: 2 });
  await store.replay(put.slice(0, 3).map(({ ref, entry }) => ({ ref, entry })));
  for (let round = 0; round < 3; round++) {
    await store.close();
    await store.open();
    for (let n = 0; n < 5; n++) put.push(await store.put(newEntry(`${round}:${n}`.padEnd(2000, "."))));
    store.ack(put[20 + round]!.ref);
  }
  await store.close();
}

const sizeOf = (n: number) => (n % 10 === 9 ? 300_000 : n % 3 === 0 ? 20_000 : 300);

/** The same ones every time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Somewhere in a file, but not in the middle of a long payload. */
function flipsIn(pattern: RegExp, count: number): Flip[] {
  const next = random(count);
  const names = [...readdirSync(place.directory).map((name) => `queue/${name}`), "queue.witness"];
  return names
    .filter((name) => pattern.test(name))
    .flatMap((file) => {
      const bytes = readFileSync(join(place.root, file));
      const places = [...bytes.keys()].filter((at) => !/^\.+$/.test(bytes.toString("latin1", at - 16, at + 16)));
      return Array.from({ length: count }, () => ({
        file,
        at: places[Math.floor(next() * places.length)]!,
        bit: Math.floor(next() * 8),
      }));
    });
}

interface Looks {
  readonly looks: readonly { readonly flip: Flip; readonly first: Look; readonly second: Look }[];
  /** How the process ended that looked, and the flip after which it did not look any more. */
  readonly end: { readonly code?: unknown; readonly signal?: unknown; readonly at?: Flip | undefined };
}

async function lookAt(flips: readonly Flip[]): Promise<Looks> {
  const child = promisify(execFile)(process.execPath, [CHILD, place.root, JSON.stringify(flips)]);
  const ended = (error: { stdout: string; code: unknown; signal: unknown }) => error;
  const { stdout, code, signal } = await child.then(({ stdout }) => ({ stdout, code: 0, signal: null }), ended);
  const looks = stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Looks["looks"][number]]));
  return { looks, end: { code, signal, at: flips[looks.length] } };
}

describe("one flipped bit", () => {
  it("ends no process", () => {
    expect(all.end).toEqual({ code: 0, signal: null, at: undefined });
  });

  for (const [pattern, count, most] of CASES)
    it(`in ${pattern.source} hides nothing else, and what it cost is told`, () => {
      const looks = all.looks.filter(({ flip }) => pattern.test(flip.file));
      expect(looks.length).toBeGreaterThanOrEqual(count);
      for (const { flip, first, second } of looks) {
        const where = JSON.stringify(flip);
        const found = [...first.pending, ...first.failed];
        expect(new Set(found).size, where).toBe(found.length);
        expect(found.length, where).toBeGreaterThanOrEqual(LIVE - most);
        const told = first.report.lostEntries + first.corrupt;
        expect(found.length + told, where).toBeGreaterThanOrEqual(LIVE);
        expect(second, where).toMatchObject({ pending: first.pending, failed: first.failed, corrupt: first.corrupt });
        expect(second.report, where).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0 });
      }
    });
});
