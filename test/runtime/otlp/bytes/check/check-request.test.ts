import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../../src/runtime/otlp/batch.js";
import { encodeTree, type Tree } from "../../../../../src/runtime/otlp/json/tree.js";
import { isMalformed } from "../../../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS, type Signal } from "../../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../../support/runs.js";
import { naiveCheck } from "../../../../support/telemetry/naive-check.js";
import { referenceEncode } from "../../../../support/telemetry/otlp-reference.js";
import { request } from "../../../../support/telemetry/telemetry-arbitraries.js";

/** Returns the result of the check for these pieces: the number of records, or the error and its place. */
function checked(signal: Signal, pieces: readonly Uint8Array[]): number | string {
  try {
    return Batch.admitPieces(signal, pieces).count;
  } catch (error) {
    if (!isMalformed(error)) throw error;
    return error.message;
  }
}

function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.slice(at[i], end));
}

function logWithBody(body: string): Uint8Array {
  const tree = { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: body } }] }] }] };
  return referenceEncode("logs", tree);
}

/** The nearest, those that differ in one bit, and the ends of what one byte can say. */
function otherBytes(byte: number): number[] {
  const flipped = [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => byte ^ (1 << bit));
  return [...flipped, byte - 2, byte - 1, byte + 1, byte + 2, 0, 127, 128, 255].map((other) => other & 255);
}

const ID = "5b8efff798038103";
const ATTRIBUTES = [
  { key: "text", value: { stringValue: "some text" } },
  { key: "int", value: { intValue: "-3" } },
  { key: "small", value: { intValue: "300" } },
  { key: "bool", value: { boolValue: true } },
  { key: "double", value: { doubleValue: 1.5 } },
  { key: "list", value: { arrayValue: { values: [{ stringValue: "a" }, { intValue: "1" }] } } },
  { key: "map", value: { kvlistValue: { values: [{ key: "k", value: { bytesValue: "AAEC" } }] } } },
  { key: "none", value: {} },
];
/** One of every kind of field that the check has a way of its own for. */
const REQUESTS: Readonly<Record<Signal, Tree>> = {
  logs: {
    resourceLogs: [
      {
        resource: { attributes: ATTRIBUTES.slice(0, 1) },
        scopeLogs: [
          {
            logRecords: [
              { timeUnixNano: "1", severityNumber: 9, body: { stringValue: "body" }, attributes: ATTRIBUTES },
              { flags: 1, traceId: ID + ID, spanId: ID, body: { intValue: "5" } },
            ],
            schemaUrl: "u",
          },
        ],
      },
    ],
  },
  traces: {
    resourceSpans: [
      {
        scopeSpans: [
          {
            scope: { name: "s", attributes: ATTRIBUTES.slice(0, 1) },
            spans: [
              {
                traceId: ID + ID,
                spanId: ID,
                name: "n",
                kind: 2,
                attributes: ATTRIBUTES.slice(0, 3),
                status: { code: 1 },
              },
              { events: [{ name: "e", attributes: ATTRIBUTES.slice(0, 1) }], links: [{ spanId: ID }] },
            ],
          },
        ],
      },
    ],
  },
  metrics: {
    resourceMetrics: [
      {
        scopeMetrics: [
          {
            metrics: [
              {
                name: "g",
                gauge: { dataPoints: [{ asInt: "1", attributes: ATTRIBUTES.slice(0, 2) }, { asDouble: 2 }] },
              },
              { name: "h", histogram: { dataPoints: [{ bucketCounts: ["1", "2"], explicitBounds: [1.5] }] } },
              { name: "e", exponentialHistogram: { dataPoints: [{ positive: { bucketCounts: ["1", "300"] } }] } },
            ],
          },
        ],
      },
    ],
  },
};

describe.each(SIGNALS)("the check of %s", (signal) => {
  it("finds what a plain reader finds, whichever byte of a request is changed", () => {
    const bytes = encodeTree(signal, REQUESTS[signal]).bytes.slice();
    expect(Batch.admit(signal, bytes).count).toBe(naiveCheck(signal, bytes));
    for (let at = 0; at < bytes.length; at++) {
      const was = bytes[at]!;
      for (const byte of otherBytes(was)) {
        bytes[at] = byte;
        const expected = naiveCheck(signal, bytes);
        const found = checked(signal, [bytes]);
        const isSame = expected === undefined ? typeof found === "string" : typeof found === "number";
        if (!isSame) expect.fail(`byte ${at} as ${byte}: ${found} instead of ${expected}`);
      }
      bytes[at] = was;
    }
  });

  it("finds what a plain reader finds when two bytes are changed", () => {
    const original = encodeTree(signal, REQUESTS[signal]).bytes;
    const change = fc.tuple(fc.nat({ max: original.length - 1 }), fc.nat({ max: 255 }));
    fc.assert(
      fc.property(change, change, ([at, byte], [otherAt, otherByte]) => {
        const bytes = original.slice();
        bytes[at] = byte;
        bytes[otherAt] = otherByte;
        expect(typeof checked(signal, [bytes])).toBe(naiveCheck(signal, bytes) === undefined ? "string" : "number");
      }),
      runs(800),
    );
  });

  it("finds the same in a request wherever its pieces begin and end, sound or broken", () => {
    const places = fc.array(fc.nat({ max: 5000 }), { maxLength: 5 });
    const changes = fc.array(fc.tuple(fc.nat({ max: 5000 }), fc.nat({ max: 255 })), { maxLength: 3 });
    fc.assert(
      fc.property(request(signal), changes, places, (tree, changed, cuts) => {
        const bytes = referenceEncode(signal, tree);
        for (const [at, byte] of changed) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        expect(checked(signal, cut(bytes, cuts))).toBe(checked(signal, [bytes]));
      }),
      runs(100),
    );
  });
});

describe("the check", () => {
  it("keeps pieces apart, and joins them only where one buffer is needed", () => {
    const bytes = logWithBody("a body");
    const pieces = cut(bytes, [3, 7]);
    const batch = Batch.admitPieces("logs", pieces);
    expect(batch.chunks).toEqual(pieces);
    expect(batch.chunks[0]).toBe(pieces[0]);
    expect(Buffer.from(batch.bytes).equals(bytes)).toBe(true);
  });

  it("puts a field right that comes again in another piece", () => {
    const twice = (text: string) => [0x1a, text.length, ...Buffer.from(text)];
    const record = [...twice("INFO"), ...twice("WARN")];
    const bytes = Uint8Array.from([0x0a, record.length + 4, 0x12, record.length + 2, 0x12, record.length, ...record]);
    const batch = Batch.admitPieces("logs", cut(bytes, [9]));
    expect(Buffer.from(batch.bytes).toString("latin1")).toContain("WARN");
    expect(Buffer.from(batch.bytes).toString("latin1")).not.toContain("INFO");
  });

  it.each([0, 1, 1 << 20, 3 << 20, 40 << 20])(
    "takes a request with a body of %d bytes, and a small one after it",
    (size) => {
      const bytes = logWithBody("b".repeat(size));
      expect(Batch.admit("logs", bytes).count).toBe(1);
      expect(() => Batch.admit("logs", bytes.subarray(0, -1))).toThrow("goes past its end");
      expect(Batch.admit("logs", logWithBody("")).count).toBe(1);
    },
  );

  it("refuses a length over 32 bits whose low bits would fit", () => {
    expect(checked("logs", [Uint8Array.from([0x0a, 0x80, 0x80, 0x80, 0x80, 0x10])])).toBe(
      "tag or length over 32 bits at byte 1",
    );
    expect(checked("logs", [Uint8Array.from([0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0])])).toContain("over 32 bits");
    expect(checked("logs", [Uint8Array.from([0x0a, 0x80, 0x80, 0x80, 0x80, 0])])).toBe(0);
  });

  it("does not see what an earlier request has left behind the end of this one", () => {
    const bytes = logWithBody("b".repeat(100));
    expect(Batch.admit("logs", bytes).count).toBe(1);
    for (let end = 1; end < bytes.length; end++) {
      expect(() => Batch.admit("logs", bytes.subarray(0, end)), `${end} of ${bytes.length}`).toThrow("at byte");
    }
  });
});
