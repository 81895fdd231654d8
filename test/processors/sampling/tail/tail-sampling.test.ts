import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, type Delivery, type Metrics, type Outcome, readRecords } from "../../../../src/plugin.js";
import { tailSampling } from "../../../../src/processors/sampling/tail/component.js";
import { owed } from "../../../support/deliveries.js";
import { liveHeap } from "../../../support/live-heap.js";
import { counting, processing } from "../../../support/processors.js";
import { runs } from "../../../support/runs.js";
import { type SpanInput, spanBatch, traceId } from "../../../support/sampled.js";
import { rewritten, unknownFields } from "../../../support/telemetry/wire-forms.js";

const ERRORS = { name: "errors", type: "status_code", status_code: { status_codes: ["ERROR"] } };
const ALL = { name: "all", type: "always_sample" };
const WAIT = 30_000;

const spanId = (n: number) => n.toString(16).padStart(16, "0");

function sampling(config: object) {
  const { metrics, counts } = counting();
  const made = processing(tailSampling, { policies: [ERRORS], ...config }, "traces", { metrics });
  const send = (spans: readonly SpanInput[]): Outcome[] => {
    const { delivery, outcomes } = owed(spanBatch(spans, { "service.name": "shop" }));
    made.source.next(delivery);
    return outcomes;
  };
  return { ...made, counts, send };
}

/** `trace number/span number` of every span that came out. */
function spansIn(out: readonly Delivery[]): string[] {
  const found: string[] = [];
  for (const { batch } of out) {
    readRecords(batch, (record) => {
      if (record.signal !== "traces") return;
      expect(record.resource.attributes.get("service.name")).toBe("shop");
      found.push(`${record.name}/${Number.parseInt(record.spanId, 16)}`);
    });
  }
  return found;
}

const span = (trace: number, n: number, more: Partial<SpanInput> = {}): SpanInput => ({
  trace: traceId(trace),
  span: spanId(n),
  parent: n === 1 ? "" : spanId(1),
  name: String(trace),
  ...more,
});

const ACCEPTED = { ok: true, rejected: 0, message: "" };

describe("tail_sampling", () => {
  it("fails as a whole when one of its traces throws, because others may have left the waiting ones", () => {
    const { metrics } = counting();
    const failing: Metrics = {
      ...metrics,
      counter: (name, options, attributes) =>
        name.includes("early") ? { add: () => expect.fail("a mistake") } : metrics.counter(name, options, attributes),
    };
    const config = { policies: [ALL], num_traces: 1 };
    const { source, errors, out } = processing(tailSampling, config, "traces", { metrics: failing });
    const [first, second] = [owed(spanBatch([span(1, 1)])), owed(spanBatch([span(2, 1)]))];
    for (const { delivery } of [first, second]) source.next(delivery);
    expect(errors).toMatchObject([{ message: "a mistake" }]);
    expect([...out, ...first.outcomes, ...second.outcomes]).toEqual([]);
  });

  it("keeps a whole trace for one erroneous span in it, and drops traces without one", () => {
    const { send, clock, out } = sampling({});
    const first = send([span(1, 1), span(2, 1), span(1, 2)]);
    const second = send([span(2, 2), span(1, 3, { error: true })]);
    clock.advance(WAIT - 1);
    expect([out.length, ...first, ...second]).toEqual([0]);
    clock.advance(1);
    expect(spansIn(out)).toEqual(["1/1", "1/2", "1/3"]);
    expect([...first, ...second]).toEqual([]);
    out[0]!.accept();
    expect([...first, ...second]).toEqual([ACCEPTED, ACCEPTED]);
  });

  it("answers no sender before the decision, and then at once those whose traces are dropped", () => {
    const { send, clock } = sampling({});
    const outcomes = send([span(1, 1), span(2, 1)]);
    expect(outcomes).toEqual([]);
    clock.advance(WAIT);
    expect(outcomes).toEqual([ACCEPTED]);
  });

  it("lets late spans follow the decision", () => {
    const { send, clock, out, counts } = sampling({});
    send([span(1, 1, { error: true }), span(2, 1)]);
    clock.advance(WAIT);
    const dropped = send([span(2, 2)]);
    expect([out.length, dropped]).toEqual([1, [ACCEPTED]]);
    const kept = send([span(1, 2), span(2, 3)]);
    expect(spansIn(out.slice(1))).toEqual(["1/2"]);
    out[1]!.accept();
    expect(kept).toEqual([ACCEPTED]);
    const name = "otelcol_processor_tail_sampling_early_releases_from_cache_decision";
    expect([counts.get(`${name}{sampled=true}`), counts.get(`${name}{sampled=false}`)]).toEqual([1, 2]);
  });

  it("forgets the oldest decisions beyond the caches", () => {
    const { send, clock, out } = sampling({ decision_cache: { sampled_cache_size: 2 } });
    for (const trace of [1, 2, 3]) {
      send([span(trace, 1, { error: true })]);
      clock.advance(WAIT);
    }
    send([span(1, 2)]);
    send([span(3, 2)]);
    expect(spansIn(out)).toEqual(["1/1", "2/1", "3/1", "3/2"]);
  });

  it("counts repeated spans once, and settles both requests with the trace", () => {
    const { send, clock, out, counts } = sampling({
      policies: [{ name: "two", type: "span_count", span_count: { min_spans: 2 } }],
    });
    const first = send([span(1, 1), span(2, 1)]);
    const again = send([span(1, 1), span(2, 1)]);
    const different = send([span(2, 1, { error: true })]);
    clock.advance(WAIT);
    expect(spansIn(out)).toEqual(["2/1", "2/1"]);
    expect([first, again, different]).toEqual([[], [], []]);
    out[0]!.accept();
    expect([first, again, different]).toEqual([[ACCEPTED], [ACCEPTED], [ACCEPTED]]);
    expect(counts.get("sluice_tail_sampling_repeated_spans")).toBe(2);
  });

  it("finds repeated spans also in a large trace", () => {
    const { send, clock, out } = sampling({ policies: [ALL] });
    const spans = Array.from({ length: 100 }, (_, i) => span(1, i + 1));
    send(spans);
    send(spans);
    clock.advance(WAIT);
    expect(spansIn(out)).toHaveLength(100);
  });

  it("handles a trace of many spans with the same id, or none, quickly, and counts each of them once", () => {
    const { send, clock, out, counts } = sampling({ policies: [ALL] });
    const spans = Array.from({ length: 8000 }, (_, i) => span(1, i < 4000 ? 0 : 7, { start: BigInt(1e15 + i) }));
    send(spans);
    send(spans.slice(2000, 6000));
    clock.advance(WAIT);
    expect(spansIn(out)).toHaveLength(8000);
    expect(counts.get("sluice_tail_sampling_repeated_spans")).toBe(4000);
  });

  it("refuses its senders when the sampled traces are refused", () => {
    const { send, clock, out } = sampling({});
    const [kept, dropped] = [send([span(1, 1, { error: true })]), send([span(2, 1)])];
    clock.advance(WAIT);
    out[0]!.refuse(new Error("no"));
    expect([kept, dropped]).toMatchObject([[{ ok: false }], [ACCEPTED]]);
  });

  it("decides soon after the root span if configured", () => {
    const { send, clock, out } = sampling({ decision_wait_after_root_received: "500ms" });
    send([span(1, 2, { error: true }), span(2, 2, { error: true })]);
    clock.advance(1000);
    send([span(2, 1)]);
    clock.advance(500);
    expect(spansIn(out)).toEqual(["2/2", "2/1"]);
    clock.advance(WAIT - 1500);
    expect(spansIn(out)).toEqual(["2/2", "2/1", "1/2"]);
  });

  it("decides the oldest trace early when more than num_traces wait, and logs it", () => {
    const { send, out, counts } = sampling({ num_traces: 2 });
    const first = send([span(1, 1, { error: true })]);
    send([span(2, 1), span(3, 1)]);
    expect(spansIn(out)).toEqual(["1/1"]);
    expect(first).toEqual([]);
    expect(counts.get("sluice_tail_sampling_decided_early{reason=num_traces}")).toBe(1);
  });

  it("decides the oldest early when more bytes wait than max_bytes", () => {
    const { send, out, counts } = sampling({ max_bytes: 450 });
    const outcomes = [1, 2, 3].map((trace) => send([span(trace, 1, { attributes: { a: "x".repeat(60) } })]));
    expect(outcomes.map((one) => one.length)).toEqual([1, 0, 0]);
    expect(out).toEqual([]);
    expect(counts.get("sluice_tail_sampling_decided_early{reason=max_bytes}")).toBe(1);
  });

  it("refuses new traces with a retryable error with block_on_overflow", () => {
    const { send } = sampling({ num_traces: 1, block_on_overflow: true });
    expect(send([span(1, 1)])).toEqual([]);
    expect(send([span(1, 2)])).toEqual([]);
    expect(send([span(2, 1)])).toMatchObject([{ ok: false, refusal: { kind: "throttled" } }]);
  });

  it("does not sample traces over maximum_trace_size_bytes", () => {
    const { send, out, clock, counts } = sampling({ maximum_trace_size_bytes: 200 });
    const small = send([span(1, 1, { error: true })]);
    const large = send([span(1, 2, { attributes: { a: "x".repeat(200) } })]);
    expect([small, large]).toEqual([[ACCEPTED], [ACCEPTED]]);
    clock.advance(WAIT);
    expect(out).toEqual([]);
    expect(counts.get("otelcol_processor_tail_sampling_traces_dropped_too_large")).toBe(1);
  });

  it("decides all waiting traces when the pipeline drains", () => {
    const { send, source, out, isComplete, clock } = sampling({});
    const dropped = send([span(2, 1)]);
    send([span(1, 1, { error: true })]);
    source.complete();
    expect(spansIn(out)).toEqual(["1/1"]);
    expect([dropped, isComplete(), clock.pending]).toEqual([[ACCEPTED], true, 0]);
  });

  it("gives waiting traces back on shutdown with drop_pending_traces_on_shutdown", () => {
    const { send, source, out } = sampling({ drop_pending_traces_on_shutdown: true });
    const outcomes = send([span(1, 1, { error: true })]);
    source.complete();
    expect(out).toEqual([]);
    expect(outcomes).toMatchObject([{ ok: false, refusal: { kind: "transient" } }]);
  });

  it("cancels its timer when it is aborted", () => {
    const { send, unsubscribe, clock } = sampling({});
    send([span(1, 1)]);
    unsubscribe();
    expect(clock.pending).toBe(0);
  });

  it("sends traces that are decided together as one batch", () => {
    const { send, clock, out } = sampling({ policies: [ALL] });
    for (let i = 0; i < 50; i++) send([span(i, 1)]);
    clock.advance(WAIT);
    expect(out.map(({ batch }) => batch.count)).toEqual([50]);
    expect(Batch.admit("traces", out[0]!.batch.bytes).count).toBe(50);
  });

  it("keeps unknown fields at every level of the traces it keeps", () => {
    const spans = [span(1, 1, { error: true }), span(2, 1), span(3, 1), span(2, 2, { error: true })];
    const plain = spanBatch(spans, { "service.name": "shop" }).bytes;
    const sent = [1, 2].map((seed) => rewritten("traces", plain, { unknown: true }, seed));
    const fields = sent.map((bytes) => unknownFields("traces", bytes));
    const ofRequests = fields.flat().filter((field) => field.startsWith("traces: "));
    expect(ofRequests.length).toBeGreaterThan(1);
    const { source, clock, out } = sampling({});
    for (const bytes of sent) source.next(owed(Batch.admit("traces", bytes)).delivery);
    clock.advance(WAIT);
    const kept = out.flatMap(({ batch }) => unknownFields("traces", batch.bytes));
    expect(spansIn(out).sort()).toEqual(["1/1", "1/1", "2/1", "2/1", "2/2", "2/2"]);
    expect(kept.filter((field) => field.startsWith("traces: ")).sort()).toEqual(ofRequests.sort());
    const ofNobody = fields.flat().filter((field) => !kept.includes(field));
    expect(ofNobody.every((field) => field.startsWith("traces.resourceSpans.scopeSpans.spans"))).toBe(true);
  });

  it("holds a hundred thousand traces in bounded memory", () => {
    const { source, counts, clock } = sampling({
      num_traces: 1000,
      policies: [{ name: "two", type: "span_count", span_count: { min_spans: 2 } }],
    });
    const template = Buffer.from(spanBatch(Array.from({ length: 1000 }, (_, i) => span(i, 1))).bytes);
    const places = Array.from({ length: 1000 }, (_, i) => template.indexOf(Buffer.from(traceId(i), "hex")));
    const before = liveHeap();
    for (let i = 0; i < 100; i++) {
      const bytes = Buffer.from(template);
      for (const [k, place] of places.entries()) bytes.writeUInt32LE(i * 1000 + k, place);
      source.next(owed(Batch.trusted("traces", bytes, 1000)).delivery);
      if (i % 10 === 0) clock.advance(10);
    }
    expect(counts.get("otelcol_processor_tail_sampling_new_trace_id_received")).toBe(100_000);
    expect(counts.get("sluice_tail_sampling_decided_early{reason=num_traces}")).toBe(99_000);
    expect(liveHeap() - before).toBeLessThan(20 * 1024 * 1024);
  });
});

describe("tail_sampling, whatever comes in whatever pieces", () => {
  const policies = [
    {
      name: "no health",
      type: "drop",
      drop: {
        drop_sub_policy: [{ name: "h", type: "boolean_attribute", boolean_attribute: { key: "health", value: true } }],
      },
    },
    ERRORS,
    { name: "slow", type: "latency", latency: { threshold_ms: 5 } },
    { name: "long", type: "span_count", span_count: { min_spans: 4 } },
  ];
  interface Made {
    readonly trace: number;
    readonly error: boolean;
    readonly health: boolean;
    readonly ms: number;
  }

  function isWanted(spans: readonly Made[]): boolean {
    if (spans.some(({ health }) => health)) return false;
    return spans.some(({ error }) => error) || spans.some(({ ms }) => ms > 5) || spans.length >= 4;
  }

  const made = fc.record({
    trace: fc.nat(7),
    error: fc.boolean(),
    health: fc.nat(9).map((n) => n === 0),
    ms: fc.nat(7),
  });

  it("settles every delivery once, and keeps exactly the traces that the policies want", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(made, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
        fc.array(fc.nat(3), { minLength: 12, maxLength: 12 }),
        fc.boolean(),
        (deliveries, again, refuses) => {
          const { source, out, clock } = processing(tailSampling, { policies }, "traces");
          const outcomes: Outcome[][] = [];
          const all = new Map<number, Made[]>();
          let next = 1;
          for (const [i, spans] of deliveries.entries()) {
            const batch = spanBatch(
              spans.map((one) => {
                all.set(one.trace, [...(all.get(one.trace) ?? []), one]);
                return span(one.trace, next++, {
                  error: one.error && one.ms > 3,
                  start: 1_000_000n,
                  end: 1_000_000n + BigInt(one.ms) * 1_000_000n,
                  attributes: { health: one.health },
                });
              }),
              { "service.name": "shop" },
            );
            for (let copy = again[i] === 0 ? 2 : 1; copy > 0; copy--) {
              const { delivery, outcomes: mine } = owed(batch);
              outcomes.push(mine);
              source.next(delivery);
            }
            clock.advance(again[i]! * 100);
          }
          expect(outcomes.flat()).toEqual([]);
          if (refuses) clock.advance(WAIT);
          source.complete();
          for (const delivery of out) refuses ? delivery.refuse(new Error("no")) : delivery.accept();
          const kept = spansIn(out).map((id) => Number(id.split("/")[0]));
          const wanted = [...all].filter(([, spans]) =>
            isWanted(spans.map((one) => ({ ...one, error: one.error && one.ms > 3 }))),
          );
          expect(kept.sort()).toEqual(wanted.flatMap(([trace, spans]) => spans.map(() => trace)).sort());
          expect(outcomes.every((one) => one.length === 1)).toBe(true);
          expect(clock.pending).toBe(0);
        },
      ),
      runs(50),
    );
  });
});
