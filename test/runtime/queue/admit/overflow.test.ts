import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../../src/runtime/queue/store/store.js";
import { down, hangs, numbers, startQueue } from "../queue.js";

const LONG_WAIT = { initial_interval: "60s", max_interval: "60s", jitter: "none" };

describe("a full queue", () => {
  const full = { sending_queue: { queue_size: 2, num_consumers: 1 } };
  const withQueue = (own: object) => ({ sending_queue: { ...full.sending_queue, ...own } });

  it("refuses with Retry-After, and accepts again when there is room", async () => {
    const open: (() => void)[] = [];
    const queue = await startQueue({
      settings: full,
      backend: () => new Promise((resolve) => open.push(() => resolve(undefined))),
    });
    const outcomes = [queue.send("a"), queue.send("b"), queue.send("c")];
    await queue.settle();
    expect(outcomes[2]).toMatchObject([{ ok: false, refusal: { kind: "throttled", code: "SLUICE_QUEUE_FULL" } }]);
    expect(queue.metrics.value("otelcol_exporter_enqueue_failed_log_records")).toBe(1);
    open.shift()!();
    await queue.settle();
    const later = queue.send("d");
    await queue.settle();
    expect(later).toMatchObject([{ ok: true }]);
  });

  it("refuses new data if the oldest entry cannot be written as a dead letter", async () => {
    const store = new MemoryStore({ exporter: "out" });
    store.fail = async () => {
      throw new StoreError("io", "no space left");
    };
    const queue = await startQueue({ store, settings: withQueue({ on_full: "drop_oldest" }), backend: hangs });
    const outcomes = ["a", "b", "c"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }], [{ ok: false, refusal: { kind: "throttled" } }]]);
    expect(await queue.pending()).toEqual(["a", "b"]);
  });

  it("takes all pieces of a delivery or none, so that a client that comes back sends nothing twice", async () => {
    const settings = { sending_queue: { queue_size: 3 } };
    const queue = await startQueue({ batching: { maxSize: 2, minSize: 2 }, settings, backend: hangs });
    queue.send("x");
    await queue.settle();
    const outcomes = [queue.send("a", "b", "c", "d", "e"), queue.send("f", "g", "h", "i")];
    await queue.settle();
    expect(outcomes).toMatchObject([[{ ok: false, refusal: { code: "SLUICE_QUEUE_FULL" } }], [{ ok: true }]]);
    expect(await queue.pending()).toEqual(["x", "f", "g", "h", "i"]);
    expect(queue.metrics.value("otelcol_exporter_enqueue_failed_log_records")).toBe(5);
  });

  it("takes a delivery of more pieces than the whole queue may have when it is empty", async () => {
    const settings = { sending_queue: { queue_size: 3 } };
    const queue = await startQueue({ batching: { maxSize: 2, minSize: 2 }, settings, backend: hangs });
    const outcomes = queue.send(...numbers(10));
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await queue.pending()).toEqual(numbers(10));
  });

  it("lets clients wait when told to, in order", async () => {
    const open: (() => void)[] = [];
    const queue = await startQueue({
      settings: withQueue({ block_on_overflow: true }),
      backend: () => new Promise((resolve) => open.push(() => resolve(undefined))),
    });
    const outcomes = ["a", "b", "c", "d"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes.map((o) => o.length)).toEqual([1, 1, 0, 0]);
    open.shift()!();
    await queue.settle();
    expect(outcomes.map((o) => o.length)).toEqual([1, 1, 1, 0]);
    queue.outlet.abort();
    expect(outcomes[3]).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
  });

  it("keeps the newest as dead letters with drop_newest", async () => {
    const queue = await startQueue({ settings: withQueue({ on_full: "drop_newest" }), backend: hangs });
    const outcomes = ["a", "b", "c"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }], [{ ok: true }]]);
    expect(await queue.deadLetters()).toMatchObject([{ items: 1, failure: { reason: "queue_full" } }]);
    expect(await queue.pending()).toEqual(["a", "b"]);
  });

  it("dead-letters the oldest entry that is not being sent with drop_oldest", async () => {
    const queue = await startQueue({ settings: withQueue({ on_full: "drop_oldest" }), backend: hangs });
    const outcomes = ["a", "b", "c", "d"].map((body) => queue.send(body));
    await queue.settle();
    expect(outcomes).toMatchObject(Array(4).fill([{ ok: true }]));
    expect(await queue.pending()).toEqual(["a", "d"]);
    expect((await queue.deadLetters()).map(({ failure }) => failure?.reason)).toEqual(["queue_full", "queue_full"]);
  });

  it("dead-letters the oldest entry by age with drop_oldest, even if it waits for a retry and newer ones have not been tried", async () => {
    const settings = { sending_queue: { queue_size: 5, on_full: "drop_oldest" }, retry_on_failure: LONG_WAIT };
    const queue = await startQueue({ settings, backend: down });
    for (const body of numbers(12)) {
      queue.send(body);
      await queue.settle();
    }
    expect(await queue.pending()).toEqual(["r7", "r8", "r9", "r10", "r11"]);
    expect((await queue.deadLetters()).map(({ failure }) => failure?.reason)).toEqual(Array(7).fill("queue_full"));
  });

  it.each([
    ["items", 3],
    ["bytes", 100],
  ])("counts by %s", async (sizer, queue_size) => {
    const queue = await startQueue({ settings: { sending_queue: { sizer, queue_size } }, backend: hangs });
    const outcomes = [queue.send("a".repeat(40), "b"), queue.send("c".repeat(40), "d")];
    await queue.settle();
    expect(outcomes.map(([outcome]) => outcome?.ok)).toEqual([true, false]);
  });

  it("takes one delivery that is larger than all of it when it is empty", async () => {
    const queue = await startQueue({ settings: { sending_queue: { max_bytes: 10 } } });
    const outcomes = queue.send("x".repeat(1000));
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });
});

describe("a client that waits", () => {
  it("for room gets it when a write that had claimed the room fails", async () => {
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
});
