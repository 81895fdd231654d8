import fc from "fast-check";
import { expect, it } from "vitest";
import { batchToJson, isMalformed } from "../../../../src/plugin.js";
import { batchOfProto } from "../../../../src/receivers/otlp/jaeger/read-proto.js";
import { atOnce } from "../../../../src/runtime/work/door.js";
import { runs } from "../../../support/runs.js";
import { encodeJaeger } from "../../../support/telemetry/jaeger-proto.js";
import { plainSpan } from "./plain-jaeger.js";

const some = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record(fields, { requiredKeys: [], noNullPrototype: true });

const key = fc.constantFrom(
  ...["span.kind", "error", "otel.status_code", "otel.status_description", "otel.scope.name", "otel.scope.version"],
  ...["w3c.tracestate", "event", "http.status_code", "http.status_message", "hostname", "host.name"],
  ...["jaeger.version", "opencensus.exporterversion", "service.name", "a", "b", "é", "k".repeat(130)],
);
const text = fc.oneof(
  fc.constantFrom("server", "client", "error", "OK", "404", "500", "200", "", "é", "t".repeat(140)),
  fc.string({ unit: "grapheme" }),
);
const tag = some({
  key,
  vType: fc.nat(5),
  vStr: text,
  vBool: fc.boolean(),
  vInt64: fc.oneof(fc.constantFrom(0n, 200n, 404n, 500n, -1n), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)),
  vFloat64: fc.double({ noNaN: true, noDefaultInfinity: true }),
  vBinary: fc.constantFrom("", "00ff"),
});
const time = some({
  seconds: fc.constantFrom(0n, -5n, 1_700_000_000n, 18_446_744_073n, 18_446_744_074n, 2n ** 40n, -(2n ** 62n)),
  nanos: fc.constantFrom(0, 1, 709_551_615, 709_551_616, 999_999_999, 2_000_000_001),
});
const traceId = fc.constantFrom("", "00".repeat(16), "01".repeat(16), "02".repeat(16));
const spanId = fc.constantFrom("", "00".repeat(8), "01".repeat(8), "02".repeat(8));
const process = some({
  serviceName: fc.constantFrom("", "shop", "é", "OTLPResourceNoServiceName"),
  tags: fc.array(tag, { maxLength: 4 }),
});
const span = some({
  traceId,
  spanId,
  operationName: text,
  references: fc.array(some({ traceId, spanId, refType: fc.nat(2) }), { maxLength: 12 }),
  flags: fc.nat(3),
  startTime: time,
  duration: some({ seconds: fc.constantFrom(0n, 1n, 2n ** 40n, -3n), nanos: fc.nat(999_999_999) }),
  tags: fc.oneof(fc.array(tag, { maxLength: 6 }), fc.array(tag, { minLength: 60, maxLength: 90 })),
  logs: fc.array(some({ timestamp: time, fields: fc.array(tag, { maxLength: 4 }) }), { maxLength: 3 }),
  process,
});

interface Found {
  readonly resourceSpans?: {
    readonly resource?: object;
    readonly scopeSpans: { readonly scope?: object; readonly spans: object[] }[];
  }[];
}

const sorted = (list: readonly { key?: string }[] = []) =>
  list.toSorted((a, b) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1));
const canonical = (each: object) => {
  const { resource, scope, span: own } = each as { resource: { attributes?: object[] }; scope?: object; span: object };
  // A scope without a name may be with spans that have none.
  return JSON.stringify([sorted(resource.attributes), scope ?? {}, own]);
};

it("makes of a request what it would by way of plain objects", () => {
  fc.assert(
    fc.property(fc.array(span, { maxLength: 4 }), process, (spans, batchProcess) => {
      const bytes = encodeJaeger("PostSpansRequest", { batch: { spans, process: batchProcess } });
      const { resourceSpans = [] } = JSON.parse(batchToJson(atOnce(batchOfProto(Buffer.from(bytes), 1e6)))) as Found;
      const found = resourceSpans.flatMap(({ resource = {}, scopeSpans }) =>
        scopeSpans.flatMap(({ scope, spans: own }) => own.map((each) => canonical({ resource, scope, span: each }))),
      );
      const expected = spans.map((each) => canonical(JSON.parse(JSON.stringify(plainSpan(each, batchProcess)))));
      expect(found.sort()).toEqual(expected.sort());
    }),
    runs(60),
  );
});

it("replaces what is not UTF-8, and refuses what is cut off anywhere", () => {
  const tags = [
    { key: "é", vStr: "aé" },
    { key: "é".repeat(40), vStr: "é".repeat(40) },
  ];
  const bytes = Buffer.from(encodeJaeger("PostSpansRequest", { batch: { spans: [{ operationName: "é", tags }] } }));
  for (let i = 0; i < bytes.length; i++) {
    try {
      atOnce(batchOfProto(bytes.subarray(0, i), 100));
    } catch (error) {
      expect(isMalformed(error)).toBe(true);
    }
  }
  for (let at = bytes.indexOf("é"); at >= 0; at = bytes.indexOf("é", at + 1)) bytes[at] = 0xff;
  const text = batchToJson(atOnce(batchOfProto(bytes, 100)));
  const twice = (n: number) => "\ufffd\ufffd".repeat(n);
  expect(JSON.parse(text).resourceSpans[0].scopeSpans[0].spans[0]).toEqual({
    name: twice(1),
    attributes: [
      { key: twice(1), value: { stringValue: `a${twice(1)}` } },
      { key: twice(40), value: { stringValue: twice(40) } },
    ],
  });
});

it("never merges spans of two scopes", () => {
  const scopes = [
    ["a", "b\n"],
    ["a\nb", ""],
    ["a\n", "b"],
  ] as const;
  const spans = scopes.map(([name, version]) => ({
    tags: [
      { key: "otel.scope.name", vStr: name },
      { key: "otel.scope.version", vStr: version },
    ],
  }));
  const bytes = Buffer.from(encodeJaeger("PostSpansRequest", { batch: { spans } }));
  const { resourceSpans = [] } = JSON.parse(batchToJson(atOnce(batchOfProto(bytes, 100)))) as Found;
  const found = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.map(({ scope }) => scope));
  expect(found).toEqual(scopes.map(([name, version]) => (version === "" ? { name } : { name, version })));
});
