import { describe, expect, it } from "vitest";
import { type PartialRejection, Refusal } from "../../../../src/plugin.js";
import { CallTimeout } from "../../../../src/runtime/queue/send/sender.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { type Backend, startQueue } from "../queue.js";

describe("an exporter that is not quite right", () => {
  it("may give no promise", async () => {
    const calls = new CallTimeout("out", 1000, new FakeClock());
    const results: unknown[] = [];
    const work = (() => undefined) as unknown as () => Promise<undefined>;
    calls.run(
      work,
      (result) => results.push(["done", result]),
      (error) => results.push(["failed", error]),
    );
    await Promise.resolve();
    expect(results).toEqual([["done", undefined]]);
  });

  it.each([
    [-5, 2, 0],
    [Number.NaN, 2, 0],
    ["1", 1, 1],
    [0.5, 1, 1],
    [1e9, 0, 1],
    [undefined, 2, 0],
  ])("is believed as far as possible when it says that %s of 2 records were rejected", async (rejected, sent, dead) => {
    const queue = await startQueue({ backend: async () => ({ rejected }) as unknown as PartialRejection });
    queue.send("a", "b");
    await queue.settle();
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(sent);
    expect(await queue.deadLetters()).toHaveLength(dead);
  });

  it.each([null, "ok", true, 7])("is taken for content when it gives %s", async (said) => {
    const queue = await startQueue({ backend: async () => said as unknown as undefined });
    queue.send("a", "b");
    await queue.settle();
    expect(queue.metrics.value("otelcol_exporter_sent_log_records")).toBe(2);
    expect(queue.lines).toEqual([]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])("is tried again when it asks to wait for %s ms", async (ms) => {
    let isUp = false;
    const queue = await startQueue({
      backend: async () => {
        if (!isUp) throw new Refusal("throttled", "later", { retryAfterMs: ms });
        return undefined;
      },
    });
    queue.send("a");
    await queue.settle();
    isUp = true;
    await queue.pass(2000, 500);
    expect(queue.taken).toEqual(["a"]);
  });

  it("is tried again, as the rules of the config say, when its status and code are numbers", async () => {
    let isUp = false;
    const queue = await startQueue({
      settings: { retry_on_failure: { retry_on: ["409"] } },
      backend: async () => {
        if (!isUp) throw new Refusal("permanent", "not now", { status: 409, code: 7 } as never);
        return undefined;
      },
    });
    queue.send("a");
    await queue.settle();
    isUp = true;
    await queue.pass(2000, 500);
    expect(queue.taken).toEqual(["a"]);
  });
});

describe("a plain error", () => {
  it("that an exporter throws at once counts as transient", async () => {
    const queue = await startQueue({
      backend: (() => {
        throw new Refusal("transient", "sync");
      }) as Backend,
    });
    queue.send("a");
    await queue.settle();
    expect(await queue.pending()).toEqual(["a"]);
  });
});
