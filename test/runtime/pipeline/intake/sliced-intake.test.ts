import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Batch,
  batchFromJson,
  type Clock,
  Delivery,
  type Origin,
  type Outcome,
  Refusal,
  type Setback,
} from "../../../../src/plugin.js";
import { systemClock } from "../../../../src/runtime/contract/clock.js";
import { Debt } from "../../../../src/runtime/contract/debt.js";
import { ERROR_CODES } from "../../../../src/runtime/contract/errors/error-codes.js";
import type { GraphPlan } from "../../../../src/runtime/contract/plan.js";
import { SlicedIntake } from "../../../../src/runtime/pipeline/intake/sliced-intake.js";
import { DeliverySource } from "../../../../src/runtime/pipeline/streams.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { runs } from "../../../support/runs.js";
import { bodies, logs } from "../../../support/telemetry/batches.js";
import { metricsOf } from "../../../support/telemetry/ottl.js";

const full = () => new Refusal("throttled", "full");
const bad = () => new Refusal("permanent", "bad");
const deadLettered = () => new Refusal("permanent", "kept", { code: ERROR_CODES.SLUICE_DEAD_LETTERED });
const SETBACK: Setback = { reason: "rejected", category: "schema", code: "X", message: "bad" };
const numbered = (count: number, prefix = "") => logs(...Array.from({ length: count }, (_, i) => `${prefix}${i}`));

/** The pipelines behind an intake. `answer` decides about every delivery by its number; undefined keeps it unsettled. */
function pipelines(
  answer: (index: number, delivery: Delivery) => Refusal | "accept" | undefined = () => "accept",
  clock: Clock = systemClock,
) {
  const source = new DeliverySource();
  const intake = new SlicedIntake(source, clock, "logs");
  const got: Delivery[] = [];
  const taken: string[] = [];
  const kept: string[] = [];
  source.subscribe((delivery) => {
    const decision = answer(got.length, delivery);
    got.push(delivery);
    if (decision instanceof Refusal) return delivery.refuse(decision);
    if (decision === undefined) return;
    const list = delivery.setback === undefined ? taken : kept;
    if (delivery.batch.signal === "logs") for (const body of bodies(delivery.batch)) list.push(body);
    delivery.accept();
  });
  const handIn = (batch: Batch, origin: Partial<Origin> = {}, setback?: Setback) =>
    new Promise<Outcome>((resolve) => {
      const whole = { receiver: "r", transport: "http", ...origin };
      intake.handIn(new Delivery(batch, whole, new Debt(resolve), undefined, setback));
    });
  return { got, taken, kept, handIn, intake, source };
}

function planWith(factory: object): GraphPlan {
  const pipeline = { id: "metrics", signal: "metrics", receivers: ["r"], processors: ["p"], exporters: ["e"] };
  const processors = new Map([["p", { id: "p", factory, config: {} }]]);
  return { pipelines: [pipeline], processors, connectors: new Map(), exporters: new Map() } as unknown as GraphPlan;
}

/** Takes time but no CPU time, as when the processor is busy with others. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("an intake", () => {
  it("hands in a large batch as slices, in order and complete", async () => {
    const { got, taken, handIn } = pipelines();
    const batch = numbered(25_000);
    expect(await handIn(batch)).toEqual({ ok: true, rejected: 0, message: "" });
    expect(got.length).toBeGreaterThan(2);
    expect(taken).toEqual(bodies(batch));
  });

  it("hands in a batch of usual size unchanged", async () => {
    const { got, handIn } = pipelines();
    const batch = numbered(8192);
    await handIn(batch);
    expect(got.map(({ batch: each }) => each)).toEqual([batch]);
  });

  it("hands in batches unchanged though others have the processor meanwhile", async () => {
    const { got, handIn } = pipelines(() => {
      standStill(400);
      return "accept";
    });
    const batches = [numbered(500), numbered(500)];
    for (const batch of batches) await handIn(batch);
    expect(got.map(({ batch }) => batch)).toEqual(batches);
  });

  it("cuts a batch with a key in the same places each time, and gives every slice a key for its records", async () => {
    const batch = numbered(25_000);
    const [cold, warm] = [pipelines(), pipelines()];
    await warm.handIn(numbered(9_000));
    warm.got.length = 0;
    await cold.handIn(batch, { key: "message 1" });
    await warm.handIn(batch, { key: "message 1" });
    const keys = ({ got }: typeof cold) => got.map(({ origin }) => origin.key);
    expect(keys(cold).slice(0, 2)).toEqual(["message 1/0-500", "message 1/500-1000"]);
    expect(keys(warm)).toEqual(keys(cold));
    expect(cold.taken).toEqual(bodies(batch));
  });

  it("keeps a batch whole whose outcome somebody watches", async () => {
    const { got, handIn } = pipelines();
    await handIn(numbered(25_000), { key: "row 1", watch: {} as NonNullable<Origin["watch"]> });
    expect(got).toHaveLength(1);
  });

  it("slices a batch of few large records", async () => {
    const { got, taken, handIn } = pipelines();
    const batch = logs(...Array.from({ length: 20 }, (_, i) => String(i).repeat(100_000)));
    await handIn(batch);
    expect(got.length).toBeGreaterThan(5);
    expect(taken).toEqual(bodies(batch));
  });

  it("keeps the points of a metric together", async () => {
    const { got, handIn } = pipelines();
    const dataPoints = Array.from({ length: 3000 }, (_, i) => ({ asInt: BigInt(i) }));
    await handIn(metricsOf(...Array.from({ length: 6 }, (_, i) => ({ name: `m${i}`, gauge: { dataPoints } }))));
    expect(got.length).toBeGreaterThan(1);
    for (const { batch } of got) expect(batch.count % 3000).toBe(0);
  });

  it.each([
    [true, "cuts a metric if all processors take single points"],
    [false, "keeps a metric whole if a processor looks at several points"],
  ])("follows the plan: takesSinglePoints %s %s", async (takesSinglePoints) => {
    const source = new DeliverySource();
    const intake = new SlicedIntake(source, systemClock, "metrics");
    intake.follow(planWith({ takesSinglePoints }), "r");
    const counts: number[] = [];
    source.subscribe((delivery) => {
      counts.push(delivery.batch.count);
      delivery.accept();
    });
    const dataPoints = Array.from({ length: 9000 }, (_, i) => ({ asInt: BigInt(i) }));
    const batch = metricsOf({ name: "m", gauge: { dataPoints } }, { name: "n", gauge: { dataPoints } });
    await new Promise((resolve) => {
      intake.handIn(new Delivery(batch, { receiver: "r", transport: "http" }, new Debt(resolve)));
    });
    expect(Math.max(...counts) < 9000).toBe(takesSinglePoints);
  });

  it("hands in nothing more once a slice is refused, and skips accepted slices when the batch is sent again", async () => {
    let isFull = true;
    const { got, taken, handIn } = pipelines((index) => (isFull && index === 2 ? full() : "accept"));
    const batch = numbered(25_000);
    expect(await handIn(batch)).toMatchObject({ ok: false, refusal: { message: "full" } });
    expect(got).toHaveLength(3);
    isFull = false;
    expect(await handIn(batch)).toMatchObject({ ok: true });
    expect(taken).toEqual(bodies(batch));
  });

  it("hands in what follows a slice that is refused for good, and tells a client how many records were rejected", async () => {
    const { got, taken, handIn } = pipelines((index) => (index === 1 ? bad() : "accept"));
    const batch = numbered(25_000);
    const rejected = () => got[1]!.batch.count;
    expect(await handIn(batch)).toEqual({ ok: true, rejected: rejected(), message: "bad" });
    expect(taken).toHaveLength(25_000 - rejected());
  });

  it("refuses a batch when all of its slices are refused for good", async () => {
    const { handIn } = pipelines(bad);
    expect(await handIn(numbered(12_000))).toMatchObject({ ok: false, refusal: { kind: "permanent", message: "bad" } });
  });

  it("hands in nothing but the refused slices when the sender repeats the batch as a dead letter", async () => {
    const { got, taken, kept, handIn } = pipelines((index) => (index === 1 ? bad() : "accept"));
    const batch = numbered(12_000);
    expect(await handIn(batch, { transport: "file" })).toMatchObject({ ok: false, refusal: { kind: "permanent" } });
    expect(await handIn(batch, { transport: "file" }, SETBACK)).toMatchObject({ ok: true });
    expect(kept).toEqual(bodies(got[1]!.batch));
    expect([...taken, ...kept].toSorted()).toEqual(bodies(batch).toSorted());
  });

  it("says that a batch was kept as a dead letter only after all of its slices were handed in", async () => {
    const { got, taken, handIn } = pipelines((index) => (index === 0 ? deadLettered() : "accept"));
    const outcome = await handIn(numbered(12_000), { transport: "kafka" });
    expect(outcome).toMatchObject({ ok: false, refusal: { code: ERROR_CODES.SLUICE_DEAD_LETTERED } });
    expect(got[0]!.batch.count + taken.length).toBe(12_000);
  });

  it("does not call a batch kept if one of its slices was refused and not kept", async () => {
    const { handIn } = pipelines((index) => (index === 1 ? bad() : deadLettered()));
    const outcome = await handIn(numbered(12_000), { transport: "kafka" });
    expect(outcome).toMatchObject({ ok: false, refusal: { message: "bad" } });
  });

  it("loses no record behind large fields without records when the sender repeats", async () => {
    let isFull = true;
    const { taken, handIn } = pipelines((index) => (isFull && index === 1 ? full() : "accept"));
    const unknownField = Buffer.concat([Buffer.from([0x9a, 0x06, 0x80, 0x80, 0xc0, 0x02]), Buffer.alloc(5 * 2 ** 20)]);
    const records = numbered(12_000);
    const batch = Batch.admit("logs", Buffer.concat([unknownField, records.bytes]));
    expect(await handIn(batch)).toMatchObject({ ok: false });
    isFull = false;
    expect(await handIn(batch)).toMatchObject({ ok: true });
    expect(taken).toEqual(bodies(records));
  });

  it("refuses what is left when slices would repeat too much of what records share", async () => {
    const resource = { attributes: [{ key: "k", value: { stringValue: "x".repeat(2 ** 20) } }] };
    const logRecords = Array.from({ length: 100_000 }, () => ({}));
    const json = JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
    const batch = batchFromJson("logs", json);
    const { got, handIn } = pipelines();
    const outcome = await handIn(batch);
    const taken = got.reduce((sum, each) => sum + each.batch.count, 0);
    expect(outcome).toMatchObject({ ok: true, rejected: 100_000 - taken, message: expect.stringContaining("share") });
    expect(got.reduce((sum, each) => sum + each.batch.byteLength, 0)).toBeLessThan(34 * 2 ** 20);
    expect(Math.max(...got.map((each) => each.batch.count))).toBeLessThanOrEqual(2500);
    expect(await handIn(batch, {}, SETBACK)).toMatchObject({ ok: true, rejected: 0 });
  });

  it("refuses a batch on which handing in fails", async () => {
    const { source, handIn } = pipelines();
    source.next = () => {
      throw new Error("broken");
    };
    expect(await handIn(numbered(12_000))).toMatchObject({ ok: false, refusal: { message: "broken" } });
  });

  it("is drained when the last slice was handed in", async () => {
    const { taken, handIn, intake } = pipelines();
    void handIn(numbered(12_000));
    expect(taken).toHaveLength(0);
    await intake.drain();
    expect(taken).toHaveLength(12_000);
  });

  it("hands in a slice of a source with an order when the one before it is settled", async () => {
    const clock = new FakeClock(); // or the slice would wait no longer than a second
    const { got, handIn } = pipelines((index) => (index === 0 ? undefined : "accept"), clock);
    const done = handIn(numbered(12_000), { transport: "file" });
    await expect.poll(() => got.length).toBe(1);
    await handIn(numbered(12_000, "others ")); // requests do not wait
    expect(got.filter(({ origin }) => origin.transport === "file")).toHaveLength(1);
    got[0]!.refuse(full());
    expect(await done).toMatchObject({ ok: false });
    expect(got.filter(({ origin }) => origin.transport === "file")).toHaveLength(1);
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

  it("lets small requests of other clients overtake a large one", async () => {
    const { taken, handIn } = pipelines();
    await Promise.all([handIn(numbered(12_000, "large ")), handIn(numbered(3, "small "))]);
    expect(taken.slice(0, 3)).toEqual(["small 0", "small 1", "small 2"]);
  });

  it("delivers or keeps each record exactly once, whatever is refused for now or for good", async () => {
    const refusal = fc.constantFrom(full, bad, deadLettered);
    const refusals = fc.dictionary(fc.nat(12).map(String), refusal, { maxKeys: 5 });
    await fc.assert(
      fc.asyncProperty(refusals, async (refusedAt) => {
        let calls = 0;
        const keptElsewhere: string[] = [];
        const { taken, kept, handIn } = pipelines((_, { batch }) => {
          const refused = refusedAt[String(calls++)]?.();
          if (refused?.code === ERROR_CODES.SLUICE_DEAD_LETTERED) keptElsewhere.push(...bodies(batch));
          return refused ?? "accept";
        });
        const batch = numbered(11_000);
        for (let setback: Setback | undefined; ; ) {
          const outcome = await handIn(batch, { transport: "file" }, setback);
          if (outcome.ok || outcome.refusal.code === ERROR_CODES.SLUICE_DEAD_LETTERED) break;
          if (outcome.refusal.kind === "permanent") setback = SETBACK;
        }
        expect([...taken, ...kept, ...keptElsewhere].toSorted()).toEqual(bodies(batch).toSorted());
      }),
      runs(10),
    );
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
