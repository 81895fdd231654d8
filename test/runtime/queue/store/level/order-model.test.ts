import { cpSync, readdirSync, rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LevelStore } from "../../../../../src/runtime/queue/store/level-store.js";
import { runs } from "../../../../support/runs.js";
import { makePlace, type Place } from "../level-harness.js";
import { OrderModel } from "./order-model.js";
import { type DiskOutcome, ScriptedDisk } from "./scripted-disk.js";

/** The store under test, on a disk whose writes wait, fail, or fail after all is written. */
class Bench {
  readonly model = new OrderModel();
  disk = new ScriptedDisk();
  private place: Place = makePlace();
  private store!: LevelStore;

  async open(): Promise<void> {
    this.store = this.place.store({}, { makeDb: this.disk.make });
    expect(await this.store.open()).toMatchObject({ lostEntries: 0, corruptEntries: 0, setAside: undefined });
    await this.model.follow(this.store);
  }

  /** Everything that was called is written, and is there also for the next process. */
  async settle(): Promise<void> {
    this.disk.release();
    await this.model.settle();
    await this.model.expectSettled();
  }

  async reopen(): Promise<void> {
    await this.settle();
    await this.store.close();
    await this.open();
    await this.model.expectSettled();
    this.disk.hold();
  }

  async crash(): Promise<void> {
    while (!this.disk.isQuiet) await delay(1);
    const [old, copy] = [this.place, snapshot(this.place)];
    await this.model.kill(() => this.end());
    await old.remove();
    this.place = copy;
    this.disk = new ScriptedDisk();
    await this.open();
    await this.model.expectAfterCrash();
    this.disk.hold();
  }

  async end(): Promise<void> {
    this.disk.release();
    await this.store.close();
  }

  remove(): Promise<void> {
    return this.place.remove();
  }
}

/** A copy of a place at one moment. It is made again if files came or went meanwhile. */
function snapshot(place: Place): Place {
  for (;;) {
    const copy = makePlace();
    const names = readdirSync(place.directory).join();
    try {
      cpSync(place.root, copy.root, { recursive: true });
      if (readdirSync(place.directory).join() === names) return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    rmSync(copy.root, { recursive: true });
  }
}

/** Longer than acknowledgements and updates wait for other changes. */
const LAZY_MS = 25;

async function untilDiskWaits({ disk }: Bench): Promise<void> {
  for (let ms = 0; ms < LAZY_MS && !disk.isWaiting; ms++) await delay(1);
}

/** Prints as its name in a counterexample. */
class Step {
  readonly work: (bench: Bench) => unknown;
  private readonly name: string;

  constructor(name: string, work: (bench: Bench) => unknown) {
    this.name = name;
    this.work = work;
  }

  [fc.toStringMethod](): string {
    return this.name;
  }
}

const number = fc.nat(99);
const call = (name: string, work: (model: OrderModel, n: number) => void) =>
  number.map((n) => new Step(`${name} ${n}`, ({ model }) => work(model, n)));
const write = (outcome: DiskOutcome) => fc.constant(new Step(`write ${outcome}`, ({ disk }) => disk.end(outcome)));
const steps: fc.WeightedArbitrary<Step>[] = [
  { weight: 2, arbitrary: call("put", (model) => model.put()) },
  { weight: 1, arbitrary: call("ack", (model, n) => model.ack(n)) },
  { weight: 5, arbitrary: call("update pending", (model, n) => model.update(n, "pending")) },
  { weight: 2, arbitrary: call("update failed", (model, n) => model.update(n, "failed")) },
  { weight: 4, arbitrary: call("fail", (model, n) => model.fail(n)) },
  { weight: 1, arbitrary: call("remove", (model, n) => model.remove(n)) },
  { weight: 1, arbitrary: call("replace", (model, n) => model.replace(n)) },
  { weight: 2, arbitrary: call("replay", (model, n) => model.replay(n)) },
  { weight: 2, arbitrary: call("read", (model) => model.read()) },
  { weight: 5, arbitrary: write("done") },
  { weight: 1, arbitrary: write("failed") },
  { weight: 1, arbitrary: write("late") },
  { weight: 5, arbitrary: fc.constant(new Step("wait for the disk", untilDiskWaits)) },
  { weight: 1, arbitrary: fc.constant(new Step("crash", (bench) => bench.crash())) },
  { weight: 1, arbitrary: fc.constant(new Step("reopen", (bench) => bench.reopen())) },
];

const sequences = fc.array(fc.oneof(...steps), { minLength: 10, maxLength: 50, size: "max" });

async function holds(sequence: readonly Step[]): Promise<void> {
  const bench = new Bench();
  await bench.open();
  try {
    for (let i = 0; i < 3; i++) bench.model.put();
    await bench.settle();
    bench.disk.hold();
    for (const { work } of sequence) await work(bench);
    await bench.reopen();
  } finally {
    await bench.end();
    await bench.remove();
  }
}

describe("a store on a slow and failing disk", () => {
  it("has each entry as the calls for it made it, in their order, also after a crash", async () => {
    // Shrinking would open hundreds of stores. The seed and the path in the message repeat the failure.
    await fc.assert(fc.asyncProperty(sequences, holds), { ...runs(15), endOnFailure: true });
  });
});
