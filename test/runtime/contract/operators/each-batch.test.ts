import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type Batch, eachBatch, splitBatch } from "../../../../src/plugin.js";
import { feed, owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";

const ForeignPromise = runInNewContext("Promise") as PromiseConstructor;

describe("eachBatch", () => {
  it("passes on what the function returns, with the debt", () => {
    const { source, out } = feed(eachBatch((batch) => batch));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(out).toEqual([delivery]);
    out[0]!.accept();
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("acknowledges what is dropped on purpose", () => {
    const { source, out } = feed(eachBatch(() => null));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: true }]);
  });

  it("refuses the batch whose function returned nothing, so that a forgotten return loses no data", () => {
    const { source, out } = feed(eachBatch((() => undefined) as never));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { code: "SLUICE_NO_RESULT" } }]);
  });

  it("lets several outputs share the debt", () => {
    const { source, out } = feed(eachBatch((batch) => splitBatch(batch, { records: 1 })));
    const { delivery, outcomes } = owed(logs("a", "b"));
    source.next(delivery);
    out[0]!.accept();
    expect(outcomes).toEqual([]);
    out[1]!.accept();
    expect(outcomes).toHaveLength(1);
  });

  it("refuses only the batch whose function threw, and goes on", () => {
    const { source, out } = feed(
      eachBatch((batch) => {
        if (bodies(batch).includes("bad")) throw new Error("no");
        return batch;
      }),
    );
    const bad = owed(logs("bad"));
    source.next(bad.delivery);
    source.next(owed(logs("good")).delivery);
    expect(bad.outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", message: "no" } }]);
    expect(out).toHaveLength(1);
  });

  it("keeps the order of batches when the function is asynchronous, and completes after the last", async () => {
    const waits: (() => void)[] = [];
    const { source, out, isComplete } = feed(
      eachBatch((batch) => new Promise((resolve) => waits.push(() => resolve(batch)))),
    );
    source.next(owed(logs("first")).delivery);
    source.next(owed(logs("second")).delivery);
    source.complete();
    expect(waits).toHaveLength(1);
    waits[0]!();
    await expect.poll(() => waits.length).toBe(2);
    expect(isComplete()).toBe(false);
    waits[1]!();
    await expect.poll(isComplete).toBe(true);
    expect(out.flatMap((delivery) => bodies(delivery.batch))).toEqual(["first", "second"]);
  });

  it("refuses a batch whose answer does not come in time, ignores it later, and goes on with the next", async () => {
    const clock = new FakeClock();
    const waits: (() => void)[] = [];
    const { source, out } = feed(
      eachBatch((batch) => new Promise((resolve) => waits.push(() => resolve(batch))), { timeoutMs: 1000, clock }),
    );
    const slow = owed(logs("slow"));
    source.next(slow.delivery);
    source.next(owed(logs("next")).delivery);
    clock.advance(999);
    expect(slow.outcomes).toEqual([]);
    clock.advance(1);
    expect(slow.outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient", code: "SLUICE_TIMEOUT" } }]);
    await expect.poll(() => waits.length).toBe(2);
    for (const answer of waits) answer();
    await expect.poll(() => out.length).toBe(1);
    expect(out.flatMap((delivery) => bodies(delivery.batch))).toEqual(["next"]);
  });

  it("begins nothing more and leaves no timer behind when it is stopped", async () => {
    const clock = new FakeClock();
    const waits: (() => void)[] = [];
    const { source, out, unsubscribe } = feed(
      eachBatch((batch) => new Promise((resolve) => waits.push(() => resolve(batch))), { clock }),
    );
    const first = owed(logs("first"));
    source.next(first.delivery);
    source.next(owed(logs("second")).delivery);
    unsubscribe();
    expect(clock.pending).toBe(0);
    waits[0]!();
    await new Promise(setImmediate);
    expect(waits).toHaveLength(1);
    expect([...out, ...first.outcomes]).toEqual([]);
  });

  it("waits for any promise, not only for Node's own", async () => {
    const { source, out } = feed(eachBatch((batch) => new ForeignPromise<Batch>((resolve) => resolve(batch))));
    source.next(owed(logs("a")).delivery);
    await expect.poll(() => out.length).toBe(1);
  });

  it.each([undefined, "kept", 3, {}, [undefined]])("refuses a value that is not a batch: %j", (answer) => {
    const { source, out } = feed(eachBatch((() => answer) as never));
    const { delivery, outcomes } = owed(logs("a"));
    source.next(delivery);
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { code: "SLUICE_NO_RESULT" } }]);
  });
});
