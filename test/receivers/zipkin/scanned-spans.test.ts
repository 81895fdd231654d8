import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchToJson } from "../../../src/plugin.js";
import { JsonSpanList, ZipkinRequest } from "../../../src/receivers/zipkin/format.js";
import { ZipkinBatchWriter } from "../../../src/receivers/zipkin/from-zipkin.js";
import { ScannedSpans } from "../../../src/receivers/zipkin/scanned-spans.js";
import { anyCharacter } from "../../support/any-character.js";
import { runs } from "../../support/runs.js";

function read(json: Buffer): string {
  try {
    const request = new ZipkinRequest(json, false);
    while (request.addNext());
    return Buffer.from(request.finish().bytes).toString("hex");
  } catch (error) {
    return String(error);
  }
}

function parse(json: Buffer): string {
  try {
    const writer = new ZipkinBatchWriter(false);
    const list = new JsonSpanList(json);
    for (let i = 0; list.hasNext(); i++) writer.add(list.reader.next(), i);
    return Buffer.from(writer.finish().bytes).toString("hex");
  } catch (error) {
    return String(error);
  }
}

/** A value now and then, so that most spans of a list can be scanned. */
const rarely = <T>(odd: fc.Arbitrary<T>, usual: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: usual, weight: 12 }, { arbitrary: odd, weight: 1 });

const odd = fc.oneof(
  fc.constantFrom(null, "", 0, -1, 1.5, 1e300, true, "\u0000", '"', "é", "\u{1f600}", []),
  fc.anything(),
);
const id = (digits: number) =>
  rarely<unknown>(
    odd,
    fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEF"), minLength: 1, maxLength: digits }),
  );
const text = rarely(fc.string({ unit: anyCharacter }), fc.string({ unit: "grapheme-ascii", maxLength: 12 }));
const number = rarely<unknown>(odd, fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));

const endpoint = rarely<unknown>(
  odd,
  fc.record(
    {
      serviceName: fc.constantFrom("", "shop", "cart"),
      ipv4: fc.constantFrom("", "10.0.0.1"),
      ipv6: fc.constantFrom("", "::1"),
      port: rarely<unknown>(odd, fc.integer({ min: 0, max: 70_000 })),
    },
    { requiredKeys: [] },
  ),
);

const KEYS = [
  ...["error", "span.kind", "w3c.tracestate", "otel.status_code", "otel.status_description", "otel.scope.name"],
  ...["otel.library.name", "otel.scope.version", "otel.library.version", "otlp.service.name.source", "otlp.link.0"],
  ...[
    "otlp.link.1",
    "network.local.address",
    "net.peer.port",
    "service.peer.name",
    "service.version",
    "host.name",
    "k8s.pod.name",
  ],
  ...["http.method", "http.path", "7", "__proto__", "", "x"],
];
const VALUES = ["true", "false", "internal", "OK", "ERROR", "UNSET", "STATUS_CODE_OK", "ok", "1.2.3", "a=b", "", "GET"];
const link = `${"a".repeat(32)}|${"b".repeat(16)}||{}|0`;
const tags = rarely<unknown>(
  odd,
  fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), text), fc.oneof(fc.constantFrom(...VALUES, link), text), {
    maxKeys: 8,
  }),
);

const span = fc.record(
  {
    traceId: id(33),
    id: id(17),
    parentId: id(16),
    name: text,
    kind: rarely<unknown>(odd, fc.constantFrom("SERVER", "CLIENT", "PRODUCER", "CONSUMER", "", "OTHER")),
    timestamp: number,
    duration: number,
    localEndpoint: endpoint,
    remoteEndpoint: endpoint,
    annotations: fc.constantFrom<unknown>([], [], null, [{ timestamp: 5, value: "ws" }]),
    tags,
    shared: fc.constantFrom<unknown>(true, false, null, 1),
    debug: fc.boolean(),
  },
  { requiredKeys: ["traceId", "id", "timestamp"] },
);

/** Two spans with the same owner, so that the second can be scanned. */
const spans = fc.array(span, { minLength: 1, maxLength: 3 }).map((list) => [...list, ...list]);

const PLAIN = {
  traceId: "463ac35c9f6413ad48485a3953bb6124",
  id: "a2fb4a1d1a96d312",
  parentId: "0020000000000001",
  kind: "SERVER",
  name: "get /items",
  timestamp: 1_556_604_172_355_737,
  duration: 1431,
  localEndpoint: { serviceName: "shop", ipv4: "192.168.99.1", port: 3306 },
  remoteEndpoint: { serviceName: "gateway", ipv6: "::1" },
  tags: { "http.method": "GET", "otel.library.name": "lib", "service.version": "1.2", error: "true" },
};

describe("spans of Zipkin that are read from the bytes of their JSON", () => {
  it("become the same OTLP as spans that are parsed, and are refused for the same reasons", () => {
    fc.assert(
      fc.property(spans, fc.constantFrom(undefined, 1, "\t"), (list, indent) => {
        const json = Buffer.from(JSON.stringify(list, undefined, indent));
        expect(read(json)).toBe(parse(json));
      }),
      runs(2000),
    );
  });

  it.each(["UNSET", "OK", "ERROR"])("become the same with the status %s", (code) => {
    for (const message of [undefined, "", " ", "text"]) {
      const tags = { "otel.status_code": code, "otel.status_description": message };
      const json = Buffer.from(JSON.stringify([PLAIN, PLAIN].map((each) => ({ ...each, tags }))));
      expect(read(json)).toBe(parse(json));
    }
  });

  it("become the same when a few bytes of the JSON are changed", () => {
    const valid = Buffer.from(JSON.stringify([PLAIN, PLAIN, PLAIN]));
    const change = fc.tuple(
      fc.nat(valid.length - 1),
      fc.oneof(fc.constantFrom(...Buffer.from('"\\,:{}[]0 \n')), fc.nat(255)),
    );
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.nat(valid.length), (changes, cut) => {
        const json = Buffer.from(valid);
        for (const [at, byte] of changes) json[at] = byte;
        expect(read(json)).toBe(parse(json));
        expect(read(json.subarray(0, cut))).toBe(parse(json.subarray(0, cut)));
      }),
      runs(2000),
    );
  });

  it("are parsed only where their resource and scope appear for the first time", () => {
    const other = { ...PLAIN, localEndpoint: { serviceName: "cart" } };
    const spans = [PLAIN, PLAIN, other, PLAIN, other].map((each) => JSON.stringify(each));
    const json = Buffer.from(`[${spans.join(",")}]`);
    const scanned = new ScannedSpans(json);
    const writer = new ZipkinBatchWriter(false);
    const list = new JsonSpanList(json);
    const isScanned = spans.map((_, i) => {
      list.hasNext();
      const end = scanned.add(list.reader.end);
      if (end < 0) scanned.learn(writer.add(list.reader.next(), i));
      else list.reader.end = end;
      return end >= 0;
    });
    expect(isScanned).toEqual([false, true, false, true, true]);
    expect(writer.finish().count).toBe(5);
  });

  it("are written and checked in pieces if they are very many, all of them and in order", () => {
    const spans = Array.from({ length: 20_000 }, (_, i) => ({ ...PLAIN, id: String(i + 1).padStart(16, "0") }));
    const request = new ZipkinRequest(Buffer.from(JSON.stringify(spans)), false);
    while (request.addNext());
    const batch = request.finish();
    expect(batch.count).toBe(spans.length);
    expect(batch.chunks.length).toBeGreaterThan(2);
    expect(Math.max(...batch.chunks.map(({ length }) => length))).toBeLessThan(4 * 1024 * 1024);
    const ids = [...batchToJson(batch).matchAll(/"spanId":"(\w+)"/g)].map((match) => match[1]);
    expect(ids).toEqual(spans.map(({ id }) => id));
  });

  it("name the place of a span that is invalid after others that were scanned", () => {
    const json = Buffer.from(JSON.stringify([PLAIN, PLAIN, PLAIN, { ...PLAIN, id: "zz" }]));
    expect(read(json)).toMatch(/span 3: id: expected an id of up to 16 hex digits/);
  });
});
