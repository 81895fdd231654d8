import { afterEach, expect, it, vi } from "vitest";
import { GroupCommit, type StoreChange } from "../../../../../src/runtime/queue/store/level/changes.js";

function change(name: string, lazy: boolean, done: () => void): StoreChange & { name: string } {
  return { name, refs: [], bytes: 1, lazy, apply() {}, done, fail() {} };
}

it.each([true, false])("writes what is added as soon as the last commit is known (lazy: %s)", async (lazy) => {
  const written: string[][] = [];
  const commits = new GroupCommit({
    commit: async (changes) => void written.push(changes.map((each) => (each as StoreChange & { name: string }).name)),
    lazyMs: 1,
    retryMs: 1,
  });
  // Code that awaits a promise continues some turns of the microtask queue later: none of them may be the wrong one.
  for (let turns = 0; turns < 12; turns++) {
    await new Promise<void>((resolve) => {
      const addSecond = async () => {
        for (let i = 0; i < turns; i++) await undefined;
        commits.add(change("second", lazy, resolve));
      };
      commits.add(change("first", false, () => void addSecond()));
    });
  }
  expect(written.flat()).toHaveLength(24);
  commits.stop();
});

it("writes together what is added while it writes, in order", async () => {
  const written: string[][] = [];
  let release = () => {};
  const commits = new GroupCommit({
    commit: (changes) => {
      written.push(changes.map((each) => (each as StoreChange & { name: string }).name));
      return new Promise((resolve) => {
        release = resolve;
      });
    },
    lazyMs: 1,
    retryMs: 1,
  });
  const all = ["a", "b", "c"].map((name) => new Promise<void>((done) => commits.add(change(name, false, done))));
  await expect.poll(() => written).toHaveLength(1);
  const more = ["d", "e"].map((name) => new Promise<void>((done) => commits.add(change(name, false, done))));
  release();
  await Promise.all(all);
  await expect.poll(() => written).toHaveLength(2);
  release();
  await Promise.all(more);
  expect(written).toEqual([
    ["a", "b", "c"],
    ["d", "e"],
  ]);
});

afterEach(() => {
  vi.useRealTimers();
});

it("writes an idle store's only change without waiting for a timer, and with it what comes in the same turn", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const written: string[][] = [];
  const commits = new GroupCommit({
    commit: async (changes) => void written.push(changes.map((each) => (each as StoreChange & { name: string }).name)),
    lazyMs: 1000,
    retryMs: 1000,
  });
  const add = (name: string, lazy = false) => new Promise<void>((done) => commits.add(change(name, lazy, done)));
  await add("only");
  const first = add("first");
  const inSameTurn = Promise.resolve().then(() => add("promised"));
  const ticked = new Promise<void>((done) => process.nextTick(() => commits.add(change("ticked", false, done))));
  const acknowledged = add("acknowledged", true);
  await Promise.all([first, inSameTurn, ticked, acknowledged]);
  expect(written.map((names) => [...names].sort())).toEqual([
    ["only"],
    ["acknowledged", "first", "promised", "ticked"],
  ]);
});
