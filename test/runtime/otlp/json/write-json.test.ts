import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch, batchFromJson, batchToJson } from "../../../../src/plugin.js";
import { batchToJsonBytes } from "../../../../src/runtime/otlp/json/batch-json.js";
import { putDecimal64 } from "../../../../src/runtime/otlp/json/write-decimal.js";
import { runs } from "../../../support/runs.js";

const request = (attributes: readonly object[]) =>
  JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ attributes }] }] }] });

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
