import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../../../src/extensions/reliability/store/memory-store.js";
import { StoreError } from "../../../../src/extensions/reliability/store/store.js";
import { hangs, startQueue } from "../queue.js";

describe("a queue", () => {
  it("accepts a delivery when the store has it, and sends it", async () => {
    const queue = await startQueue({ backend: hangs });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toMatchObject([{ ok: true }]);
    expect(await queue.pending()).toEqual(["a"]);
    expect(queue.outlet.status()).toMatchObject({ state: "UP", queue: { entries: 1, inFlight: 1 } });
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

  it("merges before the queue when told to, and accepts all that was merged", async () => {
    const settings = { sending_queue: { batch: { flush_timeout: "200ms", min_size: 5 } } };
    const queue = await startQueue({ settings });
    const outcomes = [queue.send("a"), queue.send("b")];
    await queue.settle();
    expect(outcomes).toEqual([[], []]);
    await queue.pass(200);
    expect(outcomes).toMatchObject([[{ ok: true }], [{ ok: true }]]);
    queue.send("c", "d", "e", "f", "g");
    await queue.settle();
    expect(queue.calls).toEqual([
      ["a", "b"],
      ["c", "d", "e", "f", "g"],
    ]);
    const last = queue.send("h");
    await queue.outlet.drain();
    expect(last).toMatchObject([{ ok: true }]);
    expect([...queue.taken, ...(await queue.pending())]).toContain("h");
  });
});
