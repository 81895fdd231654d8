import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { count } from "../../../src/connectors/count/component.js";
import { Batch, deadLetter, type Signal } from "../../../src/plugin.js";
import { ACCEPTED } from "../../../src/runtime/contract/debt.js";
import { decodeTree, type Tree } from "../../../src/runtime/otlp/json/tree.js";
import { feed, owed } from "../../support/deliveries.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type OtlpSink, startSink } from "../../support/otlp-sink.js";
import { runs } from "../../support/runs.js";
import { logs } from "../../support/telemetry/batches.js";
import { referenceEncode } from "../../support/telemetry/otlp-reference.js";
import { attributes, int, logsOf, METRICS, metricsOf, SPAN, spansOf, text } from "../../support/telemetry/ottl.js";
import { request } from "../../support/telemetry/telemetry-arbitraries.js";
import { listOf, recordsOf } from "../../support/telemetry/trees.js";
import { cleanUp, startFed } from "../agent.js";
import { connectorContext, problemsOf, through } from "../support.js";

const sinks: OtlpSink[] = [];
afterEach(async () => {
  await cleanUp();
  for (const sink of sinks.splice(0)) await sink.close();
});

const LOGS = logsOf(
  { body: text("a"), severityNumber: 5, timeUnixNano: 300n, attributes: attributes({ env: text("dev") }) },
  { body: text("b"), severityNumber: 17, timeUnixNano: 200n, attributes: attributes({ env: text("prod") }) },
  { body: text("c"), severityNumber: 17, attributes: attributes({ env: text("prod"), n: int(1n) }) },
  { body: text("d"), timeUnixNano: 400n },
);

/** `name{key=value} count`, for every point. */
function counted(config: object, batch: Batch): string[] {
  const { out } = through(count, config, batch, { to: "metrics" });
  return out.flatMap((delivery) => points(delivery.batch));
}

function points(batch: Batch): string[] {
  return recordsOf("metrics", decodeTree(batch)).map(({ record, metric }) => {
    const labels = listOf(record, "attributes").map(({ key, value }) => `${key}=${Object.values(value as Tree)[0]}`);
    return `${metric!["name"]}{${labels.join(",")}} ${record["asInt"]}`;
  });
}

describe("count", () => {
  it.each<[string, Batch, string[]]>([
    ["logs", LOGS, ["log.record.count{} 4"]],
    ["traces", spansOf(SPAN, { ...SPAN, events: [] }), ["trace.span.count{} 2", "trace.span.event.count{} 2"]],
    ["metrics", metricsOf(...Object.values(METRICS)), ["metric.count{} 5", "metric.datapoint.count{} 5"]],
  ])("counts all %s by default", (_, batch, expected) => expect(counted({}, batch)).toEqual(expected));

  it.each<[string, object, string[]]>([
    [
      "conditions, any of which suffices",
      { conditions: ["severity_number >= SEVERITY_NUMBER_ERROR", 'body == "d"'] },
      ["m{} 3"],
    ],
    ["conditions that hold for nothing", { conditions: ["false"] }, []],
    [
      "an attribute, leaving out what does not have it",
      { attributes: [{ key: "env" }] },
      ["m{env=dev} 1", "m{env=prod} 2"],
    ],
    [
      "an attribute with a default",
      { attributes: [{ key: "env", default_value: "none" }] },
      ["m{env=dev} 1", "m{env=prod} 2", "m{env=none} 1"],
    ],
    [
      "several attributes",
      { attributes: [{ key: "env" }, { key: "n", default_value: 0 }] },
      ["m{env=dev,n=0} 1", "m{env=prod,n=0} 1", "m{env=prod,n=1} 1"],
    ],
    [
      "an attribute of the scope or the resource",
      { attributes: [{ key: "scope.key" }, { key: "replicas" }] },
      ["m{scope.key=scope value,replicas=3} 4"],
    ],
    ["both", { conditions: ["severity_number > 9"], attributes: [{ key: "env" }] }, ["m{env=prod} 2"]],
    ["nothing at all", {}, ["m{} 4"]],
  ])("counts by %s", (_, metric, expected) => expect(counted({ logs: { m: metric } }, LOGS)).toEqual(expected));

  it("counts span events and data points by their attributes", () => {
    const spanevents = { e: { attributes: [{ key: "n" }] } };
    expect(counted({ spanevents }, spansOf(SPAN))).toEqual(["trace.span.count{} 1", "e{n=1} 1", "e{n=2} 1"]);
    const datapoints = { d: { attributes: [{ key: "route" }], conditions: ['metric.name != "g"'] } };
    expect(counted({ datapoints }, metricsOf(...Object.values(METRICS)))).toEqual([
      "metric.count{} 5",
      "d{route=/a} 4",
    ]);
  });

  it("makes monotonic delta sums over the time of the records, under their resource", () => {
    const { out } = through(count, { logs: { m: { description: "what" } } }, LOGS, { to: "metrics" });
    const tree = decodeTree(out[0]!.batch);
    const [resourceMetrics] = listOf(tree, "resourceMetrics");
    expect(resourceMetrics!["resource"]).toEqual(listOf(decodeTree(LOGS), "resourceLogs")[0]!["resource"]);
    const [{ metric, record }] = recordsOf("metrics", tree) as [ReturnType<typeof recordsOf>[0]];
    expect(metric).toMatchObject({ description: "what", sum: { aggregationTemporality: 1, isMonotonic: true } });
    expect(record).toMatchObject({ startTimeUnixNano: 200n, timeUnixNano: 400n });
  });

  it("uses the current time for records without a time", () => {
    const clock = new FakeClock();
    const { out } = through(count, {}, logsOf({ body: text("x") }), { to: "metrics", clock });
    const now = BigInt(clock.now()) * 1_000_000n;
    const [first] = recordsOf("metrics", decodeTree(out[0]!.batch));
    expect(first!.record).toMatchObject({ startTimeUnixNano: now, timeUnixNano: now });
  });

  it("carries the debt of what it counts, and acknowledges batches with nothing to count", () => {
    const { out, outcomes } = through(count, {}, LOGS, { to: "metrics" });
    expect(outcomes).toEqual([]);
    out[0]!.accept();
    expect(outcomes).toEqual([ACCEPTED]);
    const none = through(count, { logs: { m: { conditions: ["false"] } } }, LOGS, { to: "metrics" });
    expect([none.out, none.outcomes]).toEqual([[], [ACCEPTED]]);
  });

  it("does not count where a condition fails, and counts the rest", () => {
    const failing = { logs: { m: { conditions: ['Int(attributes["n"]) / 0 == 1'] }, all: {} } };
    expect(counted(failing, LOGS)).toEqual(["all{} 4"]);
  });

  it("passes batches that were taken out of a pipeline unchanged", () => {
    const batch = metricsOf(METRICS["gauge"]!);
    const { source, out } = feed(count.create(count.schema.parse({}), connectorContext("metrics")));
    const setback = { reason: "permanent", category: "schema", code: "X", message: "bad" } as const;
    source.next(owed(batch).delivery.split([deadLetter(batch, setback)])[0]!);
    expect(out.map((delivery) => [delivery.batch, delivery.setback])).toEqual([[batch, setback]]);
  });

  it("counts every record, by resource", () => {
    const signals = fc.constantFrom<Signal>("logs", "traces", "metrics");
    const anyRequest = signals.chain((signal) => request(signal).map((tree) => ({ signal, tree })));
    fc.assert(
      fc.property(anyRequest, ({ signal, tree }) => {
        const batch = Batch.admit(signal, referenceEncode(signal, tree));
        const decoded = decodeTree(batch);
        const perResource = new Map<Tree, number>();
        for (const { resourceContainer } of recordsOf(signal, decoded))
          perResource.set(resourceContainer, (perResource.get(resourceContainer) ?? 0) + 1);
        const name = { logs: "log.record.count", traces: "trace.span.count", metrics: "metric.datapoint.count" }[
          signal
        ];
        const made = through(count, {}, batch, { to: "metrics" }).out.flatMap((one) =>
          recordsOf("metrics", decodeTree(one.batch)),
        );
        const counts = made
          .filter(({ metric }) => metric!["name"] === name)
          .map(({ record }) => Number(record["asInt"]));
        expect(counts).toEqual([...perResource.values()]);
      }),
      runs(40),
    );
  });
});

describe("an agent that counts", () => {
  it("refuses the sender when the counts are refused, and acknowledges when they are accepted", async () => {
    const [data, counts] = [await startSink(), await startSink()];
    sinks.push(data, counts);
    const direct = "sending_queue: {enabled: false}, retry_on_failure: {enabled: false}";
    const { hand } = await startFed(`
exporters:
  otlp_http/data: {endpoint: "${data.url}", ${direct}}
  otlp_http/counts: {endpoint: "${counts.url}", ${direct}}
connectors: {count: }
service:
  extensions: [reliability]
  pipelines:
    logs: {receivers: [hand], exporters: [otlp_http/data, count]}
    metrics: {receivers: [count], exporters: [otlp_http/counts]}
`);
    counts.respond((_request, response) => response.writeHead(503).end());
    expect(await hand(logs("a", "b"))).toMatchObject({ ok: false, refusal: { kind: "transient" } });
    counts.respond(undefined);
    expect(await hand(logs("a", "b"))).toEqual(ACCEPTED);
    expect(counts.batches.flatMap(points)).toEqual(["log.record.count{} 2"]);
  });
});

describe("a count config", () => {
  it.each([
    [
      "    logs: {m: {conditions: ['sevrity_text == \"x\"']}}",
      [
        '5:30 connectors.count.logs.m.conditions.0: no such path in the context log: sevrity_text; did you mean "severity_text"?',
      ],
    ],
    [
      "    metrics: {m: {attributes: [{key: a}]}}",
      ["5:19 connectors.count.metrics.m.attributes: metrics have no attributes; count data points by theirs"],
    ],
    ["    log: {}", ['5:5 connectors.count.log: unknown key "log"; did you mean "logs"?']],
    [
      "    spans: {m: {attributes: [{name: a}]}}",
      [
        '5:31 connectors.count.spans.m.attributes.0.name: unknown key "name"; expected "default_value" or "key"',
        '5:30 connectors.count.spans.m.attributes.0.key: "key" is required: expected text',
      ],
    ],
    ["    spans: {m: }\n    logs: {}", []],
  ])("reports problems at their places (%#)", (keys, expected) => {
    const config = `receivers: {otlp: {protocols: {http: }}}
exporters: {nop: }
connectors:
  count:
${keys}
service:
  pipelines:
    logs: {receivers: [otlp], exporters: [count]}
    metrics: {receivers: [count], exporters: [nop]}
`;
    expect(problemsOf(config).sort()).toEqual([...expected].sort());
  });
});
