import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/extensions/reliability/store/memory-store.js";
import { hangs, numbers, startQueue } from "./queue.js";

describe("a stop", () => {
  it("waits for what is being sent", async () => {
    let finish = () => {};
    const queue = await startQueue({
      backend: () =>
        new Promise((resolve) => {
          finish = () => resolve(undefined);
        }),
    });
    queue.send("a");
    await queue.settle();
    let isDrained = false;
    void queue.outlet.drain().then(() => {
      isDrained = true;
    });
    await queue.settle();
    expect(isDrained).toBe(false);
    finish();
    await queue.settle();
    expect([isDrained, queue.taken]).toEqual([true, ["a"]]);
  });

  it("that cannot wait breaks off, and everything is still in the queue", async () => {
    const queue = await startQueue({ backend: hangs });
    for (const body of numbers(30)) queue.send(body);
    await queue.settle();
    const drained = queue.outlet.drain();
    queue.outlet.abort();
    await drained;
    expect(await queue.pending()).toEqual(numbers(30));
    expect(queue.metrics.value("otelcol_exporter_send_failed_log_records")).toBe(0);
    await queue.outlet.stop();
  });

  it("that breaks off a call counts no attempt of its entry", async () => {
    const queue = await startQueue({ backend: hangs });
    queue.send("a");
    await queue.settle();
    queue.outlet.abort();
    await queue.settle();
    const [stored] = await queue.store.pending(undefined, 1);
    expect(stored?.entry).toMatchObject({ attempts: 0, calls: 0, history: [] });
    expect(queue.outlet.status()).toMatchObject({ lastError: undefined, failureRate: 0, queue: { inFlight: 0 } });
    expect(queue.lines).toEqual([]);
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
