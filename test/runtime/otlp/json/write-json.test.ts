import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { batchToJsonBytes, batchToJsonBytesInSteps } from "../../../../src/runtime/otlp/json/batch-json.js";
import { putDecimal64 } from "../../../../src/runtime/otlp/json/write-text.js";
import { WORST_REQUESTS } from "../../../security/worst/requests.js";
import { runs } from "../../../support/runs.js";

const request = (attributes: readonly object[]) =>
  JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] });

/** The JSON written in steps, and the number of stops. */
function inSteps(batch: Batch): { readonly json: Buffer; readonly stops: number } {
  const work = batchToJsonBytesInSteps(batch, "\n");
  for (let stops = 0; ; stops++) {
    const { done, value } = work.next();
    if (done === true) return { json: value, stops };
  }
}

/** A log record whose body is a text and whose attribute is bytes, both of this many bytes. */
function largeRecord(text: Buffer): Batch {
  const field = (number: number, body: Buffer) => {
    const head = [(number << 3) | 2];
    let rest = body.length;
    for (; rest > 127; rest >>>= 7) head.push((rest & 127) | 128);
    return Buffer.concat([Buffer.from([...head, rest]), body]);
  };
  const attribute = Buffer.concat([field(1, Buffer.from("k")), field(2, field(7, text))]);
  const record = Buffer.concat([field(5, field(1, text)), field(6, attribute)]);
  return Batch.admit("logs", field(1, field(2, field(2, record))));
}

describe("JSON that is written in steps", () => {
  it.each([
    ["logs", "records with as many attributes as fit into a small record"],
    ["logs", "a large resource of many records"],
    ["logs", "as many attributes as a record may have"],
    ["traces", "tiny spans"],
    ["traces", "as many events as a span may have"],
    ["metrics", "points of one metric"],
    ["metrics", "as many buckets as a point may have"],
  ] as const)("is the same as in one go: %s, %s", (signal, name) => {
    const requests: Readonly<Record<string, () => Buffer>> = WORST_REQUESTS[signal];
    const batch = Batch.admit(signal, requests[name]!());
    const whole = batchToJsonBytes(batch, "\n");
    const { json, stops } = inSteps(batch);
    expect(json.equals(whole)).toBe(true);
    if (batch.byteLength > 1_000_000) expect(stops).toBeGreaterThan(whole.length / 500_000);
  });

  it.each([
    ["escapes", Buffer.alloc(1_500_001, '\u0001"a')],
    ["umlauts", Buffer.from("äöü😀".repeat(125_000))],
    ["invalid UTF-8", Buffer.alloc(1_500_001, Buffer.from([0xe2, 0x82, 0x61, 0xf0]))],
  ])("is the same for long texts of %s", (_, text) => {
    const batch = largeRecord(text);
    const { json, stops } = inSteps(batch);
    expect(json.equals(batchToJsonBytes(batch, "\n"))).toBe(true);
    expect(stops).toBeGreaterThan(20);
  });

  it("is written without a stop if it is small", () => {
    expect(inSteps(batchFromJson("logs", request([{ key: "a", value: {} }]))).stops).toBe(0);
  });
});

describe("JSON that is written", () => {
  it("is the same for attributes of any length, with and without something to escape", () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b", '"', "\\", "\n", "\u0001", "\u007f", "é", "😀"), maxLength: 140 }),
      fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 140 }),
    );
    const integer = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.bigInt(0n, 2n ** 29n));
    const value = fc.oneof(
      text.map((stringValue) => ({ stringValue })),
      integer.map((intValue) => ({ intValue: String(intValue) })),
      fc.constantFrom(
        { boolValue: true },
        { doubleValue: 0.5 },
        {},
        { arrayValue: { values: [{ stringValue: "a" }] } },
      ),
    );
    fc.assert(
      fc.property(fc.array(fc.record({ key: text, value }), { minLength: 1, maxLength: 5 }), (attributes) => {
        expect(JSON.parse(batchToJson(batchFromJson("logs", request(attributes))))).toEqual(
          JSON.parse(request(attributes)),
        );
      }),
      runs(200),
    );
  });

  it("has 64-bit numbers to the last digit", () => {
    const edges = fc.constantFrom(
      0n,
      9n,
      10n,
      2n ** 31n - 1n,
      2n ** 31n,
      2n ** 32n,
      10n ** 9n,
      10n ** 18n,
      2n ** 64n - 1n,
    );
    fc.assert(
      fc.property(fc.oneof(edges, fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 40n)), (value) => {
        const bytes = Buffer.alloc(24);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        const end = putDecimal64(view, 0, Number(value & 0xffffffffn), Number(value >> 32n));
        expect(bytes.toString("latin1", 0, end)).toBe(String(value));
      }),
      runs(300),
    );
  });

  it("is the same as bytes, also where a text is not UTF-8", () => {
    const plain = batchFromJson("logs", request([{ key: "k", value: { stringValue: "é, 😀" } }]));
    const broken = Buffer.from(plain.bytes);
    broken[broken.indexOf("é")] = 0xff;
    for (const batch of [plain, Batch.admit("logs", broken)])
      expect(batchToJsonBytes(batch, "\n").toString()).toBe(`${batchToJson(batch)}\n`);
    expect(batchToJson(Batch.admit("logs", broken))).toContain("\ufffd");
  });

  it("does not end up in what was written before", () => {
    const batches = ["first", "second"].map((key) => batchFromJson("logs", request([{ key, value: {} }])));
    const [first, second] = batches.map((batch) => batchToJsonBytes(batch));
    expect([first!.toString(), second!.toString()]).toEqual(batches.map(batchToJson));
  });
});
