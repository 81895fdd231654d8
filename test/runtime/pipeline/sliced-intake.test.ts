import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, Delivery, type Origin, type Outcome, Refusal } from "../../../src/plugin.js";
import { systemClock } from "../../../src/runtime/contract/clock.js";
import { Debt } from "../../../src/runtime/contract/debt.js";
import { SlicedIntake } from "../../../src/runtime/pipeline/sliced-intake.js";
import { DeliverySource } from "../../../src/runtime/pipeline/stream-ends.js";
import { runs } from "../../support/runs.js";
import { bodies, logs } from "../../support/telemetry/batches.js";
import { metricsOf } from "../../support/telemetry/ottl.js";

const full = () => new Refusal("throttled", "full");
const numbered = (count: number, prefix = "") => logs(...Array.from({ length: count }, (_, i) => `${prefix}${i}`));

/** The pipelines behind an intake. `answer` decides about every delivery by its number; undefined keeps it unsettled. */
function pipelines(answer: (index: number, delivery: Delivery) => Refusal | "accept" | undefined = () => "accept") {
  const source = new DeliverySource();
  const intake = new SlicedIntake(source, systemClock);
  const got: Delivery[] = [];
  const taken: string[] = [];
  source.deliveries.subscribe((delivery) => {
    const decision = answer(got.length, delivery);
    got.push(delivery);
    if (decision instanceof Refusal) return delivery.refuse(decision);
    if (decision === undefined) return;
    if (delivery.batch.signal === "logs") taken.push(...bodies(delivery.batch));
    delivery.accept();
  });
  const handIn = (batch: Batch, origin: Partial<Origin> = {}) =>
    new Promise<Outcome>((resolve) => {
      intake.handIn(new Delivery(batch, { receiver: "r", transport: "http", ...origin }, new Debt(resolve)));
    });
  return { got, taken, handIn };
}

describe("an intake", () => {
  it("hands a large batch in as slices, in order and complete", async () => {
    const { got, taken, handIn } = pipelines();
    const batch = numbered(25_000);
    expect(await handIn(batch)).toEqual({ ok: true, rejected: 0, message: "" });
    expect(got.length).toBeGreaterThan(2);
    expect(taken).toEqual(bodies(batch));
  });

  it("hands a batch of usual size in as it is", async () => {
    const { got, handIn } = pipelines();
    const batch = numbered(8192);
    await handIn(batch);
    expect(got.map(({ batch: each }) => each)).toEqual([batch]);
  });

  it("keeps a batch whole that has a key", async () => {
    const { got, handIn } = pipelines();
    await handIn(numbered(25_000), { key: "message 1" });
    expect(got).toHaveLength(1);
  });

  it("keeps the points of a metric together", async () => {
    const { got, handIn } = pipelines();
    const dataPoints = Array.from({ length: 3000 }, (_, i) => ({ asInt: BigInt(i) }));
    await handIn(metricsOf(...Array.from({ length: 6 }, (_, i) => ({ name: `m${i}`, gauge: { dataPoints } }))));
    expect(got.length).toBeGreaterThan(1);
    for (const { batch } of got) expect(batch.count % 3000).toBe(0);
  });

  it("hands nothing more in once a slice is refused, and not what was accepted when the batch is sent again", async () => {
    let isFull = true;
    const { got, taken, handIn } = pipelines((index) => (isFull && index === 2 ? full() : "accept"));
    const batch = numbered(25_000);
    expect(await handIn(batch)).toMatchObject({ ok: false, refusal: { message: "full" } });
    expect(got).toHaveLength(3);
    isFull = false;
    expect(await handIn(batch)).toMatchObject({ ok: true });
    expect(taken).toEqual(bodies(batch));
  });

  it("answers only when all slices are settled", async () => {
    const { got, handIn } = pipelines(() => undefined);
    let outcome: Outcome | undefined;
    const done = handIn(numbered(12_000)).then((settled) => {
      outcome = settled;
    });
    await expect.poll(() => got.reduce((sum, { batch }) => sum + batch.count, 0)).toBe(12_000);
    for (const delivery of got.slice(1)) delivery.accept({ rejected: 1, message: "one" });
    await Promise.resolve();
    expect(outcome).toBeUndefined();
    got[0]!.accept();
    await done;
    expect(outcome).toEqual({ ok: true, rejected: got.length - 1, message: "one" });
  });

  it("keeps the order of batches from sources that have one", async () => {
    const { taken, handIn } = pipelines();
    const [large, small] = [numbered(12_000, "large "), numbered(3, "small ")];
    await Promise.all([large, small].map((batch) => handIn(batch, { transport: "file" })));
    expect(taken).toEqual([...bodies(large), ...bodies(small)]);
  });

  it("lets small requests of other clients pass by a large one", async () => {
    const { taken, handIn } = pipelines();
    await Promise.all([handIn(numbered(12_000, "large ")), handIn(numbered(3, "small "))]);
    expect(taken.slice(0, 3)).toEqual(["small 0", "small 1", "small 2"]);
  });

  it("delivers each record exactly once, wherever slices are refused and the sender repeats", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(12), { maxLength: 4 }), async (refusedAt) => {
        let calls = 0;
        const refusals = new Set(refusedAt.map((at, i) => at + i * 3));
        const { taken, handIn } = pipelines(() => (refusals.has(calls++) ? full() : "accept"));
        const batch = numbered(11_000);
        while (!(await handIn(batch)).ok);
        expect(taken.toSorted()).toEqual(bodies(batch).toSorted());
      }),
      runs(10),
    );
  });
});
