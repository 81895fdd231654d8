import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/extensions/reliability/store/memory-store.js";
import { StoreError } from "../../../src/extensions/reliability/store/store.js";
import { Refusal } from "../../../src/plugin.js";
import { startQueue } from "./queue.js";

const refused = async () => {
  throw new Refusal("permanent", "no", { category: "integration" });
};
const down = async () => {
  throw new Refusal("transient", "no");
};

describe("an entry that was taken apart by a write that was said to have failed", () => {
  it("is not sent again as a whole for ever, and its parts are", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const replace = store.replace.bind(store);
    let replaced = 0;
    store.replace = async (...args) => {
      const parts = await replace(...args);
      if (replaced++ === 0) throw new StoreError("io", "cannot sync");
      return parts;
    };
    const queue = await startQueue({
      store,
      backend: async (bodies) => {
        if (bodies.includes("bad")) throw new Refusal("permanent", "no", { category: "schema" });
        return undefined;
      },
    });
    queue.send("bad", "good");
    await queue.settle();
    queue.outlet.onReplayed([]);
    await queue.pass(60_000, 1000);
    expect(queue.taken).toEqual(["good"]);
    expect(await queue.deadLetters()).toHaveLength(1);
    expect(queue.calls.filter((bodies) => bodies.length === 2)).toHaveLength(2);
    expect(queue.outlet.status().queue).toMatchObject({ entries: 0, inFlight: 0 });
  });
});

describe("an entry whose payload is being read", () => {
  it("is not sent any more when the queue is broken off meanwhile", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const payload = store.payload.bind(store);
    let read = () => {};
    store.payload = async (ref) => {
      await new Promise<void>((resolve) => (read = resolve));
      return payload(ref);
    };
    const queue = await startQueue({ store, limits: { entries: 10, waiting: 10, bytes: 0 } });
    queue.send("a");
    await queue.settle();
    queue.outlet.abort();
    read();
    await queue.settle();
    expect(queue.calls).toEqual([]);
    expect(queue.outlet.status().queue).toMatchObject({ entries: 1, inFlight: 0 });
  });
});

describe("a client that waits", () => {
  it("for room gets it when a write that held the room fails", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const put = store.put.bind(store);
    let isFull = true;
    store.put = async (entry) => {
      await new Promise(setImmediate);
      if (!isFull) return put(entry);
      isFull = false;
      throw new StoreError("full", "no space");
    };
    const queue = await startQueue({ store, settings: { sending_queue: { queue_size: 1, block_on_overflow: true } } });
    const [first, second, third] = [queue.send("a"), queue.send("b"), queue.send("c")];
    await queue.settle();
    expect([first, second, third]).toMatchObject([[{ ok: false }], [{ ok: true }], [{ ok: true }]]);
    expect(queue.taken).toEqual(["b", "c"]);
  });

  it("for the result is told when its entry is dropped", async () => {
    const rate_limit = { per_second: 0.001, burst: 1, on_excess: "drop" };
    const queue = await startQueue({
      settings: { sending_queue: { wait_for_result: true }, retry_on_failure: { jitter: "none", rate_limit } },
      backend: down,
    });
    const outcomes = queue.send("a");
    await queue.pass(10_000, 1000);
    expect(queue.calls).toHaveLength(2);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "permanent", code: "SLUICE_DISCARDED" } }]);
  });

  it("for the result is not told of a dead letter that the filter did not save", async () => {
    const settings = { sending_queue: { wait_for_result: true }, dead_letter: { filter: { never_save: ["*"] } } };
    const queue = await startQueue({ settings, backend: refused });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(await queue.deadLetters()).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "permanent", code: "SLUICE_DISCARDED" } }]);
  });

  it("for the result may send again what was damaged before it could become a dead letter", async () => {
    const store = new MemoryStore({ exporter: "out" });
    store.fail = async () => {
      throw new StoreError("corrupt", "damaged");
    };
    const queue = await startQueue({ store, settings: { sending_queue: { wait_for_result: true } }, backend: refused });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
  });
});
