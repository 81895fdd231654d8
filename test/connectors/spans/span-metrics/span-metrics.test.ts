import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { spanMetrics } from "../../../../src/connectors/spans/span-metrics/component.js";
import { Batch, Refusal } from "../../../../src/plugin.js";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { decodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { runs } from "../../../support/runs.js";
import { referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { attributes, int, text } from "../../../support/telemetry/ottl.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { listOf, recordsOf } from "../../../support/telemetry/trees.js";
import { problemsOf } from "../../support.js";
import { pointsOf, running, span, spansOfService, T0 } from "../support.js";

const CALLS = "traces.span.metrics.calls";
const usual = (name: string, status = "UNSET") =>
  `service.name=shop,span.kind=SPAN_KIND_SERVER,span.name=${name},status.code=STATUS_CODE_${status}`;

async function made(config: object, ...batches: Batch[]): Promise<string[]> {
  const { give, flush } = running(spanMetrics, config);
  for (const batch of batches) give(batch);
  return pointsOf(await counts(flush));
}

/** The batch of the second flush that has all counts: new series begin with 0, and have their first count apart. */
async function counts(flush: () => Promise<Batch[]>): Promise<Batch[]> {
  await flush();
  return (await flush()).slice(-1);
}

/** All metrics except histograms. */
const calls = (points: readonly string[]) => points.filter((point) => !point.includes(".duration{"));

describe("span_metrics", () => {
  it("counts spans and their durations by service, name, kind and status", async () => {
    const points = await made(
      {},
      spansOfService("shop", [span("a", 5), span("a", 7), span("b", 1, { status: { code: 2 } })]),
    );
    expect(points).toEqual([
      `${CALLS}{${usual("a")}} 2`,
      `${CALLS}{${usual("b", "ERROR")}} 1`,
      `traces.span.metrics.duration{${usual("a")}} 2 of 12`,
      `traces.span.metrics.duration{${usual("b", "ERROR")}} 1 of 1`,
    ]);
  });

  it("has the Collector's names, scope, unit, buckets and times, under the resource of the spans", async () => {
    const { give, flush, clock } = running(spanMetrics, {});
    const start = BigInt(clock.now()) * 1_000_000n;
    give(spansOfService("shop", [span("a", 2), span("a", 2.5), span("a", 20_000)], { "host.name": text("h") }));
    const [, batch] = await flush();
    const tree = decodeTree(batch!);
    const { metric, record } = recordsOf("metrics", tree).find((one) => one.metric!["histogram"])!;
    expect((listOf(tree, "resourceMetrics")[0] as { resource: Tree }).resource["attributes"]).toEqual(
      attributes({ "host.name": text("h"), "service.name": text("shop") }),
    );
    const [scoped] = listOf(listOf(tree, "resourceMetrics")[0]!, "scopeMetrics");
    expect(scoped!["scope"]).toEqual({ name: "spanmetricsconnector" });
    expect(metric).toMatchObject({ unit: "ms", histogram: { aggregationTemporality: 2 } });
    const bounds = [2, 4, 6, 8, 10, 50, 100, 200, 400, 800, 1000, 1400, 2000, 5000, 10_000, 15_000];
    const counts = [1n, 1n, ...Array.from({ length: 14 }, () => 0n), 1n];
    expect(record).toMatchObject({ explicitBounds: bounds, bucketCounts: counts, count: 3n });
    expect(record).toMatchObject({ startTimeUnixNano: start, timeUnixNano: start + 60_000_000_000n });
  });

  it("takes dimensions from the span, else from its resource, else the default", async () => {
    const config = {
      dimensions: [{ name: "http.method" }, { name: "region" }, { name: "tier", default: "none" }, { name: "absent" }],
      exclude_dimensions: ["service.name", "span.kind", "status.code", "collector.instance.id"],
      histogram: { disable: true },
    };
    const one = span("a", 1, { attributes: attributes({ "http.method": text("GET"), region: text("own") }) });
    const two = span("a", 1, { attributes: attributes({ "http.method": int(3n) }) });
    expect(await made(config, spansOfService("shop", [one, two], { region: text("eu") }))).toEqual([
      `${CALLS}{http.method=3,region=eu,span.name=a,tier=none} 1`,
      `${CALLS}{http.method=GET,region=own,span.name=a,tier=none} 1`,
    ]);
  });

  it("divides calls, durations and events by dimensions of their own", async () => {
    const points = await made(
      {
        namespace: "",
        calls_dimensions: [{ name: "c" }],
        histogram: { dimensions: [{ name: "d" }], unit: "s" },
        events: { enabled: true, dimensions: [{ name: "exception.type" }] },
        exclude_dimensions: ["service.name", "span.kind", "status.code", "collector.instance.id"],
      },
      spansOfService("shop", [
        span("a", 500, {
          attributes: attributes({ c: text("1"), d: text("x") }),
          events: [{ name: "exception", attributes: attributes({ "exception.type": text("E") }) }, { name: "other" }],
        }),
        span("a", 1500, { attributes: attributes({ c: text("2"), d: text("x") }) }),
      ]),
    );
    expect(points).toEqual([
      "calls{c=1,span.name=a} 1",
      "calls{c=2,span.name=a} 1",
      "duration{d=x,span.name=a} 2 of 2",
      "events{exception.type=E,span.name=a} 1",
      "events{span.name=a} 1",
    ]);
  });

  it("counts spans without a service, and adds no service.name", async () => {
    expect(calls(await made({}, spansOfService(undefined, [span("a", 1)])))).toEqual([
      `${CALLS}{span.kind=SPAN_KIND_SERVER,span.name=a,status.code=STATUS_CODE_UNSET} 1`,
    ]);
  });

  it("counts cumulatively, or with deltas since the last flush, and forgets idle series", async () => {
    const cumulative = running(spanMetrics, { histogram: { disable: true } });
    const delta = running(spanMetrics, { aggregation_temporality: "AGGREGATION_TEMPORALITY_DELTA" });
    const batch = spansOfService("shop", [span("a", 1), span("a", 2)]);
    for (const each of [cumulative, delta]) each.give(batch);
    expect(pointsOf(await counts(cumulative.flush))).toEqual([`${CALLS}{${usual("a")}} 2`]);
    expect(pointsOf(await cumulative.flush())).toEqual([`${CALLS}{${usual("a")}} 2`]);
    cumulative.give(batch);
    expect(pointsOf(await cumulative.flush())).toEqual([`${CALLS}{${usual("a")}} 4`]);
    const duration = `traces.span.metrics.duration{${usual("a")}}`;
    const [first] = await delta.flush();
    expect(pointsOf([first!])).toEqual([`${CALLS}{${usual("a")}} 2`, `${duration} 2 of 3`]);
    delta.give(batch);
    const [second] = await delta.flush();
    expect(pointsOf([second!])).toEqual([`${CALLS}{${usual("a")}} 2`, `${duration} 2 of 3`]);
    const time = (one: Batch, key: string) => recordsOf("metrics", decodeTree(one))[0]!.record[key];
    expect(time(second!, "startTimeUnixNano")).toEqual(time(first!, "timeUnixNano"));
    expect(await delta.flush()).toEqual([]);
  });

  it("begins a new cumulative count with 0, and lets the count follow at the next flush", async () => {
    const { give, flush, clock } = running(spanMetrics, {});
    const start = BigInt(clock.now()) * 1_000_000n;
    const callsOf = (batches: readonly Batch[]) =>
      batches
        .flatMap((batch) => recordsOf("metrics", decodeTree(batch)))
        .filter(({ metric }) => metric!["name"] === CALLS)
        .map(({ record }) => [record["asInt"], (record["timeUnixNano"] as bigint) - start]);
    const minute = 60_000_000_000n;
    give(spansOfService("shop", [span("a", 1), span("a", 2)]));
    expect(callsOf(await flush())).toEqual([[0n, 0n]]);
    give(spansOfService("shop", [span("a", 1), span("b", 2)]));
    expect(callsOf(await flush())).toEqual([
      [2n, minute],
      [0n, minute],
      [3n, 2n * minute],
    ]);
    expect(callsOf(await flush())).toEqual([
      [1n, 2n * minute],
      [3n, 3n * minute],
      [1n, 3n * minute],
    ]);
  });

  it("makes exponential histograms whose buckets hold every duration", async () => {
    const { give, flush } = running(spanMetrics, { histogram: { exponential: { max_size: 8 } } });
    const durations = [0, 0.001, 1, 1, 3, 500, 40_000];
    give(
      spansOfService(
        "shop",
        durations.map((ms) => span("a", ms)),
      ),
    );
    const [record] = recordsOf("metrics", decodeTree((await counts(flush))[0]!))
      .filter(({ metric }) => metric!["exponentialHistogram"])
      .map((one) => one.record) as [Tree];
    expect(record).toMatchObject({ count: 7n, zeroCount: 1n, min: 0, max: 40_000, sum: 40_505.001 });
    expect(bucketsHold(record, durations)).toBe(true);
  });

  it("puts every value into the right bucket of an exponential histogram", async () => {
    const ms = fc.oneof(fc.integer({ min: 0, max: 4e9 }), fc.integer({ min: 0, max: 2000 })).map((us) => us / 1000);
    await fc.assert(
      fc.asyncProperty(
        fc.array(ms, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 2, max: 20 }),
        async (all, max_size) => {
          const { give, flush } = running(spanMetrics, { histogram: { exponential: { max_size } } });
          for (const one of all) give(spansOfService("shop", [span("a", one)]));
          const found = recordsOf("metrics", decodeTree((await counts(flush))[0]!));
          const { record } = found.find(({ metric }) => metric!["exponentialHistogram"])!;
          const positive = record["positive"] as { bucketCounts?: bigint[] } | undefined;
          expect((positive?.bucketCounts ?? []).length).toBeLessThanOrEqual(max_size);
          expect(bucketsHold(record, all)).toBe(true);
        },
      ),
      runs(40),
    );
  });

  it("attaches up to the configured number of exemplars, until they were sent", async () => {
    const { give, flush } = running(spanMetrics, { exemplars: { enabled: true, max_per_data_point: 2 } });
    give(spansOfService("shop", [span("a", 5), span("a", 6), span("a", 7)]));
    const exemplars = (batches: readonly Batch[]) =>
      batches.flatMap((batch) => recordsOf("metrics", decodeTree(batch)).map(({ record }) => record["exemplars"]));
    const first = await flush();
    const one = {
      timeUnixNano: T0 + 5_000_000n,
      asDouble: 5,
      traceId: Buffer.alloc(16, 1),
      spanId: Buffer.alloc(8, 2),
    };
    expect(exemplars(first)).toHaveLength(2);
    for (const found of exemplars(first) as Tree[][]) {
      expect(found).toHaveLength(2);
      expect({
        ...found[0],
        traceId: Buffer.from(found[0]!["traceId"] as Uint8Array),
        spanId: Buffer.from(found[0]!["spanId"] as Uint8Array),
      }).toEqual(one);
    }
    expect(exemplars(await flush())).toEqual([undefined, undefined, undefined]);
  });

  it("counts spans without room in an overflow series of their resource", async () => {
    const spans = ["a", "b", "c", "d"].map((name) => span(name, 1));
    const limited = { aggregation_cardinality_limit: 2, histogram: { disable: true } };
    expect(await made(limited, spansOfService("shop", spans), spansOfService("shop", spans))).toEqual([
      `${CALLS}{otel.metric.overflow=true} 4`,
      `${CALLS}{${usual("a")}} 2`,
      `${CALLS}{${usual("b")}} 2`,
    ]);
    const bounded = calls(await made({ max_series: 3 }, spansOfService("shop", spans), spansOfService("web", spans)));
    expect(bounded.filter((point) => point.includes("overflow"))).toEqual([
      `${CALLS}{otel.metric.overflow=true} 1`,
      `${CALLS}{otel.metric.overflow=true} 4`,
    ]);
  });

  it("forgets series and resources without spans for long, but only after they were sent", async () => {
    const config = { series_expiration: "90s", histogram: { disable: true } };
    const { give, flush } = running(spanMetrics, config);
    give(spansOfService("shop", [span("a", 1), span("b", 1)]));
    expect(pointsOf(await flush())).toEqual([`${CALLS}{${usual("a")}} 0`, `${CALLS}{${usual("b")}} 0`]);
    give(spansOfService("shop", [span("b", 1)]));
    expect(pointsOf((await flush()).slice(-1))).toEqual([`${CALLS}{${usual("a")}} 1`, `${CALLS}{${usual("b")}} 2`]);
    expect(pointsOf(await flush())).toEqual([`${CALLS}{${usual("b")}} 2`]);
    const resources = running(spanMetrics, { metrics_expiration: "30s", histogram: { disable: true } });
    resources.give(spansOfService("shop", [span("a", 1)]));
    expect(pointsOf(await resources.flush())).toEqual([`${CALLS}{${usual("a")}} 0`]);
    expect(pointsOf(await resources.flush())).toEqual([`${CALLS}{${usual("a")}} 1`]);
    expect(await resources.flush()).toEqual([]);
    resources.give(spansOfService("shop", [span("a", 1)]));
    expect(pointsOf(await resources.flush())).toEqual([`${CALLS}{${usual("a")}} 0`]);
  });

  it("identifies resources by the configured attributes, in whatever order they come", async () => {
    const config = { resource_metrics_key_attributes: ["service.name"], histogram: { disable: true } };
    const batches = ["1", "2"].map((pid) => spansOfService("shop", [span("a", 1)], { pid: text(pid) }));
    expect(await made(config, ...batches)).toEqual([`${CALLS}{${usual("a")}} 2`]);
    expect(await made({ histogram: { disable: true } }, ...batches)).toHaveLength(2);
  });

  it("makes dimensions of the configured scopes", async () => {
    const points = calls(
      await made({ include_instrumentation_scope: ["lib"] }, spansOfService("shop", [span("a", 1)])),
    );
    expect(points[0]).toContain("span.instrumentation.scope.name=lib");
  });

  it("counts every span of any requests once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request("traces"), { maxLength: 4 }), fc.boolean(), async (trees, isDelta) => {
        const temporality = `AGGREGATION_TEMPORALITY_${isDelta ? "DELTA" : "CUMULATIVE"}`;
        const { give, flush, errors } = running(spanMetrics, {
          aggregation_temporality: temporality,
          aggregation_cardinality_limit: 3,
        });
        const batches = trees.map((tree) => Batch.admit("traces", referenceEncode("traces", tree)));
        for (const batch of batches) give(batch);
        const flushed = isDelta ? await flush() : await counts(flush);
        const records = flushed.flatMap((batch) => recordsOf("metrics", decodeTree(batch)));
        const sum = (values: readonly (bigint | undefined)[]) => values.reduce((a: bigint, b) => a + (b ?? 0n), 0n);
        const spans = BigInt(batches.reduce((all, { count }) => all + count, 0));
        expect(sum(records.map(({ record }) => record["asInt"] as bigint))).toBe(spans);
        expect(sum(records.map(({ record }) => record["count"] as bigint))).toBe(spans);
        expect(errors).toEqual([]);
      }),
      runs(40),
    );
  });
});

const DELTAS = { aggregation_temporality: "AGGREGATION_TEMPORALITY_DELTA" };

describe("what span_metrics owes", () => {
  const batch = spansOfService("shop", [span("a", 1)]);

  it("settles batches without a journal at once, and those of a journal when their metrics replace them there", async () => {
    const { give, flush, journal } = running(spanMetrics, {});
    expect(give(batch)).toEqual([ACCEPTED]);
    const outcomes = give(batch, 7);
    expect(outcomes).toEqual([]);
    await flush(60_000, () => {});
    expect(journal.exchanges).toEqual([{ positions: [7], made: 2 }]);
    expect(outcomes).toEqual([ACCEPTED]);
    expect(journal.outcomes).toEqual([]);
  });

  it("owes the metrics until everyone downstream has accepted them, and gives them a key", async () => {
    const { give, clock, out, journal } = running(spanMetrics, DELTAS);
    give(batch, 1);
    clock.advance(60_000);
    await expect.poll(() => out).toHaveLength(1);
    expect(out[0]!.origin).toMatchObject({ key: "1.0", isOnce: true });
    expect(out[0]!.origin.position).toBeUndefined();
    expect(journal.outcomes).toEqual([]);
    out[0]!.accept();
    await expect.poll(() => journal.outcomes).toEqual([ACCEPTED]);
  });

  it("passes on metrics that an earlier run has left in the journal, without counting them", async () => {
    const { give, flush } = running(spanMetrics, {});
    const [metrics] = await running(spanMetrics, {}).counted(batch);
    const outcomes = give(metrics!, 1);
    expect(await flush(0)).toEqual([metrics]);
    expect(outcomes).toEqual([ACCEPTED]);
    expect(await flush()).toEqual([]);
  });

  it("refuses metrics that were not accepted when it is stopped, and first counts that still wait", async () => {
    const { give, flush, unsubscribe, journal } = running(spanMetrics, {});
    give(batch, 1);
    await flush(60_000, () => {});
    unsubscribe();
    const refused = { ok: false, refusal: { kind: "transient" } };
    expect(journal.outcomes).toMatchObject([refused, refused]);
  });

  it("sends refused metrics again, counts nothing twice, and settles then", async () => {
    const { give, flush, journal } = running(spanMetrics, {
      ...DELTAS,
      histogram: { disable: true },
    });
    give(batch, 1);
    const { outcomes } = journal;
    const busy = new Refusal("transient", "busy");
    const refused = await flush(60_000, (delivery) => delivery.refuse(busy));
    expect(pointsOf(refused)).toEqual([`${CALLS}{${usual("a")}} 1`]);
    give(batch, 2);
    expect(outcomes).toEqual([]);
    expect(pointsOf(await flush(500))).toEqual([`${CALLS}{${usual("a")}} 1`]);
    expect(outcomes).toEqual([ACCEPTED]);
    expect(pointsOf(await flush())).toEqual([`${CALLS}{${usual("a")}} 1`]);
  });

  it("refuses the metrics, and not the spans, after a permanent refusal", async () => {
    const { give, flush, journal } = running(spanMetrics, {});
    const outcomes = give(batch, 1);
    await flush(60_000, (delivery) => delivery.refuse(new Refusal("permanent", "no")));
    expect(outcomes).toEqual([ACCEPTED]);
    expect(journal.outcomes).toMatchObject([{ ok: false, refusal: { kind: "permanent" } }]);
  });

  it("sends what it has counted when its input ends", async () => {
    const { give, flush, complete, isComplete } = running(spanMetrics, { histogram: { disable: true } });
    const outcomes = give(batch, 1);
    complete();
    expect(pointsOf(await flush(0))).toEqual([`${CALLS}{${usual("a")}} 0`, `${CALLS}{${usual("a")}} 1`]);
    expect(outcomes).toEqual([ACCEPTED]);
    expect(isComplete()).toBe(true);
  });
});

describe("a span_metrics config", () => {
  it.each([
    ["dimensions: [{name: span.name}]", "dimensions.0.name: there is a dimension of that name already"],
    ["histogram: {explicit: {}, exponential: {}}", "histogram: expected explicit or exponential, not both"],
    ["events: {enabled: true}", "events: expected a dimension of events"],
    ["metrics_flush_interval: 0s", "metrics_flush_interval: expected more than 0"],
    ["dimensions: [{glob: 'a.*'}]", 'dimensions.0.name: "name" is required: expected text'],
  ])("reports the problem of %s", (key, expected) => {
    const problems = problemsOf(`
receivers: {otlp: {protocols: {http: }}}
exporters: {debug: }
connectors: {spanmetrics: {${key}}}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [spanmetrics]}
    metrics: {receivers: [spanmetrics], exporters: [debug]}
`);
    expect(problems.some((problem) => problem.includes(`connectors.spanmetrics.${expected}`))).toBe(true);
  });
});

/** The count of each bucket is the number of values in it. */
function bucketsHold(record: Tree, values: readonly number[]): boolean {
  const { offset = 0, bucketCounts = [] } = (record["positive"] ?? {}) as {
    offset?: number;
    bucketCounts?: bigint[];
  };
  const base = 2 ** (2 ** -((record["scale"] as number | undefined) ?? 0));
  const inBucket = (i: number) =>
    values.filter((v) => v > 0 && v > base ** i * (1 - 1e-9) && v <= base ** (i + 1) * (1 + 1e-9)).length;
  const total = bucketCounts.reduce((sum, count) => sum + Number(count), 0);
  return (
    total === values.filter((v) => v > 0).length &&
    bucketCounts.every((count, i) => Number(count) <= inBucket(offset + i))
  );
}
