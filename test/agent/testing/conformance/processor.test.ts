import { map, Observable, type OperatorFunction } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  Batch,
  batchFromJson,
  batchToJson,
  type Delivery,
  defineProcessor,
  eachBatch,
  type Processor,
  type ProcessorContext,
} from "../../../../src/plugin.js";
import { logs, type ProcessorConformanceOptions, processorConformance } from "../../../../src/testing.js";
import { failuresOf } from "./outcomes.js";

type Create = (context: ProcessorContext) => Processor;

function suite(create: Create, options: ProcessorConformanceOptions = {}) {
  const factory = defineProcessor({ type: "tried", signals: ["logs"], create: (_config, context) => create(context) });
  return processorConformance(factory, { seed: 7, ...options });
}

const failures = (create: Create, options?: ProcessorConformanceOptions) => failuresOf(suite(create, options));

/** An operator of what happens to each delivery, and at the end. */
function operator(
  next: (delivery: Delivery, emit: (delivery: Delivery) => void) => void,
  end: (emit: (delivery: Delivery) => void) => void = () => {},
): OperatorFunction<Delivery, Delivery> {
  return (source) =>
    new Observable((out) => {
      const emit = (delivery: Delivery) => out.next(delivery);
      return source.subscribe({
        next: (delivery) => next(delivery, emit),
        complete() {
          end(emit);
          out.complete();
        },
      });
    });
}

describe("the conformance suite for processors", () => {
  it("has nothing against a processor that keeps to the contract", async () => {
    expect(await failures(() => eachBatch((batch) => batch))).toEqual({});
    expect(await failures(() => eachBatch(async (batch) => batch))).toEqual({});
    for (const seed of [1, 2, 3, 4]) {
      const waiting = ({ clock }: ProcessorContext) => eachBatch(async (batch) => batch, { clock });
      expect(await failures(waiting, { seed })).toEqual({});
    }
    expect(await failures(() => eachBatch(() => null), { records: "drops" })).toEqual({});
    const poison = () => logs("bad");
    const throwing = eachBatch((batch) => {
      if (batch.count === 1 && batch.byteLength < 40) throw new Error("bad");
      return batch;
    });
    expect(await failures(() => throwing, { poison })).toEqual({});
  });

  it("finds a processor that never settles some", async () => {
    let count = 0;
    const found = await failures(() => operator((delivery, emit) => count++ % 3 !== 0 && emit(delivery)));
    expect(found["settles every delivery (logs)"]).toMatch(/^5 of 15 deliveries were never settled/);
  });

  it("finds a processor that loses records it accepted", async () => {
    const found = await failures(() => eachBatch((batch) => (batch.count > 3 ? null : batch)));
    expect(found["hands on what it accepts (logs)"]).toMatch(/records were accepted and never came out, such as r\d+/);
  });

  it("finds a processor that hands on what it refuses", async () => {
    const both = operator((delivery, emit) => {
      if (delivery.batch.count > 3) delivery.refuse(new Error("no"));
      emit(delivery);
    });
    expect(await failures(() => both)).toMatchObject({
      "hands on what it accepts (logs)": expect.stringMatching(/^record r\d+ was refused and came out/),
    });
  });

  it("says what is wrong with a processor that hands on what is no delivery, or is no processor at all", async () => {
    const told = "settles every delivery (logs)";
    const metrics = Batch.empty("metrics");
    const answers: ((delivery: Delivery) => unknown)[] = [
      () => undefined,
      ({ batch }) => batch,
      (d) => d.with(metrics),
    ];
    for (const answer of answers) {
      const wrong = map((delivery: Delivery) => answer(delivery) as Delivery);
      const found = await failures(() => wrong, { records: "makes" });
      expect(found[told]).toMatch(/it handed on a value that is not a delivery with a batch of logs/);
    }
    expect((await failures(() => undefined as never))[told]).toMatch(/create returned nothing; expected an operator/);
  });

  it("finds a processor that throws in a stream of its own, and lets nothing escape", async () => {
    const throwing = operator((delivery, emit) => {
      if (delivery.batch.count > 3) throw new Error("by hand");
      emit(delivery);
    });
    expect(await failures(() => throwing)).toMatchObject({
      "settles every delivery (logs)": expect.stringMatching(/^its stream ended with an error, .*: Error: by hand/),
    });
  });

  it("finds a processor that hands records on twice", async () => {
    const found = await failures(() => eachBatch((batch) => [batch, batch]));
    expect(found["hands on what it accepts (logs)"]).toMatch(/^record r\d+ came out 2 times/);
  });

  it("finds a processor that acknowledges early", async () => {
    const found = await failures(() =>
      operator((delivery, emit) => {
        delivery.accept();
        emit(delivery);
      }),
    );
    expect(found).toEqual({
      "calls nothing safe before those behind it do (logs)": expect.stringMatching(/was accepted while it was still/),
    });
  });

  it("finds a processor that keeps what it holds when its input ends", async () => {
    const hoarding = () => {
      const held: Delivery[] = [];
      return operator((delivery) => void held.push(delivery));
    };
    const found = await failures(hoarding);
    expect(found["brings out what it holds when its input ends (logs)"]).toMatch(/^15 of 15 .* never settled/);
  });

  it("finds a processor that does not end with its input", async () => {
    const endless: Processor = (source) =>
      new Observable((out) => source.subscribe({ next: (delivery) => out.next(delivery) }));
    const found = await failures(() => endless, { patienceMs: 100 });
    expect(found["brings out what it holds when its input ends (logs)"]).toMatch(
      /^its input ended and its output did not/,
    );
  });

  it("finds a processor that goes on when it is stopped", async () => {
    const deaf: Processor = (source) =>
      new Observable((out) => {
        source.subscribe({ next: (delivery) => out.next(delivery), complete: () => out.complete() });
      });
    expect(await failures(() => deaf)).toMatchObject({
      "lets go of everything when it is stopped (logs)": expect.stringContaining("still listens to its input"),
    });
  });

  it("finds a timer that is left behind, and an acknowledgement on the way out", async () => {
    const ticking = ({ clock }: ProcessorContext) =>
      operator((delivery, emit) => {
        clock.after(10, () => {});
        emit(delivery);
      });
    expect(await failures(ticking)).toMatchObject({
      "lets go of everything when it is stopped (logs)": expect.stringContaining("left 15 timers behind"),
    });
    const lying: Processor = (source) =>
      new Observable(() => {
        const held: Delivery[] = [];
        const upstream = source.subscribe((delivery) => held.push(delivery));
        return () => {
          upstream.unsubscribe();
          for (const delivery of held) delivery.accept();
        };
      });
    expect(await failures(() => lying, { patienceMs: 100 })).toMatchObject({
      "lets go of everything when it is stopped (logs)": expect.stringMatching(
        /accepted record r\d+, which went nowhere/,
      ),
    });
  });

  it("finds a processor whose stream ends on a throw", async () => {
    const breaking: Processor = map((delivery) => {
      if (delivery.batch.count > 2) throw new Error("boom");
      return delivery;
    });
    const found = await failures(() => breaking);
    expect(found["settles every delivery (logs)"]).toMatch(/^its stream ended with an error, .*: Error: boom/);
  });

  it("finds a processor that accepts what it throws on, or refuses everything", async () => {
    const swallowing = eachBatch((batch) => (batch.byteLength < 40 ? null : batch));
    expect(await failures(() => swallowing, { poison: () => logs("bad") })).toMatchObject({
      "goes on after a batch it throws on (logs)": "the batch it throws on was accepted",
    });
    const broken = eachBatch(() => {
      throw new Error("not today");
    });
    expect(await failures(() => broken)).toMatchObject({
      "settles every delivery (logs)": "it refused every delivery, the first with: not today",
    });
  });

  it("finds a processor that shares its state with the next", async () => {
    const held: Delivery[] = [];
    const sharing = operator(
      (delivery) => void held.push(delivery),
      (emit) => held.splice(0).forEach(emit),
    );
    expect(await failures(() => sharing)).toMatchObject({
      "begins anew when it is made again (logs)": expect.stringMatching(
        /was given to one instance and came out of another/,
      ),
    });
  });

  it("finds a processor that decodes and encodes what it does not change", async () => {
    const rewriting = eachBatch((batch) => batchFromJson("logs", batchToJson(batch)));
    expect(await failures(() => rewriting)).toEqual({
      "passes on as the same bytes what it does not change (logs)": expect.stringContaining("wrote other bytes"),
      "keeps fields it does not know (logs)": expect.stringMatching(/was lost: <unknown r\d+>/),
    });
  });

  it("finds a processor that writes into the bytes it is given", async () => {
    const scribbling = eachBatch((batch) => {
      const copy = Batch.admit("logs", Buffer.from(batch.bytes));
      const text = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
      const at = text.indexOf("body of");
      if (at >= 0) text[at] = 0x42;
      return copy;
    });
    expect(await failures(() => scribbling)).toMatchObject({
      "does not write into the bytes it is given (logs)": expect.stringContaining("wrote into the bytes"),
    });
  });
});

describe("every conformance suite", () => {
  it("tells the seed of what failed, and does the same again with it", async () => {
    const lossy = () => eachBatch((batch: Batch) => (batch.count > 3 ? null : batch));
    const { seed: _, ...options } = { seed: 0, patienceMs: 100 };
    const factory = defineProcessor({ type: "tried", signals: ["logs"], create: lossy });
    const run = (seed?: number) =>
      processorConformance(factory, { ...options, ...(seed !== undefined && { seed }) })[1]!
        .run()
        .then(String, (error: Error) => error.message);
    const first = await run();
    const seed = Number(/\{ seed: (\d+) \}/.exec(first)?.[1]);
    expect(await run(seed)).toBe(first);
  });

  it("leaves out the cases that do not apply, and knows their names", () => {
    const make = () => eachBatch((batch) => batch);
    const names = suite(make, { skip: ["keeps fields it does not know"] }).map(({ name }) => name);
    expect(names).not.toContain("keeps fields it does not know (logs)");
    expect(() => suite(make, { skip: ["keeps feilds"] })).toThrow('no case "keeps feilds"');
  });

  it("says what is wrong with a config", async () => {
    const { z } = await import("zod");
    const factory = defineProcessor({
      type: "tried",
      signals: ["logs"],
      schema: z.strictObject({ size: z.number() }),
      create: () => eachBatch((batch) => batch),
    });
    const [first] = processorConformance(factory, { config: { size: "x" } });
    await expect(first!.run()).rejects.toThrow(/the config is not valid:\ntried.size: /);
  });
});
