import { afterEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../../src/runtime/queue/store/memory-store.js";
import { type Backend, startQueue } from "./queue.js";
import { makePlace, textsIn } from "./store/level-harness.js";

const place = makePlace();
afterEach(place.remove);

describe("a queue that is aborted while it stores a delivery", () => {
  it("refuses the delivery as retryable, and closes with the entry stored once", async () => {
    const queue = await startQueue({ store: place.store() });
    const outcomes = [queue.send("a"), queue.send("b")];
    queue.outlet.abort();
    await queue.outlet.stop();
    for (const outcome of outcomes)
      expect(outcome).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_SHUTTING_DOWN" } }]);
    const after = place.store();
    await after.open();
    // The write was under way: it may have happened, and then the client sends a duplicate, never nothing.
    const texts = await textsIn(after);
    expect(texts).toEqual(["a", "b"].slice(0, texts.length));
    await after.close();
  });

  it("does not wait for a write that never ends", async () => {
    const store = new MemoryStore({ exporter: "out" });
    store.put = () => new Promise(() => {});
    const queue = await startQueue({ store });
    const outcomes = queue.send("a");
    const drained = queue.outlet.drain();
    queue.outlet.abort();
    await drained;
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
    await queue.outlet.stop();
  });
});

describe("an exporter whose call never ends, whatever the abort signal says", () => {
  const never: Backend = () => new Promise(() => {});

  it("loses its slot after the timeout, and the entry is sent again", async () => {
    let calls = 0;
    const queue = await startQueue({
      settings: { timeout: "1s", sending_queue: { num_consumers: 1 } },
      backend: (...args) => (calls++ === 0 ? never(...args) : Promise.resolve(undefined)),
    });
    queue.send("a");
    queue.send("b");
    await queue.settle();
    expect(queue.calls).toEqual([["a"]]);
    await queue.pass(10_000, 500);
    expect(queue.taken.toSorted()).toEqual(["a", "b"]);
    expect(queue.outlet.status()).toMatchObject({ queue: { entries: 0, inFlight: 0 } });
  });

  it("without a timeout holds up a drain until it is aborted, and the entry stays in the store", async () => {
    const store = place.store();
    const queue = await startQueue({ store, settings: { timeout: 0 }, backend: never });
    const outcomes = queue.send("a");
    await expect.poll(() => queue.calls).toEqual([["a"]]);
    let isDrained = false;
    const drained = queue.outlet.drain().then(() => {
      isDrained = true;
    });
    await queue.pass(3_600_000, 600_000);
    expect(isDrained).toBe(false);
    queue.outlet.abort();
    await drained;
    await queue.outlet.stop();
    expect(outcomes).toMatchObject([{ ok: true }]);
    const after = place.store();
    await after.open();
    expect(await textsIn(after)).toEqual(["a"]);
    await after.close();
  });
});
