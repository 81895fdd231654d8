import { describe, expect, it } from "vitest";
import { describeLoss } from "../../../../src/runtime/queue/operate/damage-reporter.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../src/runtime/queue/store/store.js";
import { numbers, startQueue } from "../queue.js";

describe("what a queue has lost", () => {
  it.each([
    [{ lostEntries: 0 }, "no entries are lost"],
    [{ lostEntries: 1 }, "1 entry is lost"],
    [{ lostEntries: 3 }, "3 entries are lost"],
    [{ lostEntries: 3, lostBounds: { atLeast: 3, atMost: undefined } }, "at least 3 entries are lost"],
    [{ lostEntries: 9, lostBounds: { atLeast: 0, atMost: 9 } }, "at most 9 entries are lost"],
    [{ lostEntries: 9, lostBounds: { atLeast: 3, atMost: 9 } }, "at least 3 and at most 9 entries are lost"],
    [{ lostEntries: 1, lostBounds: { atLeast: 0, atMost: undefined } }, "an unknown number of entries is lost"],
  ])("is said as exactly as it is known: %o", (report, words) => {
    expect(describeLoss(report)).toBe(words);
  });
});

describe("a store that fails", () => {
  it("to read one entry loses only that one, and logs it", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const queue = await startQueue({ store });
    queue.outlet.pause();
    for (const body of numbers(3)) queue.send(body);
    await queue.outlet.drain();
    await queue.outlet.stop();
    const { payload } = store;
    store.payload = (ref) =>
      ref === 2 ? Promise.reject(new StoreError("corrupt", "bad checksum")) : payload.call(store, ref);
    const second = await startQueue({ store });
    await second.settle();
    expect(second.taken).toEqual(["r0", "r2"]);
    expect(second.metrics.value("sluice_queue_unreadable_entries")).toBe(1);
    expect(second.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

describe("a store that has repaired dead letters", () => {
  it("tells how many they were", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const open = store.open.bind(store);
    store.open = async () => ({ ...(await open()), repairedEntries: 2 });
    const queue = await startQueue({ store });
    expect(queue.metrics.value("sluice_queue_repaired_entries")).toBe(2);
    expect(queue.lines.filter(({ level }) => level === "error")).toHaveLength(1);
  });
});

describe("a store that sets entries aside while it is read", () => {
  it("counts and logs each once, even if its turn had come", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { stats } = Object.getOwnPropertyDescriptors(MemoryStore.prototype);
    let corrupt = 0;
    Object.defineProperty(store, "stats", { get: () => ({ ...stats.get!.call(store), corrupt }) });
    store.payload = async (ref) => {
      await store.delete([ref]);
      corrupt++;
      throw new StoreError("corrupt", "bad checksum");
    };
    const limits = { entries: 2, waiting: 10, bytes: 0 };
    const queue = await startQueue({ store, limits });
    for (const body of numbers(5)) queue.send(body);
    await queue.settle();
    queue.outlet.onReplayed([]);
    await queue.settle();
    expect(queue.metrics.value("sluice_queue_unreadable_entries")).toBe(5);
    expect(queue.lines.filter(({ level }) => level === "error")).toHaveLength(5);
  });

  it("is noticed, counted and told", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const { pending } = store;
    let corrupt = 0;
    Object.defineProperty(store, "stats", {
      get: () => ({ pending: { entries: 0, items: 0, bytes: 0 }, failed: { entries: 0, items: 0, bytes: 0 }, corrupt }),
    });
    store.pending = async (after, limit) => {
      corrupt = 2;
      return pending.call(store, after, limit);
    };
    const queue = await startQueue({ store });
    await queue.settle();
    expect(queue.metrics.value("sluice_queue_unreadable_entries")).toBe(2);
    expect(queue.lines).toMatchObject([{ level: "error", fields: { entries: 2 } }]);
  });
});
