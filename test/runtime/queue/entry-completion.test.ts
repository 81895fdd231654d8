import { describe, expect, it } from "vitest";
import { Refusal } from "../../../src/plugin.js";
import { MemoryStore } from "../../../src/runtime/queue/store/memory-store.js";
import { StoreError } from "../../../src/runtime/queue/store/store.js";
import { type Backend, down, http, refusing, startQueue } from "./queue.js";

const refused: Backend = async () => {
  throw new Refusal("permanent", "no", { category: "integration" });
};

describe("a queue", () => {
  it("answers only when it has been sent, if told to wait for the result", async () => {
    let fail = true;
    const queue = await startQueue({
      settings: { sending_queue: { wait_for_result: true } },
      backend: async () => {
        if (fail) throw http(503);
        return undefined;
      },
    });
    const outcomes = queue.send("a");
    await queue.settle();
    expect(outcomes).toEqual([]);
    fail = false;
    await queue.pass(1000);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("tells waiting clients when their data became a dead letter, as a whole or in part", async () => {
    const settings = { sending_queue: { wait_for_result: true } };
    const queue = await startQueue({ settings, backend: refusing((body) => body === "bad") });
    const [whole, part, good] = [queue.send("bad"), queue.send("a", "bad", "b"), queue.send("c")];
    await queue.settle();
    const gaveUp = { ok: false, refusal: { kind: "permanent", code: "SLUICE_DEAD_LETTERED" } };
    expect([whole, part, good]).toMatchObject([[gaveUp], [gaveUp], [{ ok: true }]]);
    expect(queue.taken.sort()).toEqual(["a", "b", "c"]);
  });
});

describe("a client that waits", () => {
  it("for the result learns that its entry is dropped", async () => {
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

  it("for the result learns of no dead letter that the filter did not save", async () => {
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
