import { describe, expect, it } from "vitest";
import { type RoutingKey, recordHasher } from "../../../../src/exporters/otlp-grpc/load-balancing/routing-key.js";
import { batchFromJson, type Signal } from "../../../../src/plugin.js";
import { SHAPES } from "../../../../src/runtime/otlp/bytes/signal-shape.js";
import { partition } from "../../../../src/runtime/otlp/edit/partition.js";

function hashes(signal: Signal, tree: object, key: RoutingKey, attributes: string[] = []): (number | undefined)[] {
  const batch = batchFromJson(signal, JSON.stringify(tree));
  const hash = recordHasher(batch, key, attributes);
  const found: (number | undefined)[] = [];
  partition(batch, SHAPES[signal], 1, (walk, start, end) => {
    found.push(hash(walk, start, end));
    return 0;
  });
  return found;
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const resource = (...attributes: object[]) => ({ resource: { attributes } });
const spans = (...resources: object[]) => ({ resourceSpans: resources });
const span = (traceId: string, more: object = {}) => ({ traceId, spanId: "0102030405060708", name: "s", ...more });
const A = "0102030405060708090a0b0c0d0e0f10";
const B = "ff02030405060708090a0b0c0d0e0f10";

const point = (...attributes: object[]) => ({ asInt: "1", timeUnixNano: "1", attributes });
const metrics = (attributes: object[], ...list: object[]) => ({
  resourceMetrics: [{ ...resource(...attributes), scopeMetrics: [{ metrics: list }] }],
});
const gauge = (name: string, ...dataPoints: object[]) => ({ name, gauge: { dataPoints } });

describe("records with the same key have the same hash, and others another", () => {
  it("by trace, wherever its spans are", () => {
    const tree = spans(
      { ...resource(text("service.name", "a")), scopeSpans: [{ spans: [span(A), span(B)] }] },
      { ...resource(text("service.name", "b")), scopeSpans: [{ spans: [span(B), span(A)] }] },
    );
    const [a1, b1, b2, a2] = hashes("traces", tree, "traceID");
    expect(a1).toBe(a2);
    expect(b1).toBe(b2);
    expect(a1).not.toBe(b1);
  });

  it("by trace for logs; those without a trace may go anywhere", () => {
    const tree = {
      resourceLogs: [
        { scopeLogs: [{ logRecords: [{ traceId: A }, { body: { stringValue: "x" } }, { traceId: "" }] }] },
      ],
    };
    const [withTrace, ...without] = hashes("logs", tree, "traceID");
    expect(withTrace).toBeTypeOf("number");
    expect(without).toEqual([undefined, undefined]);
  });

  it("by service; those without a name go together", () => {
    const of = (...attributes: object[]) => ({
      ...resource(...attributes),
      scopeSpans: [{ spans: [span(A), span(B)] }],
    });
    const shop = text("service.name", "shop");
    const found = hashes("traces", spans(of(shop), of(text("x", "y"), shop), of(), of(text("x", "z"))), "service");
    expect(new Set(found.slice(0, 4)).size).toBe(1);
    expect(new Set(found.slice(4)).size).toBe(1);
    expect(found[0]).not.toBe(found[4]);
  });

  it("by resource, in whatever order its attributes are written", () => {
    const tree = spans(
      { ...resource(text("a", "1"), text("b", "2")), scopeSpans: [{ spans: [span(A)] }] },
      { ...resource(text("b", "2"), text("a", "1")), scopeSpans: [{ spans: [span(B)] }] },
      { ...resource(text("b", "1"), text("a", "2")), scopeSpans: [{ spans: [span(B)] }] },
    );
    const [one, same, other] = hashes("traces", tree, "resource");
    expect(one).toBe(same);
    expect(one).not.toBe(other);
  });

  it("by metric", () => {
    const tree = metrics([], gauge("m", point(), point()), gauge("n", point()), gauge("m", point()));
    const [m1, m2, n, m3] = hashes("metrics", tree, "metric");
    expect([m2, m3]).toEqual([m1, m1]);
    expect(n).not.toBe(m1);
  });

  it("by series: resource, scope, metric and attributes of the point", () => {
    const [a, b] = [text("a", "1"), text("b", "2")];
    const one = hashes("metrics", metrics([a], gauge("m", point(a, b), point(b, a), point(a), point())), "streamID");
    expect(one[0]).toBe(one[1]);
    expect(new Set(one).size).toBe(3);
    const elsewhere = hashes("metrics", metrics([b], gauge("m", point(a, b))), "streamID");
    const otherMetric = hashes("metrics", metrics([a], gauge("n", point(a, b))), "streamID");
    expect(new Set([one[0], elsewhere[0], otherMetric[0]]).size).toBe(3);
  });

  it("by attributes of the resource, the scope, the record, and of spans by name and kind", () => {
    const tree = (service: string, scope: string, tenant: string, name: string, kind: number) =>
      spans({
        ...resource(text("service.name", service)),
        scopeSpans: [
          {
            scope: { attributes: [text("lib", scope)] },
            spans: [span(A, { name, kind, attributes: [text("tenant", tenant)] })],
          },
        ],
      });
    const keys = ["service.name", "lib", "tenant", "span.name", "span.kind"];
    const of = (...args: Parameters<typeof tree>) => hashes("traces", tree(...args), "attributes", keys)[0];
    const base = of("s", "l", "t", "n", 2);
    expect(of("s", "l", "t", "n", 2)).toBe(base);
    const others = [
      of("x", "l", "t", "n", 2),
      of("s", "x", "t", "n", 2),
      of("s", "l", "x", "n", 2),
      of("s", "l", "t", "x", 2),
      of("s", "l", "t", "n", 3),
    ];
    expect(new Set([base, ...others]).size).toBe(6);
  });
});
