import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../src/runtime/queue/store/level-store.js";
import type { StoredEntry } from "../../../../src/runtime/queue/store/store.js";
import { runs } from "../../../support/runs.js";
import { bodies } from "../../../support/telemetry/batches.js";
import { failedEntry, newEntry } from "./entries.js";
import { makePlace, type Place } from "./level-harness.js";

/** The expected content of a store, in the order of the queue. */
interface Expected {
  readonly id: string;
  readonly text: string;
  state: StoredEntry["entry"]["state"];
  attempts: number;
}

interface Model {
  /** By ref. */
  readonly entries: Map<number, Expected>;
  /** Acknowledged or updated, and perhaps not yet written; with what was there before. */
  unwritten: Map<number, Expected>;
}

interface Real {
  place: Place;
  store: LevelStore;
  readonly ids: Set<string>;
  texts: number;
  readonly places: Place[];
}

type Command = fc.AsyncCommand<Model, Real>;

class Step implements Command {
  private readonly name: string;
  private readonly work: (model: Model, real: Real) => Promise<void>;
  private readonly allowed: (model: Model) => boolean;

  constructor(
    name: string,
    work: (model: Model, real: Real) => Promise<void>,
    allowed: (m: Model) => boolean = () => true,
  ) {
    this.name = name;
    this.work = work;
    this.allowed = allowed;
  }

  check(model: Readonly<Model>): boolean {
    return this.allowed(model);
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.work(model, real);
    await agree(model, real);
  }

  toString(): string {
    return this.name;
  }
}

const refsIn = (model: Model, state: Expected["state"]) =>
  [...model.entries].filter(([, entry]) => entry.state === state).map(([ref]) => ref);
const has = (state: Expected["state"]) => (model: Model) => refsIn(model, state).length > 0;
const pick = (model: Model, state: Expected["state"], n: number) => {
  const refs = refsIn(model, state);
  return refs[n % refs.length]!;
};

function keep(model: Model, real: Real, stored: readonly StoredEntry[], texts: readonly string[]): void {
  for (const [i, { ref, entry }] of stored.entries()) {
    expect(real.ids.has(entry.id)).toBe(false);
    real.ids.add(entry.id);
    model.entries.set(ref, { id: entry.id, text: texts[i]!, state: entry.state, attempts: entry.attempts });
  }
  model.unwritten = new Map();
}

async function entryOf(real: Real, ref: number, model: Model) {
  return (await real.store.find(model.entries.get(ref)!.id))!.entry;
}

/** The store holds what the model says, wherever one looks. */
async function agree(model: Model, real: Real): Promise<void> {
  for (const state of ["pending", "failed"] as const) {
    const list =
      state === "pending"
        ? await real.store.pending(undefined, 1e6)
        : await real.store.failed(undefined, 1e6, "oldest");
    const expected = refsIn(model, state).sort((a, b) => a - b);
    expect(list.map(({ ref }) => ref)).toEqual(expected);
    expect(list.map(({ entry }) => [entry.id, entry.state, entry.attempts])).toEqual(
      expected.map((ref) => [model.entries.get(ref)!.id, state, model.entries.get(ref)!.attempts]),
    );
    for (const { ref } of list) expect(bodies(await real.store.payload(ref))).toEqual([model.entries.get(ref)!.text]);
    if (model.unwritten.size === 0) expect(real.store.stats[state].entries).toBe(list.length);
  }
}

async function reopen(real: Real): Promise<void> {
  await real.store.close();
  real.store = real.place.store();
  expect(await real.store.open()).toEqual({ isNew: false, lostEntries: 0, corruptEntries: 0, setAside: undefined });
}

/** A copy of a place at one moment: taken again if LevelDB made or removed files meanwhile. */
function snapshot(place: Place): Place {
  for (;;) {
    const copy = makePlace();
    const files = readdirSync(place.directory).join();
    try {
      cpSync(place.root, copy.root, { recursive: true });
      if (readdirSync(place.directory).join() === files) return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    rmSync(copy.root, { recursive: true });
  }
}

/** Takes the directory as it is at this moment: what a killed process would leave. */
async function crash(model: Model, real: Real): Promise<void> {
  const copy = snapshot(real.place);
  real.places.push(copy);
  await real.store.close();
  real.place = copy;
  real.store = copy.store();
  expect(await real.store.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
  for (const [ref, before] of model.unwritten) {
    const found = await real.store.find(before.id);
    if (found === undefined) expect(model.entries.has(ref)).toBe(false);
    else {
      expect([before.attempts, model.entries.get(ref)?.attempts]).toContain(found.entry.attempts);
      model.entries.set(ref, { ...before, attempts: found.entry.attempts });
    }
  }
  model.unwritten = new Map();
}

/** Flips a bit of the log. What is left is taken for true, if it was ever true, and if the damage was told. */
async function corrupt(model: Model, real: Real, share: number): Promise<void> {
  await real.store.close();
  const log = readdirSync(real.place.directory).find((name) => name.endsWith(".log"))!;
  const bytes = readFileSync(join(real.place.directory, log));
  bytes[Math.floor(bytes.length * share)]! ^= 4;
  writeFileSync(join(real.place.directory, log), bytes);
  real.store = real.place.store();
  const report = await real.store.open();
  const before = new Map(model.entries);
  model.entries.clear();
  const list = [...(await real.store.pending(undefined, 1e6)), ...(await real.store.failed(undefined, 1e6, "oldest"))];
  for (const { ref, entry } of list) {
    expect(real.ids.has(entry.id)).toBe(true);
    const [text] = bodies(await real.store.payload(ref));
    model.entries.set(ref, { id: entry.id, text: text!, state: entry.state, attempts: entry.attempts });
  }
  const told = report.setAside !== undefined || report.lostEntries > 0;
  if ([...before.keys()].some((ref) => !model.entries.has(ref))) expect(told).toBe(true);
  model.unwritten = new Map();
}

const number = fc.nat(1000);
const commands = [
  fc.tuple(fc.constantFrom(10, 10, 10, 3000, 700_000), fc.integer({ min: 1, max: 4 })).map(
    ([size, count]) =>
      new Step(`put ${count} of ${size}`, async (model, real) => {
        const texts = Array.from({ length: count }, () => `${real.texts++}:`.padEnd(size, "x"));
        keep(model, real, await Promise.all(texts.map((text) => real.store.put(newEntry(text)))), texts);
      }),
  ),
  number.map(
    (n) =>
      new Step(
        `ack ${n}`,
        async (model, real) => {
          const ref = pick(model, "pending", n);
          model.unwritten.set(ref, model.unwritten.get(ref) ?? { ...model.entries.get(ref)! });
          real.store.ack(ref);
          model.entries.delete(ref);
        },
        has("pending"),
      ),
  ),
  fc.tuple(number, fc.nat(9), fc.constantFrom("pending", "failed")).map(
    ([n, attempts, state]) =>
      new Step(
        `update ${state} ${n}`,
        async (model, real) => {
          const ref = pick(model, state, n);
          const entry = await entryOf(real, ref, model);
          model.unwritten.set(ref, model.unwritten.get(ref) ?? { ...model.entries.get(ref)! });
          real.store.update(ref, { ...entry, attempts });
          model.entries.get(ref)!.attempts = attempts;
        },
        has(state),
      ),
  ),
  number.map(
    (n) =>
      new Step(
        `fail ${n}`,
        async (model, real) => {
          const ref = pick(model, "pending", n);
          const failed = failedEntry(await entryOf(real, ref, model));
          await real.store.fail(ref, failed);
          Object.assign(model.entries.get(ref)!, { state: "failed", attempts: failed.attempts });
          model.unwritten = new Map();
        },
        has("pending"),
      ),
  ),
  fc.tuple(number, fc.integer({ min: 0, max: 3 })).map(
    ([n, count]) =>
      new Step(
        `replace ${n} by ${count}`,
        async (model, real) => {
          const ref = pick(model, "pending", n);
          const texts = Array.from({ length: count }, () => `${real.texts++}`);
          const parts = texts.map((text, i) => ({
            ...newEntry(text),
            fields: i === 0 ? { state: "failed" as const } : {},
          }));
          const stored = await real.store.replace(ref, parts);
          model.entries.delete(ref);
          keep(model, real, stored, texts);
        },
        has("pending"),
      ),
  ),
  number.map(
    (n) =>
      new Step(
        `replay ${n}`,
        async (model, real) => {
          const ref = pick(model, "failed", n);
          const entry = await entryOf(real, ref, model);
          const [back] = await real.store.replay([{ ref, entry: { ...entry, attempts: 0 } }]);
          const before = model.entries.get(ref)!;
          model.entries.delete(ref);
          model.entries.set(back!.ref, { ...before, state: "pending", attempts: 0 });
          model.unwritten = new Map();
        },
        has("failed"),
      ),
  ),
  fc.tuple(number, fc.constantFrom("pending", "failed")).map(
    ([n, state]) =>
      new Step(
        `delete ${state} ${n}`,
        async (model, real) => {
          const ref = pick(model, state, n);
          await real.store.delete([ref]);
          model.entries.delete(ref);
          model.unwritten = new Map();
        },
        has(state),
      ),
  ),
  fc.constant(
    new Step("reopen", async (model, real) => {
      await reopen(real);
      model.unwritten = new Map();
    }),
  ),
  fc.constant(new Step("crash", crash)),
  fc
    .double({ min: 0, max: 0.999, noNaN: true })
    .map((share) => new Step(`corrupt ${share}`, (m, r) => corrupt(m, r, share), has("pending"))),
];

describe("a queue on disk", () => {
  it("agrees with a simple model after any operations", async () => {
    const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: "max" }), async (steps) => {
      const place = makePlace();
      const real: Real = { place, store: place.store(), ids: new Set(), texts: 0, places: [place] };
      await real.store.open();
      try {
        await fc.asyncModelRun(() => ({ model: { entries: new Map(), unwritten: new Map() }, real }), steps);
      } finally {
        await real.store.close();
        for (const used of real.places) await used.remove();
      }
    });
    await fc.assert(property, runs(8));
  });
});
