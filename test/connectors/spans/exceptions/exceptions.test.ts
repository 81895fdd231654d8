import { describe, expect, it } from "vitest";
import { exceptions } from "../../../../src/connectors/spans/exceptions/component.js";
import { type Batch, deadLetter, encodeTree } from "../../../../src/plugin.js";
import { ACCEPTED } from "../../../../src/runtime/contract/debt.js";
import { decodeTree, type Tree } from "../../../../src/runtime/otlp/json/tree.js";
import { feed, owed } from "../../../support/deliveries.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { attributes, int, text } from "../../../support/telemetry/ottl.js";
import { listOf, recordsOf } from "../../../support/telemetry/trees.js";
import { connectorContext, problemsOf, through } from "../../support.js";
import { pointsOf, span, spansOfService, T0 } from "../support.js";

function exception(type: string, more: Record<string, Tree> = {}): Tree {
  const values = { "exception.type": text(type), "exception.message": text(`${type} happened`), ...more };
  return { name: "exception", timeUnixNano: T0 + 5n, attributes: attributes(values) };
}

const failing = (name: string, ...events: Tree[]) => span(name, 1, { status: { code: 2 }, events });
/** The ids of `span`. */
const TRACE_ID = new Uint8Array(16).fill(1);
const SPAN_ID = new Uint8Array(8).fill(2);
const OWN = "service.name=shop,span.name=buy,span.kind=SPAN_KIND_SERVER,status.code=STATUS_CODE_ERROR";
const labels = (type: string) => `${OWN},exception.type=${type},exception.message=${type} happened`;

/** A connector for metrics or logs that is fed by the test. */
function running(config: object, to: "metrics" | "logs") {
  const clock = new FakeClock();
  const created = exceptions.create(exceptions.schema.parse(config), connectorContext("traces", { to, clock }));
  const { source, out } = feed(created);
  const give = (batch: Batch): Batch[] => {
    const { delivery } = owed(batch);
    source.next(delivery);
    return out.splice(0).map((each) => {
      each.accept();
      return each.batch;
    });
  };
  return { clock, give };
}

describe("exceptions", () => {
  it("counts exceptions over all batches, by service, span, status and dimensions", () => {
    const { give } = running({}, "metrics");
    const first = spansOfService("shop", [failing("buy", exception("A"), exception("B")), span("ok", 1)]);
    expect(pointsOf(give(first))).toEqual([`exceptions{${labels("A")}} 1`, `exceptions{${labels("B")}} 1`]);
    expect(pointsOf(give(spansOfService("shop", [failing("buy", exception("A"))])))).toEqual([
      `exceptions{${labels("A")}} 2`,
    ]);
  });

  it("makes a cumulative sum that starts with the connector, with spans as exemplars if asked to", () => {
    const { give, clock } = running({ exemplars: { enabled: true } }, "metrics");
    const start = BigInt(clock.now()) * 1_000_000n;
    clock.advance(1000);
    const [made] = give(spansOfService("shop", [failing("buy", exception("A"))]));
    const { record, metric } = recordsOf("metrics", decodeTree(made!))[0]!;
    expect(metric!["sum"]).toMatchObject({ aggregationTemporality: 2, isMonotonic: true });
    expect(record).toMatchObject({ startTimeUnixNano: start, timeUnixNano: start + 1_000_000_000n, asInt: 1n });
    expect(listOf(record, "exemplars")).toMatchObject([
      { asDouble: 1, spanId: SPAN_ID, traceId: TRACE_ID, timeUnixNano: start + 1_000_000_000n },
    ]);
    const [without] = running({}, "metrics").give(spansOfService("shop", [failing("buy", exception("A"))]));
    expect(listOf(recordsOf("metrics", decodeTree(without!))[0]!.record, "exemplars")).toEqual([]);
  });

  it("sends series without new exceptions again once a minute", () => {
    const { give, clock } = running({}, "metrics");
    const quiet = spansOfService("shop", [span("buy", 1)]);
    give(spansOfService("shop", [failing("buy", exception("A"))]));
    expect(give(quiet)).toEqual([]);
    clock.advance(60_000);
    expect(pointsOf(give(quiet))).toEqual([`exceptions{${labels("A")}} 1`]);
    expect(give(quiet)).toEqual([]);
  });

  it("counts what is beyond max_series in one overflow series", () => {
    const { give } = running({ max_series: 2 }, "metrics");
    const events = ["A", "B", "C", "D", "A"].map((type) => exception(type));
    expect(pointsOf(give(spansOfService("shop", [failing("buy", ...events)])))).toEqual([
      "exceptions{otel.metric.overflow=true} 2",
      `exceptions{${labels("A")}} 2`,
      `exceptions{${labels("B")}} 1`,
    ]);
  });

  it("looks dimensions up in the span, then in the event, then in the resource, and has defaults", () => {
    const dimensions = [{ name: "a" }, { name: "b" }, { name: "c" }, { name: "d", default: "none" }, { name: "e" }];
    const batch = spansOfService(
      "shop",
      [
        {
          ...failing("buy", exception("A", { a: text("event"), b: int(7n) })),
          attributes: attributes({ a: text("span") }),
        },
      ],
      { a: text("resource"), b: text("resource"), c: text("resource") },
    );
    expect(pointsOf(running({ dimensions }, "metrics").give(batch))).toEqual([
      `exceptions{${OWN},a=span,b=7,c=resource,d=none} 1`,
    ]);
  });

  it("makes a log record of each exception, under the scope of its span", () => {
    const [made] = running({}, "logs").give(
      spansOfService("shop", [
        {
          ...failing("buy", exception("A", { "exception.stacktrace": text("at x") }), { name: "retry" }),
          attributes: attributes({ user: int(5n) }),
        },
      ]),
    );
    const tree = decodeTree(made!);
    const { record } = recordsOf("logs", tree)[0]!;
    expect(record).toMatchObject({
      timeUnixNano: T0 + 5n,
      severityNumber: 17,
      severityText: "ERROR",
      traceId: TRACE_ID,
      spanId: SPAN_ID,
    });
    expect(listOf(record, "attributes").map(({ key, value }) => `${key}=${Object.values(value as Tree)[0]}`)).toEqual([
      "user=5",
      "span.name=buy",
      "span.kind=SPAN_KIND_SERVER",
      "status.code=STATUS_CODE_ERROR",
      "service.name=shop",
      "exception.type=A",
      "exception.message=A happened",
      "exception.stacktrace=at x",
    ]);
    const [container] = listOf(tree, "resourceLogs");
    expect(listOf(container!, "scopeLogs")[0]!["scope"]).toEqual({ name: "lib" });
    expect(listOf((container!["resource"] ?? {}) as Tree, "attributes")).toEqual([]);
  });

  it("acknowledges batches without exceptions, and skips spans of unnamed services", () => {
    const quiet = spansOfService("shop", [span("exception", 1, { events: [{ name: "exceptional" }] })]);
    const unnamed = spansOfService(undefined, [failing("buy", exception("A"))]);
    for (const batch of [quiet, unnamed, encodeTree("traces", {})]) {
      for (const to of ["logs", "metrics"] as const) {
        const { out, outcomes } = through(exceptions, {}, batch, { to });
        expect(out).toEqual([]);
        expect(outcomes).toEqual([ACCEPTED]);
      }
    }
  });

  it("does not count what a processor has taken out of its pipeline", () => {
    const batch = spansOfService("shop", [failing("buy", exception("A"))]);
    const created = exceptions.create(exceptions.schema.parse({}), connectorContext("traces", { to: "metrics" }));
    const { source, out } = feed(created);
    const setback = { reason: "permanent", category: "schema", code: "X", message: "bad" } as const;
    source.next(owed(batch).delivery.split([deadLetter(batch, setback)])[0]!);
    expect(out.map((each) => [each.batch, each.setback])).toEqual([[batch, setback]]);
  });

  it("refuses a dimension that is there already", () => {
    const config = `
receivers: { otlp: { protocols: { http: } } }
connectors: { exceptions: { dimensions: [{ name: a }, { name: span.name }, { name: a }] } }
exporters: { debug: }
service:
  pipelines:
    traces: { receivers: [otlp], exporters: [exceptions] }
    logs: { receivers: [exceptions], exporters: [debug] }
`;
    expect(problemsOf(config).map((problem) => problem.replace(/^\S+ /, ""))).toEqual([
      "connectors.exceptions.dimensions.1.name: expected every dimension once: span.name is there already",
      "connectors.exceptions.dimensions.2.name: expected every dimension once: a is there already",
    ]);
  });
});
