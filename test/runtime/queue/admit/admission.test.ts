import { describe, expect, it } from "vitest";
import { batchFromJson } from "../../../../src/plugin.js";
import { MemoryStore } from "../../../../src/runtime/queue/store/memory-store.js";
import { type StoredEntry, StoreError } from "../../../../src/runtime/queue/store/store.js";
import { owed } from "../../../support/deliveries.js";
import { logs } from "../../../support/telemetry/batches.js";
import { hangs, type Queue, startQueue } from "../queue.js";

describe("a queue", () => {
  it("logs that the queue is full, once in a while and with the number of refusals", async () => {
    const queue = await startQueue({ backend: hangs, settings: { sending_queue: { queue_size: 1 } } });
    const said = () => queue.lines.filter(({ message }) => message.includes("the queue is full; refusing new data"));
    for (const text of ["kept", "b", "c", "d"]) queue.send(text);
    await queue.settle();
    expect(said()).toMatchObject([{ level: "warn", fields: { reason: "the sending queue is full", suppressed: 0 } }]);
    await queue.pass(10_000);
    queue.send("e");
    expect(said()[1]).toMatchObject({ fields: { suppressed: 2, entries: 1 } });
    queue.outlet.abort();
    await queue.outlet.stop();
  });

  it("accepts a delivery when the store has it, and sends it", async () => {
    const queue = await startQueue({ backend: hangs });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.outlet.status()).toMatchObject({ state: "UP", queue: { entries: 1, inFlight: 1 } });
  });

  it("keeps one entry for a batch that is sent again with its key, and uses the same id after it is gone", async () => {
    const queue = await startQueue({ backend: hangs });
    const send = (key: string, text: string) => {
      const { delivery, outcomes } = owed(logs(text), { key });
      queue.outlet.accept(delivery, "logs");
      return outcomes;
    };
    const first = send("k", "a");
    await queue.settle();
    const again = [send("k", "a"), send("other", "b")];
    await queue.settle();
    expect([first, ...again]).toMatchObject([[{ ok: true }], [{ ok: true }], [{ ok: true }]]);
    expect(await queue.pending()).toEqual(["a", "b"]);
    expect(queue.outlet.status()).toMatchObject({ queue: { entries: 2 } });
    const [{ ref, entry }] = (await queue.store.pending(undefined, 1)) as [StoredEntry];
    await queue.store.delete([ref]);
    send("k", "a");
    await queue.settle();
    expect(await queue.store.find(entry.id)).toMatchObject({ entry: { id: entry.id, state: "pending" } });
  });

  it("keeps one entry for a batch whose key comes a second time while the first is being stored", async () => {
    const queue = await startQueue({ backend: hangs });
    const both = [1, 2].map(() => owed(logs("a"), { key: "k" }));
    for (const { delivery } of both) queue.outlet.accept(delivery, "logs");
    await queue.settle();
    expect(both.map(({ outcomes }) => outcomes)).toMatchObject([[{ ok: true }], [{ ok: true }]]);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.outlet.status()).toMatchObject({ queue: { entries: 1 } });
  });

  it("stores a batch whose key came a second time if the first could not be written", async () => {
    const store = new MemoryStore({ exporter: "out" });
    const put = store.put.bind(store);
    let failures = 1;
    store.put = async (entry) => {
      if (failures-- > 0) throw new StoreError("io", "no");
      return put(entry);
    };
    const queue = await startQueue({ store, backend: hangs });
    const both = [1, 2].map(() => owed(logs("a"), { key: "k" }));
    for (const { delivery } of both) queue.outlet.accept(delivery, "logs");
    await queue.settle();
    expect(both.map(({ outcomes }) => outcomes)).toMatchObject([[{ ok: false }], [{ ok: true }]]);
    expect(await queue.pending()).toEqual(["a"]);
  });

  it("takes a batch only once that is sent again after its delivery, even after a restart, with all its pieces", async () => {
    const store = new MemoryStore({ exporter: "otlp_http/test" });
    const sendTo = async (queue: Queue, key: string, ...texts: string[]) => {
      const { delivery, outcomes } = owed(logs(...texts), { key, isOnce: true });
      queue.outlet.accept(delivery, "logs");
      await queue.settle();
      expect(outcomes).toMatchObject([{ ok: true }]);
    };
    const shape = { store, batching: { minSize: 1, maxSize: 1 } };
    const queue = await startQueue(shape);
    await sendTo(queue, "k", "a", "b");
    await sendTo(queue, "k", "a", "b");
    await sendTo(queue, "l", "c");
    expect(queue.taken.toSorted()).toEqual(["a", "b", "c"]);
    await queue.outlet.drain();
    await queue.outlet.stop();
    const next = await startQueue(shape);
    await sendTo(next, "k", "a", "b");
    await sendTo(next, "l", "c");
    await sendTo(next, "m", "d");
    expect(next.taken).toEqual(["d"]);
  });

  it("takes all pieces of such a batch or none, and takes it again if it could not be written", async () => {
    const store = new MemoryStore({ exporter: "otlp_http/test" });
    const queue = await startQueue({ store, batching: { minSize: 1, maxSize: 1 } });
    const exchange = store.exchange.bind(store);
    store.exchange = () => Promise.reject(new StoreError("io", "no"));
    const send = async () => {
      const { delivery, outcomes } = owed(logs("a", "b"), { key: "k", isOnce: true });
      queue.outlet.accept(delivery, "logs");
      await queue.settle();
      return outcomes;
    };
    expect(await send()).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
    // The write was done, and its answer lost.
    store.exchange = async (change) => {
      await exchange(change);
      throw new StoreError("io", "no");
    };
    expect(await send()).toMatchObject([{ ok: false }]);
    store.exchange = exchange;
    expect(await send()).toMatchObject([{ ok: true }]);
    expect(store.stats.pending.entries).toBe(2);
  });

  it("does not confuse the parts of a delivery, or two pipelines, with each other", async () => {
    const queue = await startQueue({ backend: hangs, batching: { minSize: 1, maxSize: 1 } });
    for (const pipeline of ["logs", "logs/2"])
      queue.outlet.accept(owed(logs("x", "x"), { key: "k" }).delivery, pipeline);
    for (const copy of owed(logs("y"), { key: "c" }).delivery.copies(2)) queue.outlet.accept(copy, "logs");
    await queue.settle();
    const entries = await queue.store.pending(undefined, 10);
    expect(entries.reduce((sum, { entry }) => sum + entry.items, 0)).toBe(6);
  });

  it("refuses retryably when the store cannot write", async () => {
    const store = new MemoryStore({ exporter: "out" });
    store.put = async () => {
      throw new StoreError("full", "no space");
    };
    const queue = await startQueue({ store });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_QUEUE_WRITE" } }]);
    expect(queue.metrics.value("otelcol_exporter_enqueue_failed_log_records")).toBe(1);
  });

  it("makes several entries of a batch that is too large for one request", async () => {
    const queue = await startQueue({ batching: { minSize: 2, maxSize: 2 } });
    const outcomes = queue.send("a", "b", "c", "d", "e");
    await queue.pass(200);
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(queue.calls).toEqual([["a", "b"], ["c", "d"], ["e"]]);
  });

  it("permanently refuses a batch whose pieces would be many times as large", async () => {
    const queue = await startQueue({ batching: { minSize: 2, maxSize: 2 } });
    const resource = { attributes: [{ key: "k", value: { stringValue: "x".repeat(1024 * 1024) } }] };
    const scopeLogs = [{ logRecords: Array(100).fill({ severityNumber: 1 }) }];
    const hostile = owed(batchFromJson("logs", JSON.stringify({ resourceLogs: [{ resource, scopeLogs }] })));
    queue.outlet.accept(hostile.delivery, "logs");
    await queue.settle();
    expect(hostile.outcomes).toMatchObject([{ ok: false, refusal: { code: "SLUICE_SPLIT_OVERFLOW" } }]);
    expect(await queue.pending()).toEqual([]);
  });
});
