import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Batch, type Delivery, Refusal, readRecords } from "../../../../src/plugin.js";
import { tailSampling } from "../../../../src/processors/sampling/tail/component.js";
import { EarlierDecisions } from "../../../../src/processors/sampling/tail/earlier-decisions.js";
import type { EntrySettlement } from "../../../../src/runtime/contract/operators/outlet.js";
import { owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { processing } from "../../../support/processors.js";
import { runs } from "../../../support/runs.js";
import { type SpanInput, spanBatch, traceId } from "../../../support/sampled.js";

const WAIT = 1000;
/** Traces with six spans are kept and those with four are not; for a half of the spans it is the other way round. */
const POLICIES = [
  { name: "six", type: "span_count", span_count: { min_spans: 6 } },
  { name: "half of four", type: "span_count", span_count: { min_spans: 1, max_spans: 2 } },
];

type Logged = { readonly note: Uint8Array; readonly after: number } | { readonly acknowledged: number };

/**
 * A sampler behind a journal that is a list: entries, and a log of notes and acknowledgements. A crash leaves only the
 * beginning of the log. Entries that were refused, or not acknowledged before a crash, are read again.
 */
class JournalledSampler {
  readonly clock = new FakeClock();
  /** How often each span has arrived, by its name. */
  readonly arrived = new Map<string, number>();
  /** The remaining spans of permanently refused entries. */
  readonly dead: Batch[] = [];
  private readonly entries: Batch[] = [];
  private log: Logged[] = [];
  /** The part of the log that is safe. */
  private written = 0;
  private refused: number[] = [];
  private readonly cache: object | undefined | 0;
  private sampler!: ReturnType<typeof processing>;
  private settlement!: EntrySettlement;

  /** `remembered` is how many decisions of each kind the sampler remembers. */
  constructor(remembered?: number) {
    this.cache = remembered && { sampled_cache_size: remembered, non_sampled_cache_size: remembered };
    this.start();
  }

  put(spans: readonly SpanInput[]): void {
    this.entries.push(spanBatch(spans));
    this.hand(this.entries.length - 1);
  }

  get notes(): number {
    return this.log.filter((logged) => "note" in logged).length;
  }

  commit(): void {
    this.written = this.log.length;
  }

  /** Lets the exporters accept, refuse for now, or permanently refuse the output. */
  settle(take: (i: number) => boolean | "never"): void {
    this.sampler.out.splice(0).forEach((delivery, i) => {
      const answer = take(i);
      if (answer === true) this.take(delivery);
      else delivery.refuse(new Refusal(answer === "never" ? "permanent" : "transient", "no"));
    });
    for (const position of this.refused.splice(0)) this.hand(position);
  }

  /** Loses `share` of what was not written. */
  crash(share: number): void {
    const unwritten = this.log.length - this.written;
    this.log = this.log.slice(0, this.written + Math.floor(unwritten * (1 - share)));
    this.sampler.unsubscribe();
    this.refused = [];
    this.start();
    const acknowledged = new Set(this.log.map((logged) => ("acknowledged" in logged ? logged.acknowledged : -1)));
    for (const position of this.entries.keys()) if (!acknowledged.has(position)) this.hand(position);
  }

  private start(): void {
    const log = this.log;
    const journal = {
      read: () => log.flatMap((logged) => ("note" in logged ? [{ bytes: logged.note, after: logged.after }] : [])),
      write: (note: Uint8Array) => void log.push({ note, after: this.entries.length - 1 }),
      firstPosition: 0,
      setSettlement: (settlement: EntrySettlement) => void (this.settlement = settlement),
      limitUnneededBytes: () => {},
    };
    const config = { decision_wait: `${WAIT}ms`, policies: POLICIES, decision_cache: this.cache || {} };
    this.sampler = processing(tailSampling, config, "traces", { journal, clock: this.clock });
  }

  private hand(position: number): void {
    const { log } = this;
    const { delivery, outcomes } = owed(this.entries[position]!, { position });
    const observed = delivery.observe((outcome) => {
      expect(outcomes).toEqual([]);
      if (!outcome.ok && outcome.refusal.kind !== "permanent") return void this.refused.push(position);
      if (!outcome.ok) this.dead.push(this.settlement.remaining(position, this.entries[position]!));
      this.settlement.ended(position);
      log.push({ acknowledged: position });
    });
    this.sampler.source.next(observed);
  }

  private take(delivery: Delivery): void {
    for (const name of namesIn(delivery.batch)) this.arrived.set(name, (this.arrived.get(name) ?? 0) + 1);
    delivery.accept();
  }
}

function namesIn(batch: Batch): string[] {
  const names: string[] = [];
  readRecords(batch, (record) => void (record.signal === "traces" && names.push(record.name)));
  return names;
}

const spansOf = (trace: number, half: 0 | 1): SpanInput[] => {
  const count = trace % 3 === 0 ? 2 : 3;
  return Array.from({ length: count }, (_, i) => {
    const n = half * count + i + 1;
    return { trace: traceId(trace), span: n.toString(16).padStart(16, "0"), name: `${trace}/${n}` };
  });
};

/**
 * Spans that arrive when their trace is forgotten: alone they are dropped if the trace was kept, and the other way
 * round.
 */
const lateSpans = (trace: number, round: number): SpanInput[] =>
  Array.from({ length: trace % 3 === 0 ? 2 : 4 }, (_, i) => ({
    trace: traceId(trace),
    span: (1000 * (round + 1) + i).toString(16).padStart(16, "0"),
    name: `${trace}/late`,
  }));

const step = fc.record({
  /** Traces that begin in this step, and the distribution of their halves over requests. */
  traces: fc.integer({ min: 0, max: 4 }),
  requests: fc.integer({ min: 1, max: 3 }),
  takes: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
  crash: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
  commits: fc.boolean(),
  /** Crashes before or after the exporters have answered. */
  isEarly: fc.boolean(),
});

describe("a sampler behind a journal", () => {
  it("delivers sampled traces completely and nothing of others, whatever is refused and whenever it crashes", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const sampler = new JournalledSampler();
        const traces: number[] = [];
        let begun: number[] = [];
        for (const { traces: count, requests, takes, crash, commits, isEarly } of steps) {
          const fresh = Array.from({ length: count }, (_, i) => traces.length + i);
          const halves = [...begun.map((t) => spansOf(t, 1)), ...fresh.map((t) => spansOf(t, 0))];
          for (let r = 0; r < requests; r++) sampler.put(halves.filter((_, i) => i % requests === r).flat());
          traces.push(...fresh);
          begun = fresh;
          sampler.clock.advance(WAIT / 2);
          if (commits) sampler.commit();
          if (crash !== null && isEarly) sampler.crash(crash);
          sampler.settle((i) => takes[i % takes.length]!);
          if (crash !== null && !isEarly) sampler.crash(crash);
        }
        sampler.put(begun.flatMap((t) => spansOf(t, 1)));
        for (let i = 0; i < 4; i++) {
          sampler.clock.advance(2 * WAIT);
          sampler.settle(() => true);
        }
        const wanted = traces.filter((t) => t % 3 !== 0).flatMap((t) => [...spansOf(t, 0), ...spansOf(t, 1)]);
        expect([...sampler.arrived.keys()].sort()).toEqual(wanted.map(({ name }) => name).sort());
      }),
      runs(150),
    );
  });

  it("never decides a trace twice, however long it is refused and however many decisions are made meanwhile, also after restarts", () => {
    const round = fc.record({
      takes: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
      restarts: fc.boolean(),
      /** A span of a trace that was decided long ago, which is decided again. */
      late: fc.option(fc.constantFrom(1, 2, 3, 4)),
    });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 6 }), (rounds) => {
        const sampler = new JournalledSampler(2);
        sampler.put([...spansOf(1, 0), ...spansOf(2, 0), ...spansOf(3, 0)]);
        sampler.put([...spansOf(1, 1), ...spansOf(3, 1), ...spansOf(4, 0)]);
        sampler.put([...spansOf(2, 1), ...spansOf(4, 1)]);
        sampler.clock.advance(WAIT);
        for (const [i, { takes, restarts, late }] of rounds.entries()) {
          const others = [1, 2, 3, 4, 5, 6].map((n) => 10 * (i + 1) + n);
          for (const t of others) sampler.put([...spansOf(t, 0), ...spansOf(t, 1)]);
          if (late !== null) sampler.put(lateSpans(late, i));
          if (restarts) sampler.crash(0);
          else sampler.settle((j) => takes[j % takes.length]!);
          sampler.clock.advance(WAIT);
        }
        for (let i = 0; i < 4; i++) {
          sampler.settle(() => true);
          sampler.clock.advance(2 * WAIT);
        }
        const first = [1, 2, 4].flatMap((t) => [...spansOf(t, 0), ...spansOf(t, 1)]).map(({ name }) => name);
        const arrived = [...sampler.arrived].filter(([name]) => /^[1-4]\/\d+$/.test(name));
        expect(arrived.sort()).toEqual(first.sort().map((name) => [name, 1]));
      }),
      runs(200),
    );
  });

  it("keeps late spans of a sampled trace, although even later ones were decided again before a restart", () => {
    const sampler = new JournalledSampler(2);
    sampler.put([...spansOf(1, 0), ...spansOf(1, 1)]);
    sampler.clock.advance(WAIT);
    sampler.settle(() => true);
    const late = { trace: traceId(1), span: "00000000000000ff", name: "late" };
    sampler.put([late]);
    sampler.settle(() => false);
    for (let t = 10; t < 16; t++) sampler.put([...spansOf(t, 0), ...spansOf(t, 1)]);
    sampler.clock.advance(WAIT);
    sampler.settle((i) => i > 0);
    sampler.put(lateSpans(1, 0));
    sampler.clock.advance(WAIT);
    sampler.crash(0);
    sampler.settle(() => true);
    expect([sampler.arrived.get("late"), sampler.arrived.get("1/late")]).toEqual([1, undefined]);
  });

  it("notes a late span once, however often it is refused", () => {
    const sampler = new JournalledSampler();
    sampler.put([...spansOf(1, 0), ...spansOf(1, 1)]);
    sampler.clock.advance(WAIT);
    sampler.settle(() => true);
    sampler.put([{ trace: traceId(1), span: "00000000000000ff", name: "late" }]);
    const { notes } = sampler;
    for (let i = 0; i < 50; i++) sampler.settle(() => false);
    expect(sampler.notes).toBe(notes);
    sampler.settle(() => true);
    expect(sampler.arrived.get("late")).toBe(1);
  });

  it("applies decisions of earlier runs to their entries, also for a trace that occurs in every request", () => {
    const earlier = new EarlierDecisions(10);
    for (let after = 0; after < 300_000; after++) earlier.add("always", after % 100_000 < 50_000, after);
    earlier.add("once", true, 20);
    earlier.add("before", true, 9);
    const fates = (id: string, ...positions: number[]) => positions.map((position) => earlier.fateOf(position, id));
    expect(fates("always", 10, 49_999, 50_000, 99_999, 100_000, 299_999, 300_000)).toEqual(
      ["sampled", "sampled", "dropped", "dropped", "sampled", "dropped"].concat([undefined as never]),
    );
    expect(fates("once", 10, 20, 21)).toEqual(["sampled", "sampled", "sampled"]);
    expect(fates("before", 10)).toEqual([undefined]);
    expect([earlier.isNeededFrom(299_999), earlier.isNeededFrom(300_000)]).toEqual([true, false]);
  });

  it("keeps only undelivered spans of a permanently refused entry, however often it was refused, also after restarts", () => {
    const answer = fc.constantFrom(true, false, "never" as const);
    const round = fc.record({ takes: fc.array(answer, { minLength: 1, maxLength: 4 }), restarts: fc.boolean() });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 6 }), (rounds) => {
        const sampler = new JournalledSampler();
        sampler.put([...spansOf(1, 0), ...spansOf(2, 0), ...spansOf(3, 0)]);
        sampler.clock.advance(WAIT / 2);
        sampler.put([...spansOf(1, 1), ...spansOf(3, 1), ...spansOf(4, 0)]);
        sampler.put([...spansOf(2, 1), ...spansOf(4, 1)]);
        sampler.clock.advance(WAIT / 2);
        for (const { takes, restarts } of rounds) {
          if (restarts) sampler.crash(0);
          sampler.settle((i) => takes[i % takes.length]!);
          sampler.clock.advance(WAIT);
        }
        sampler.clock.advance(2 * WAIT);
        for (let i = 0; i < 3; i++) sampler.settle(() => true);
        const names = [...sampler.arrived].flatMap(([name, times]) => Array<string>(times).fill(name));
        const wanted = [1, 2, 4].flatMap((t) => [...spansOf(t, 0), ...spansOf(t, 1)]).map(({ name }) => name);
        expect([...names, ...sampler.dead.flatMap(namesIn)].sort()).toEqual(wanted.sort());
      }),
      runs(200),
    );
  });

  it("passes nothing on twice unless a crash has lost its notes", () => {
    const round = fc.record({
      takes: fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
      crashes: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(round, { maxLength: 8 }), (rounds) => {
        const sampler = new JournalledSampler();
        sampler.put([...spansOf(1, 0), ...spansOf(2, 0), ...spansOf(3, 0)]);
        sampler.clock.advance(WAIT / 2);
        sampler.put([...spansOf(1, 1), ...spansOf(2, 1), ...spansOf(3, 1), ...spansOf(4, 0)]);
        sampler.clock.advance(WAIT / 2);
        sampler.put(spansOf(4, 1));
        for (const { takes, crashes } of rounds) {
          sampler.settle((i) => takes[i % takes.length]!);
          if (crashes) sampler.crash(0);
          sampler.clock.advance(WAIT / 4);
        }
        sampler.clock.advance(2 * WAIT);
        for (let i = 0; i < 3; i++) sampler.settle(() => true);
        expect([...sampler.arrived].filter(([, times]) => times !== 1)).toEqual([]);
        expect(sampler.arrived.size).toBe(18);
      }),
      runs(100),
    );
  });
});
