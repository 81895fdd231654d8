import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zipkinSpansOf } from "../../../../src/exporters/zipkin/to-zipkin.js";
import { batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { ZipkinBatchWriter } from "../../../../src/receivers/zipkin/from-zipkin.js";
import { runs } from "../../../support/runs.js";

const back = (spans: readonly unknown[], parsesTags = false) => {
  const writer = new ZipkinBatchWriter(parsesTags);
  for (const [place, span] of spans.entries()) writer.add(span, place);
  return JSON.parse(batchToJson(writer.finish()));
};

const toZipkin = (request: object) => {
  const spans = zipkinSpansOf(batchFromJson("traces", JSON.stringify(request)));
  return JSON.parse(JSON.stringify([...spans].map((span) => span.convert())));
};

const attributesOf = (map: Readonly<Record<string, string>>) =>
  Object.entries(map).map(([key, value]) => ({ key, value: { stringValue: value } }));

const hex = (digits: number) =>
  fc
    .array(fc.constantFrom(..."0123456789abcdef"), { minLength: digits, maxLength: digits })
    .map((each) => each.join(""))
    .filter((id) => !/^0*$/.test(id));

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
const micros = fc.integer({ min: 1, max: 2_000_000_000_000_000 });
const nanos = (us: number) => String(BigInt(us) * 1000n);
const sorted = (list: readonly { key: string }[] = []) => list.toSorted((a, b) => (a.key < b.key ? -1 : 1));
const freeKey = text.map((key) => `x.${key}`);
const attributes = fc.dictionary(freeKey, fc.string({ unit: "grapheme" }), { maxKeys: 4 });

/**
 * Values that Zipkin can express: texts as attributes, times in microseconds, a duration, and everything in the
 * Collector's tags.
 */
const span = fc
  .record({
    traceId: hex(32),
    spanId: hex(16),
    parentSpanId: fc.option(hex(16)),
    name: fc.string({ unit: "grapheme" }),
    kind: fc.integer({ min: 0, max: 5 }),
    start: micros,
    duration: fc.integer({ min: 0, max: 1_000_000_000 }),
    attributes,
    peer: fc.option(fc.record({ ip: fc.ipV4(), port: fc.integer({ min: 1, max: 65_535 }), service: text })),
    events: fc.array(fc.record({ at: micros, name: text.filter((name) => !name.includes("|")), attributes }), {
      maxLength: 3,
    }),
    links: fc.array(fc.record({ traceId: hex(32), spanId: hex(16), attributes }), { maxLength: 3 }),
    code: fc.integer({ min: 0, max: 2 }),
    message: text,
  })
  .filter(({ spanId, parentSpanId }) => spanId !== parentSpanId);

type AnySpan = typeof span extends fc.Arbitrary<infer T> ? T : never;

function otlpSpan(each: AnySpan) {
  const { peer } = each;
  const remote = peer
    ? [
        { key: "network.peer.address", value: { stringValue: peer.ip } },
        { key: "net.peer.port", value: { intValue: String(peer.port) } },
        { key: "service.peer.name", value: { stringValue: peer.service } },
      ]
    : [];
  const list = (map: Record<string, string>) => sorted(attributesOf(map));
  return {
    traceId: each.traceId,
    spanId: each.spanId,
    ...(each.parentSpanId !== null && { parentSpanId: each.parentSpanId }),
    ...(each.name !== "" && { name: each.name }),
    ...(each.kind !== 0 && { kind: each.kind }),
    startTimeUnixNano: nanos(each.start),
    endTimeUnixNano: nanos(each.start + each.duration),
    attributes: sorted([...attributesOf(each.attributes), ...remote]),
    events: each.events.map(({ at, name, attributes: own }) => ({
      timeUnixNano: nanos(at),
      name,
      attributes: list(own),
    })),
    links: each.links.map(({ traceId, spanId, attributes: own }) => ({ traceId, spanId, attributes: list(own) })),
    ...(each.code !== 0 && { status: { code: each.code, message: each.message } }),
  };
}

/** Without what says nothing: empty lists and zeros; attributes in the order of their keys. */
function normal(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([, each]) => each !== 0 && each !== "" && !(Array.isArray(each) && each.length === 0))
    .map(([key, each]) => [key, normal(key === "attributes" ? sorted(each) : each)]);
  return Object.fromEntries(entries);
}

describe("spans of Zipkin", () => {
  it("keep everything that Zipkin can express, in both directions", () => {
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 4 }), text, text, (spans, service, scope) => {
        const request = {
          resourceSpans: [
            {
              resource: { attributes: attributesOf({ "host.name": "h", "service.name": service }) },
              scopeSpans: [{ scope: { name: scope, version: "1" }, spans: spans.map(otlpSpan) }],
            },
          ],
        };
        const returned = back(toZipkin(request));
        expect(normal(returned)).toEqual(normal(request));
      }),
      runs(60),
    );
  });

  it("have the endpoints, times and tags that the Collector gives them", () => {
    const [zipkin] = toZipkin({
      resourceSpans: [
        {
          resource: { attributes: attributesOf({ "faas.name": "fn", region: "eu" }) },
          scopeSpans: [
            {
              scope: { name: "lib" },
              spans: [
                {
                  traceId: "0000000000000000000000000000000a",
                  spanId: "000000000000000b",
                  name: "get",
                  kind: 3,
                  startTimeUnixNano: "1700000000000001999",
                  endTimeUnixNano: "1700000000000002100",
                  traceState: "a=b",
                  attributes: [
                    ...attributesOf({
                      "network.local.address": "::1",
                      "network.peer.address": "no ip",
                      "net.peer.port": "x",
                      error: "no",
                    }),
                    { key: "http.response.status_code", value: { intValue: "200" } },
                    { key: "list", value: { arrayValue: { values: [{ intValue: "1" }, { boolValue: true }] } } },
                  ],
                  status: { code: 1 },
                },
              ],
            },
          ],
        },
      ],
    });
    expect(zipkin).toEqual({
      traceId: "000000000000000a",
      id: "000000000000000b",
      name: "get",
      kind: "CLIENT",
      timestamp: 1_700_000_000_000_001,
      duration: 1,
      localEndpoint: { serviceName: "fn", ipv6: "::1" },
      tags: {
        region: "eu",
        "otlp.service.name.source": "faas.name",
        "otel.library.name": "lib",
        "network.peer.address": "no ip",
        "net.peer.port": "x",
        "http.response.status_code": "200",
        "http.status_code": "200",
        list: "[1,true]",
        "w3c.tracestate": "a=b",
        "otel.status_code": "STATUS_CODE_OK",
      },
    });
  });

  it("become OTLP's: shared ids, errors in words, no start, services apart", () => {
    const shared = { traceId: "a", id: "b", kind: "SERVER", shared: true, localEndpoint: { serviceName: "one" } };
    const { resourceSpans } = back(
      [
        { ...shared, timestamp: 5, duration: 2, tags: { error: "it broke", "otlp.link.0": "none", n: "12" } },
        { ...shared, parentId: "b", localEndpoint: { serviceName: "two", ipv4: "10.0.0.1", port: 80 } },
        { ...shared, tags: { "host.name": "h" }, annotations: [{ timestamp: 1, value: "a|b|c" }] },
      ],
      true,
    );
    const first = resourceSpans.map((each: { scopeSpans: { spans: unknown[] }[] }) => each.scopeSpans[0]!.spans[0]);
    expect(first).toMatchObject([
      {
        traceId: "0000000000000000000000000000000a",
        spanId: "000000000000000b",
        kind: 2,
        startTimeUnixNano: "5000",
        endTimeUnixNano: "7000",
        status: { code: 2 },
        attributes: [
          { key: "error", value: { stringValue: "it broke" } },
          { key: "otlp.link.0", value: { stringValue: "none" } },
          { key: "n", value: { intValue: "12" } },
        ],
      },
      {
        attributes: [
          { key: "network.local.address", value: { stringValue: "10.0.0.1" } },
          { key: "net.host.port", value: { intValue: "80" } },
          { key: "otel.zipkin.absentField.startTime", value: { boolValue: true } },
        ],
      },
      { events: [{ name: "a|b|c", timeUnixNano: "1000" }] },
    ]);
    expect(first[1].parentSpanId).toBeUndefined();
    expect(resourceSpans[2].resource.attributes.map(({ key }: { key: string }) => key)).toEqual([
      "host.name",
      "service.name",
    ]);
  });

  it("have numbers and booleans for tags that look like them, where that is asked for, and only what 64 bits hold", () => {
    const tags = {
      a: "12",
      b: "-9223372036854775808",
      c: "9999999999999999999",
      d: "1.50",
      e: "-0.0",
      f: "true",
      g: "1e5",
    };
    const span = {
      traceId: "1",
      id: "1",
      timestamp: 1,
      remoteEndpoint: { port: 80 },
      tags: { ...tags, "net.peer.port": "x" },
    };
    const attributes = (parsesTags: boolean) =>
      back([span], parsesTags).resourceSpans[0].scopeSpans[0].spans[0].attributes.map(
        ({ key, value }: { key: string; value: object }) => [key, ...Object.entries(value)[0]!],
      );
    expect(attributes(true)).toEqual([
      ["a", "intValue", "12"],
      ["b", "intValue", "-9223372036854775808"],
      ["c", "stringValue", "9999999999999999999"],
      ["d", "doubleValue", 1.5],
      ["e", "intValue", "0"],
      ["f", "boolValue", true],
      ["g", "stringValue", "1e5"],
      ["net.peer.port", "intValue", "80"],
    ]);
    expect(attributes(false).slice(0, 7)).toEqual(
      Object.entries(tags).map(([key, text]) => [key, "stringValue", text]),
    );
  });
});
