import { isDeepStrictEqual } from "node:util";
import { Debt, Delivery, noMetrics, type Outcome, type ProcessorFactory, type Setback, silentLogger } from "#contract";
import { ERROR_CODES, Refusal } from "#contract/errors";
import type { Batch } from "#otlp";
import type { Value } from "#otlp/bytes";
import { decodeTree } from "#otlp/json";
import type { Signal } from "#otlp/signals";
import { isolate } from "#pipeline";
import { check, eventually } from "../eventually.js";
import type { Random } from "../fakes.js";
import { containsText, sampleBatch, sampleIds, unknownFieldOf } from "../samples.js";
import { type CaseContext, type Cases, type ConformanceCase, type ConformanceOptions, suiteOf } from "./case.js";
import { type FedBatch, ProcessorHarness } from "./processor-harness.js";

/** Options of the processor suite. */
export interface ProcessorConformanceOptions extends ConformanceOptions {
  /** As in the YAML; default: empty. */
  readonly config?: unknown;
  /** Signals to test; default: those of the processor. */
  readonly signals?: readonly Signal[];
  /**
   * Tells the suite what happens to accepted records: each comes out once ("keeps", the default), some are dropped on
   * purpose ("drops"), or others are made from them ("makes").
   */
  readonly records?: "keeps" | "drops" | "makes";
  /** Attributes that give the processor something to do. */
  readonly attributes?: (id: string, random: Random) => Readonly<Record<string, Value>>;
  /** A batch that makes the processor throw. */
  readonly poison?: (signal: Signal) => Batch;
}

/** Cases that every processor must pass, for each of its signals. The processor gets a fake clock. */
export function processorConformance(
  factory: ProcessorFactory,
  options: ProcessorConformanceOptions = {},
): ConformanceCase[] {
  const cases: [string, Cases[string]][] = [];
  for (const signal of options.signals ?? factory.signals) {
    const suite = new ProcessorCases(factory, signal, options);
    for (const [name, run] of Object.entries(suite.cases)) {
      cases.push([`${name} (${signal})`, run]);
    }
  }
  return suiteOf(Object.fromEntries(cases), options);
}

const MANY = 15;
const SEVERAL = 8;

class ProcessorCases {
  private readonly factory: ProcessorFactory;
  private readonly signal: Signal;
  private readonly options: ProcessorConformanceOptions;
  private numbers = 0;

  constructor(factory: ProcessorFactory, signal: Signal, options: ProcessorConformanceOptions) {
    this.factory = factory;
    this.signal = signal;
    this.options = options;
  }

  get cases(): Cases {
    const { poison } = this.options;
    return {
      "settles every delivery": (context) => this.settles(context),
      "hands on what it accepts": (context) => this.handsOn(context),
      "calls nothing safe before those behind it do": (context) => this.waits(context),
      "brings out what it holds when its input ends": (context) => this.drains(context),
      "lets go of everything when it is stopped": (context) => this.aborts(context),
      "begins anew when it is made again": (context) => this.restarts(context),
      "does not write into the bytes it is given": (context) => this.leavesInput(context),
      "passes on as the same bytes what it does not change": (context) => this.keepsBytes(context),
      "keeps fields it does not know": (context) => this.keepsUnknown(context),
      "lets dead letters of others pass by": (context) => this.passesSetbacks(context),
      ...(poison && { "goes on after a batch it throws on": (context) => this.survives(context, poison(this.signal)) }),
    };
  }

  private async settles({ random, patienceMs }: CaseContext): Promise<void> {
    const harness = this.createHarness(random);
    for (let i = 0; i < MANY; i++) {
      harness.feed(this.batch(random));
      if (random.chance(0.3)) await harness.flushPromises();
      if (random.chance(0.2)) harness.clock.advance(random.below(1000));
      if (random.chance(0.5)) harness.acceptAll();
    }
    await harness.end(patienceMs);
    harness.acceptAll();
    harness.checkSettled();
    const refusal = harness.fed.map(({ outcome }) => outcome).find(isRefused)?.refusal;
    const isAnyAccepted = harness.fed.some(({ outcome }) => outcome?.ok);
    check(isAnyAccepted, () => `it refused every delivery, the first with: ${refusal?.message}`);
  }

  private async handsOn({ random, patienceMs }: CaseContext): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random);
    await bench.end(patienceMs);
    bench.acceptAll();
    this.checkRecords(bench);
  }

  private checkRecords({ fed, out }: ProcessorHarness): void {
    const { records = "keeps" } = this.options;
    if (records === "makes") return;
    const times = new Map<string, number>();
    for (const id of out.flatMap(({ batch }) => sampleIds(batch))) times.set(id, (times.get(id) ?? 0) + 1);
    for (const [id, count] of times) check(count === 1, `record ${id} came out ${count} times`);
    const again = fed.filter(({ outcome }) => isRefused(outcome)).find(({ ids }) => ids.every((id) => times.has(id)));
    check(again === undefined, () => `record ${again?.ids[0]} was refused and came out: its sender sends it again`);
    if (records === "drops") return;
    const lost = fed.filter(({ outcome }) => outcome?.ok).flatMap(({ ids }) => ids.filter((id) => !times.has(id)));
    const hint = 'if it drops on purpose, say { records: "drops" }';
    check(
      lost.length === 0,
      () => `${lost.length} records were accepted and never came out, such as ${lost[0]}; ${hint}`,
    );
  }

  private async waits({ random, patienceMs }: CaseContext): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random);
    await bench.end(patienceMs);
    const early = passedOn(bench).find(({ outcome }) => outcome?.ok);
    check(
      early === undefined,
      () => `the delivery of record ${early?.ids[0]} was accepted while it was still on its way`,
    );
    for (const delivery of bench.out) delivery.refuse(new Refusal("transient", "refused behind it"));
    const wronglyAnswered = passedOn(bench).find(({ outcome }) => outcome?.ok !== false);
    check(
      wronglyAnswered === undefined,
      () => `record ${wronglyAnswered?.ids[0]} was refused behind it, and its sender was not told`,
    );
    bench.checkSettled();
  }

  private async drains({ random, patienceMs }: CaseContext): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random);
    await bench.end(patienceMs);
    bench.acceptAll();
    bench.checkSettled();
  }

  private async aborts({ random }: CaseContext): Promise<void> {
    await this.abortsWhen(random, async () => {});
    await this.abortsWhen(random, (bench) => bench.flushPromises());
  }

  private async abortsWhen(random: Random, wait: (bench: ProcessorHarness) => Promise<void>): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random);
    await wait(bench);
    const outputBefore = bench.out.length;
    const owed = bench.fed.filter(({ outcome }) => outcome === undefined);
    bench.stop();
    check(!bench.source.observed, "it was stopped and still listens to its input: unsubscribe from the source");
    const { pending } = bench.clock;
    check(pending === 0, `it was stopped and left ${pending} timers behind`);
    await bench.clock.pass(3_600_000);
    check(bench.out.length === outputBefore, "it was stopped and still handed something on");
    const { records = "keeps" } = this.options;
    const wronglyAccepted = records === "keeps" ? owed.find(({ outcome }) => outcome?.ok) : undefined;
    check(
      wronglyAccepted === undefined,
      () => `it was stopped and accepted record ${wronglyAccepted?.ids[0]}, which went nowhere`,
    );
  }

  private async restarts({ random, patienceMs }: CaseContext): Promise<void> {
    const first = this.createHarness(random);
    this.feedMany(first, random);
    first.stop();
    const second = this.createHarness(random);
    this.feedMany(second, random);
    await second.end(patienceMs);
    second.acceptAll();
    second.checkSettled();
    this.checkRecords(second);
    const before = new Set(first.fed.flatMap(({ ids }) => ids));
    const old = second.out.flatMap(({ batch }) => sampleIds(batch)).find((id) => before.has(id));
    check(old === undefined, `record ${old} was given to one instance and came out of another: keep state inside`);
  }

  private async survives({ random, patienceMs }: CaseContext, poison: Batch): Promise<void> {
    const bench = this.createHarness(random);
    const good = [bench.feed(this.batch(random))];
    const bad = bench.feed(poison);
    good.push(bench.feed(this.batch(random)));
    await bench.end(patienceMs);
    bench.acceptAll();
    bench.checkSettled();
    check(isRefused(bad.outcome), "the batch it throws on was accepted");
    check(
      good.every(({ outcome }) => outcome?.ok),
      "a batch that it does not throw on was refused",
    );
  }

  private async leavesInput({ random, patienceMs }: CaseContext): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random);
    await bench.end(patienceMs);
    bench.acceptAll();
    const changed = bench.fed.find(({ batch, before }) => !before.equals(batch.bytes));
    check(
      changed === undefined,
      "it wrote into the bytes of a batch it was given; other pipelines have the same bytes",
    );
  }

  private async keepsBytes({ random, patienceMs }: CaseContext): Promise<void> {
    for (let i = 0; i < SEVERAL; i++) {
      const bench = this.createHarness(random);
      const { batch, before } = bench.feed(this.batch(random, i % 2 === 0));
      await bench.end(patienceMs);
      bench.acceptAll();
      const [first, ...more] = bench.out;
      if (first === undefined || more.length > 0) continue; // dropped or divided
      const after = first.batch;
      const isSame = isDeepStrictEqual(decodeTree(after), decodeTree(batch));
      check(!isSame || before.equals(after.bytes), "it changed no field and wrote other bytes: pass the same batch on");
    }
  }

  private async keepsUnknown({ random, patienceMs }: CaseContext): Promise<void> {
    const bench = this.createHarness(random);
    this.feedMany(bench, random, true);
    await bench.end(patienceMs);
    bench.acceptAll();
    for (const { batch } of bench.out) {
      const wanted = [...sampleIds(batch).map(unknownFieldOf), ...(batch.count > 0 ? ["<unknown resource>"] : [])];
      const lost = wanted.find((text) => !containsText(batch, text));
      check(lost === undefined, `a field that this version of OTLP does not know was lost: ${lost}`);
    }
  }

  /** The runtime keeps dead letters away from a processor; all other data passes as usual. */
  private async passesSetbacks({ random, patienceMs }: CaseContext): Promise<void> {
    const counter = { add() {} };
    const bench = new ProcessorHarness({ ...this.settings(random) }, (create, clock) =>
      isolate(create, {
        id: this.factory.type,
        logger: silentLogger,
        incoming: counter,
        outgoing: counter,
        failures: noMetrics.counter("", { description: "" }),
        clock,
        signal: this.signal,
      }),
    );
    this.feedMany(bench, random);
    const outcomes: Outcome[] = [];
    const debt = new Debt((outcome) => outcomes.push(outcome));
    const dead = new Delivery(this.batch(random), { receiver: "test", transport: "test" }, debt, undefined, SETBACK);
    bench.source.next(dead);
    await eventually(() => bench.out.includes(dead), "a dead letter of another processor did not pass by", patienceMs);
    check(outcomes.length === 0, "a dead letter of another processor was settled on its way");
    await bench.end(patienceMs);
    bench.acceptAll();
    bench.checkSettled();
  }

  private settings(random: Random) {
    return { factory: this.factory, config: this.options.config, signal: this.signal, random };
  }

  private createHarness(random: Random): ProcessorHarness {
    return new ProcessorHarness(this.settings(random));
  }

  private feedMany(bench: ProcessorHarness, random: Random, unknownFields = false): void {
    for (let i = 0; i < MANY; i++) bench.feed(this.batch(random, unknownFields));
  }

  private batch(random: Random, unknownFields = random.chance(0.5)): Batch {
    const ids = Array.from({ length: 1 + random.below(6) }, () => `r${this.numbers++}`);
    const { attributes } = this.options;
    return sampleBatch(this.signal, random, { ids, unknownFields, ...(attributes && { attributes }) });
  }
}

const SETBACK: Setback = {
  reason: "rejected",
  category: "business",
  code: ERROR_CODES.SLUICE_REJECTED,
  message: "taken out",
};

function isRefused(outcome: Outcome | undefined): outcome is Outcome & { ok: false } {
  return outcome?.ok === false;
}

/** The batches that came out, completely or in part. */
function passedOn({ fed, out }: ProcessorHarness): FedBatch[] {
  const ids = new Set(out.flatMap(({ batch }) => sampleIds(batch)));
  return fed.filter((one) => one.ids.some((id) => ids.has(id)));
}
