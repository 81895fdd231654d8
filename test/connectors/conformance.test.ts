import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flushPromises } from "../../src/agent/testing/fakes.js";
import { sampleBatch, sampleIds } from "../../src/agent/testing/samples.js";
import { type Batch, Delivery, type Outcome, Refusal, type Signal } from "../../src/plugin.js";
import type { BuiltInConnectorFactory } from "../../src/runtime/contract/built-in/component.js";
import { ACCEPTED, Debt } from "../../src/runtime/contract/debt.js";
import type { JournalExchange } from "../../src/runtime/contract/operators/outlet.js";
import { decodeTree } from "../../src/runtime/otlp/json/tree.js";
import { Random } from "../../src/testing.js";
import { builtins } from "../support/builtins.js";
import { feed, owed } from "../support/deliveries.js";
import { FakeClock } from "../support/fake-clock.js";
import { runs } from "../support/runs.js";
import { recordsOf } from "../support/telemetry/trees.js";
import { span, spansOfService } from "./spans/support.js";
import { connectorContext } from "./support.js";

/**
 * The duties of every connector, whatever downstream answers. The test feeds it, as from a journal if it asks for one,
 * and moves its clock.
 */
interface Trial {
  readonly type: string;
  readonly config: object;
  /** A batch of this many records, or of pairs of them, numbered from `number` on. */
  readonly batch?: (signal: Signal, random: Random, first: number, count: number) => Batch;
  /** Returns how many of the fed records are in the accepted output. */
  readonly accounted: (taken: readonly Batch[]) => number;
  /** The signals of its output that are tried; all by default. */
  readonly to?: readonly Signal[];
}

const TARGETS = ["a", "b", "c"];
const ids = (taken: readonly Batch[]) => new Set(taken.flatMap(sampleIds)).size;
const valuesOf = (name: string) => (taken: readonly Batch[]) =>
  taken
    .flatMap((batch) => recordsOf("metrics", decodeTree(batch)))
    .flatMap(({ metric, record }) => (metric?.["name"] === name ? [Number(record["asInt"])] : []));
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** One service and one name give a single series, whose last value counts everything. */
const spans = (_: Signal, __: Random, first: number, count: number) =>
  spansOfService(
    "shop",
    Array.from({ length: count }, (_, at) => span("buy", 5, { spanId: spanId(first + at) })),
  );
const spanId = (number: number) => Buffer.from(number.toString(16).padStart(16, "0"), "hex");
const requests = (_: Signal, __: Random, first: number, count: number) => {
  const [SERVER, CLIENT] = [2, 3];
  const pairs = Array.from({ length: count }, (_, at) => first + at).map((number) => [
    span("call", 5, { kind: CLIENT, spanId: spanId(2 * number + 1) }),
    span("serve", 4, { kind: SERVER, spanId: spanId(2 * number + 2), parentSpanId: spanId(2 * number + 1) }),
  ]);
  return spansOfService("shop", pairs.flat());
};

const exceptionSpans = (_: Signal, __: Random, first: number, count: number) => {
  const events = [{ name: "exception", attributes: [{ key: "exception.type", value: { stringValue: "Error" } }] }];
  return spansOfService(
    "shop",
    Array.from({ length: count }, (_, at) => span("buy", 5, { spanId: spanId(first + at), events })),
  );
};

/** One point for each record. */
const BY_ID = { source_attribute: "n", attributes: [{ key: "sample.id" }] };
const counted = (signal: Signal) => valuesOf({ logs: "records", traces: "spans", metrics: "points" }[signal]);
const TRIALS: readonly Trial[] = [
  { type: "forward", config: {}, accounted: ids },
  {
    type: "routing",
    config: {
      table: [{ context: "resource", condition: 'attributes["service.name"] == "shop"', pipelines: ["a"] }],
      default_pipelines: ["b", "c"],
    },
    accounted: ids,
  },
  // Another test covers its pipelines of metrics.
  { type: "datadog", config: { traces: {} }, accounted: ids, to: ["traces"] },
  { type: "failover", config: { priority_levels: [["a"], ["b", "c"]] }, accounted: ids },
  {
    type: "count",
    config: { logs: { records: {} }, spans: { spans: {} }, datapoints: { points: {} } },
    accounted: (taken) => sum((["logs", "traces", "metrics"] as const).flatMap((signal) => counted(signal)(taken))),
  },
  {
    type: "sum",
    config: { logs: { total: BY_ID }, spans: { total: BY_ID }, datapoints: { total: BY_ID } },
    accounted: ids,
  },
  {
    type: "span_metrics",
    config: {},
    batch: spans,
    accounted: (taken) => Math.max(0, ...valuesOf("traces.span.metrics.calls")(taken)),
  },
  {
    type: "span_metrics",
    config: { aggregation_temporality: "AGGREGATION_TEMPORALITY_DELTA", metrics_flush_interval: "1s" },
    batch: spans,
    accounted: (taken) => sum(valuesOf("traces.span.metrics.calls")(taken)),
  },
  {
    type: "exceptions",
    config: {},
    batch: exceptionSpans,
    accounted: (taken) =>
      Math.max(0, ...valuesOf("exceptions")(taken.filter(({ signal }) => signal === "metrics"))) +
      sum(taken.map((batch) => (batch.signal === "logs" ? batch.count : 0))),
  },
  {
    type: "service_graph",
    config: {},
    batch: requests,
    accounted: (taken) => Math.max(0, ...valuesOf("traces_service_graph_request_total")(taken)),
  },
];

const factoryOf = (type: string) =>
  builtins.find((each) => each.kind === "connector" && each.type === type) as BuiltInConnectorFactory;

it("tries every connector that comes with Sluice", () => {
  const types = builtins.flatMap((each) => (each.kind === "connector" ? [each.type] : []));
  expect([...new Set(TRIALS.map(({ type }) => type))].sort()).toEqual(types.sort());
});

interface Fed {
  readonly records: number;
  /** For deliveries from a journal: how the metrics that replaced them were settled. */
  readonly outcomes: readonly { readonly ok: boolean }[];
  readonly batch: Batch;
  readonly before: Buffer;
}

function start(trial: Trial, { from, to }: { readonly from: Signal; readonly to: Signal }, random: Random) {
  const factory = factoryOf(trial.type);
  const config = factory.schema.parse(trial.config);
  const clock = new FakeClock();
  const fromJournal = new Map<number, Outcome[]>();
  const journal = factory.wantsJournal?.(config) === true ? journalOf(fromJournal) : undefined;
  const context = connectorContext(from, { to, clock, targets: TARGETS, random: () => random.next(), journal });
  const { source, out, ...stream } = feed(factory.create(config, context));
  const fed: Fed[] = [];
  const taken: Batch[] = [];
  let numbers = 0;

  const give = () => {
    const records = 1 + random.below(4);
    const some = Array.from({ length: records }, (_, at) => `r${numbers + at}`);
    const batch = trial.batch?.(from, random, numbers, records) ?? sampleBatch(from, random, { ids: some });
    numbers += records;
    const isFromJournal = journal !== undefined;
    const { delivery, outcomes: own } = owed(batch, isFromJournal ? { position: fed.length } : {});
    const outcomes = isFromJournal ? [] : own;
    if (isFromJournal) fromJournal.set(fed.length, outcomes);
    fed.push({ records, outcomes, batch, before: Buffer.from(batch.bytes) });
    source.next(isFromJournal ? delivery.observe((outcome) => outcome.ok || outcomes.push(outcome)) : delivery);
  };
  const take = (delivery: Delivery) => {
    taken.push(delivery.batch);
    delivery.accept();
  };
  /** Settles the output, and everything that follows from it, until nothing more comes. */
  const settle = async (how: (delivery: Delivery) => void) => {
    for (let idle = 0; idle < 2; idle++) {
      await flushPromises();
      for (const delivery of out.splice(0)) {
        how(delivery);
        idle = -1;
      }
    }
  };
  const end = async () => {
    source.complete();
    for (let hours = 0; hours < 5; hours++) {
      await settle(take);
      if (stream.isComplete()) return;
      clock.advance(60_000);
    }
    throw new Error("its input ended and its output did not");
  };
  const acceptedRecords = () => sum(fed.map(({ records, outcomes }) => (outcomes[0]?.ok ? records : 0)));
  return { ...stream, clock, fed, taken, out, give, take, settle, end, acceptedRecords };
}

/** Keeps the batches made in place of deliveries: the deliveries are settled as these are. */
function journalOf(outcomes: ReadonlyMap<number, Outcome[]>): JournalExchange {
  return {
    onOpened: () => {},
    async exchange({ positions, made }) {
      const end = (outcome: Outcome) => {
        for (const position of positions) outcomes.get(position)!.push(outcome);
      };
      if (made.length === 0) end(ACCEPTED);
      const debts = made.length === 0 ? [] : new Debt(end).divide(made.length);
      return made.map((batch, i) => new Delivery(batch, { receiver: "journal", transport: "test" }, debts[i]!));
    },
  };
}

const refuse = (kind: "transient" | "permanent") => (delivery: Delivery) =>
  delivery.refuse(new Refusal(kind, "refused behind it", kind === "permanent" ? { category: "schema" } : {}));
const seeds = fc.integer({ min: 0, max: 2 ** 31 });

for (const trial of TRIALS) {
  describe(`the connector ${trial.type} with ${JSON.stringify(trial.config)}`, () => {
    it("refuses keys it does not know", () => {
      const { schema } = factoryOf(trial.type);
      expect(schema.safeParse(trial.config).success).toBe(true);
      expect(schema.safeParse({ ...trial.config, no_such_key: 1 }).success).toBe(false);
    });

    for (const route of factoryOf(trial.type).routes) {
      if (trial.to !== undefined && !trial.to.includes(route.to)) continue;
      const begin = (seed: number) => start(trial, route, new Random(seed));
      const name = `${route.from} to ${route.to}`;

      it(`passes on everything that it owes when its input ends, and acknowledges nothing before (${name})`, () =>
        fc.assert(
          fc.asyncProperty(seeds, async (seed) => {
            const run = begin(seed);
            for (let i = 0; i < 10; i++) run.give();
            await flushPromises();
            expect(run.fed.flatMap(({ outcomes }) => outcomes)).toEqual([]);
            await run.end();
            expect(run.fed.map(({ outcomes }) => outcomes)).toEqual(run.fed.map(() => [ACCEPTED]));
            expect(trial.accounted(run.taken)).toBe(sum(run.fed.map(({ records }) => records)));
            expect(run.fed.every(({ batch, before }) => before.equals(batch.bytes))).toBe(true);
            expect(run.errors).toEqual([]);
          }),
          runs(3),
        ));

      it(`passes permanent refusals from downstream back, and continues (${name})`, async () => {
        const run = begin(1);
        run.give();
        run.give();
        await run.settle(refuse("permanent"));
        // Counts of new cumulative series follow their zeros at the second flush.
        for (let flushes = 0; flushes < 2; flushes++) {
          run.clock.advance(60_000);
          await run.settle(refuse("permanent"));
        }
        expect(run.fed.map(({ outcomes }) => outcomes.map(({ ok }) => ok))).toEqual([[false], [false]]);
        run.give();
        await run.end();
        expect(run.fed[2]!.outcomes).toEqual([ACCEPTED]);
      });

      it(`settles each delivery once, and loses nothing acknowledged, whatever downstream answers (${name})`, () =>
        fc.assert(
          fc.asyncProperty(seeds, async (seed) => {
            const random = new Random(seed);
            const run = begin(seed);
            const answer = (delivery: Delivery) =>
              random.pick([run.take, run.take, refuse("transient"), refuse("permanent")])(delivery);
            for (let i = 0; i < 20; i++) {
              run.give();
              if (random.chance(0.4)) run.clock.advance(random.below(70_000));
              if (random.chance(0.5)) await run.settle(answer);
            }
            await run.end();
            expect(run.fed.filter(({ outcomes }) => outcomes.length !== 1)).toEqual([]);
            expect(trial.accounted(run.taken)).toBeGreaterThanOrEqual(run.acceptedRecords());
            expect(run.errors).toEqual([]);
          }),
          runs(4),
        ));

      it(`releases everything when it is stopped while it is busy (${name})`, () =>
        fc.assert(
          fc.asyncProperty(seeds, async (seed) => {
            const random = new Random(seed);
            const run = begin(seed);
            for (let i = 0; i < 5; i++) run.give();
            run.clock.advance(random.below(70_000));
            await run.settle(random.chance(0.5) ? refuse("transient") : () => {});
            const accepted = run.acceptedRecords();
            run.unsubscribe();
            expect(run.clock.pending).toBe(0);
            await run.clock.pass(3_600_000);
            expect(run.out).toEqual([]);
            expect(run.acceptedRecords()).toBe(accepted);
            expect(accepted).toBe(0);
          }),
          runs(3),
        ));
    }
  });
}
