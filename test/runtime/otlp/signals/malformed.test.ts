import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Batch } from "../../../../src/runtime/otlp/batch.js";
import { editRecords } from "../../../../src/runtime/otlp/edit/edit-records.js";
import { splitBatch } from "../../../../src/runtime/otlp/edit/split-batch.js";
import { batchFromJson, batchToJson } from "../../../../src/runtime/otlp/json/batch-json.js";
import { decodeTree, encodeTree } from "../../../../src/runtime/otlp/json/tree.js";
import { isMalformed } from "../../../../src/runtime/otlp/signals/malformed.js";
import { SIGNALS, type Signal } from "../../../../src/runtime/otlp/signals/signal.js";
import { runs } from "../../../support/runs.js";
import { referenceDecode, referenceEncode } from "../../../support/telemetry/otlp-reference.js";
import { request } from "../../../support/telemetry/telemetry-arbitraries.js";
import { rewritten } from "../../../support/telemetry/wire-forms.js";

/*
 * What the reference decoder refuses, `admit` refuses, and what `admit` takes, the reference takes; with these
 * differences, all of them on purpose:
 * - `admit` is stricter: it refuses groups (wire types 3 and 4), wire types that do not fit a known field, messages
 *   that run over the end of the one around them, tags and lengths of more than five bytes, and deep nesting. The
 *   reference looks at none of that.
 * - neither looks at UTF-8: text that is not UTF-8 reads as U+FFFD and stays as it is in the bytes.
 * - the reference misreads 32-bit varints padded to six to nine bytes: it is asked about the shortest form.
 * - the reference knows younger fields (flags of spans, event names ...) only as unknown ones.
 */
function admitted(signal: Signal, bytes: Uint8Array): Batch | undefined {
  const placed = surrounded(bytes);
  try {
    return Batch.admit(signal, placed);
  } catch (error) {
    if (!isMalformed(error)) throw error;
    expect(error.offset).toBeGreaterThanOrEqual(0);
    expect(error.offset).toBeLessThanOrEqual(bytes.length);
    return undefined;
  }
}

/** The same bytes within a larger buffer whose rest would be noticed: it is one endless varint. */
function surrounded(bytes: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(bytes.length + 64).fill(0xff);
  buffer.set(bytes, 29);
  return buffer.subarray(29, 29 + bytes.length);
}

/** Everything that can be done to a batch ends, and gives batches that are valid again. */
function expectUsable(batch: Batch): void {
  const { signal } = batch;
  let seen = 0;
  const edited = editRecords(batch, (record) => {
    seen++;
    record.attributes.toObject();
    record.attributes.get("k");
    record.attributes.set("k", "v").delete("a");
    record.resource.attributes.set("k", 1);
    record.scope.name = `${record.scope.name}!`;
    record.name = `${record.name}!`;
    record.flags = 1;
    if (record.signal === "logs") record.severityText = typeof record.body;
    if (record.signal === "traces") {
      for (const part of [...record.events, ...record.links]) part.attributes.set("k", part.attributes.size);
      record.status = { ...record.status, message: "m" };
    }
    if (record.signal === "metrics") record.metric.unit = JSON.stringify(Object.keys(record.fields()));
  });
  expect(seen).toBe(batch.count);
  for (const result of [edited, ...splitBatch(batch, { records: 1 }), ...splitBatch(batch, { bytes: 40 })]) {
    expect(Batch.admit(signal, result.bytes).count).toBe(result.count);
  }
  expect(editRecords(batch, () => "drop").count).toBe(0);
  expect(encodeTree(signal, decodeTree(batch)).count).toBe(batch.count);
  expect(batchFromJson(signal, batchToJson(batch)).count).toBe(batch.count);
}

function expectSafe(signal: Signal, bytes: Uint8Array): void {
  const batch = admitted(signal, bytes);
  if (batch === undefined) return;
  referenceDecode(signal, rewritten(signal, bytes, { shortest: true }, 0));
  expectUsable(batch);
}

describe.each(SIGNALS)("bytes that are no %s", (signal) => {
  it("are refused or usable when cut anywhere", () => {
    fc.assert(
      fc.property(request(signal), fc.nat(), (tree, cut) => {
        const bytes = referenceEncode(signal, tree);
        expectSafe(signal, bytes.subarray(0, cut % (bytes.length + 1)));
      }),
      runs(30),
    );
  });

  it("are refused or usable with any byte changed", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(request(signal), damage, (tree, damage) => {
        const bytes = Buffer.from(referenceEncode(signal, tree));
        for (const [at, flip] of damage) if (bytes.length > 0) bytes[at % bytes.length]! ^= flip;
        expectSafe(signal, bytes);
      }),
      runs(60),
    );
  });

  it("are refused or usable when they are garbage", () => {
    const small = fc.oneof(
      fc.constantFrom(0, 1, 2, 4, 8, 9, 10, 13, 16, 18, 26, 34, 42, 50, 58, 128, 255),
      fc.nat({ max: 40 }),
    );
    fc.assert(
      fc.property(fc.array(small, { maxLength: 60 }), (bytes) => expectSafe(signal, Uint8Array.from(bytes))),
      runs(100),
    );
  });

  it("are refused by admit when the reference refuses them", () => {
    fc.assert(
      fc.property(request(signal), fc.nat(), fc.nat({ max: 255 }), (tree, at, byte) => {
        const bytes = Buffer.from(referenceEncode(signal, tree));
        if (bytes.length > 0) bytes[at % bytes.length] = byte;
        let refused = false;
        try {
          referenceDecode(signal, bytes);
        } catch {
          refused = true;
        }
        if (refused) expect(admitted(signal, bytes)).toBe(undefined);
      }),
      runs(30),
    );
  });
});

describe("Batch.admit", () => {
  const varint = (value: bigint, size = 0): number[] => {
    const bytes: number[] = [];
    for (; value > 127n || bytes.length + 1 < size; value >>= 7n) bytes.push(Number(value & 127n) | 128);
    return [...bytes, Number(value)];
  };
  const field = (number: number, ...body: number[]) => [number * 8 + 2, ...varint(BigInt(body.length)), ...body];
  const inRecord = (...body: number[]) => field(1, ...field(2, ...field(2, ...body)));

  const REFUSED: [string, number[]][] = [
    ["field number 0", [0x00, 0x00]],
    ["field number 0 with a length", inRecord(0x02, 0x00)],
    ["a group", inRecord(0xfb, 0x01, 0xfc, 0x01)],
    ["the end of a group", [0x0c]],
    ["wire type 6", inRecord(0xa6, 0x01)],
    ["wire type 7 of a known field", inRecord(0x0f)],
    ["a varint where bytes belong", inRecord(3 * 8, 1)],
    ["bytes where a varint belongs", inRecord(...field(2, 1))],
    ["a fixed64 where a fixed32 belongs", inRecord(8 * 8 + 1, 1, 2, 3, 4, 5, 6, 7, 8)],
    ["a varint of eleven bytes", inRecord(2 * 8, ...varint(1n, 11))],
    ["an unknown varint of eleven bytes", inRecord(0xf8, 0x01, ...varint(1n, 11))],
    ["a tag of six bytes", [...varint(10n, 6), 0]],
    ["a tag over 32 bits", [...varint(((2n ** 32n) << 3n) | 2n), 0]],
    ["a length past the end", [10, 5, 0]],
    ["a length past the end of the message around it", field(1, ...[18, 3, 26, 5])],
    ["a length of 2^31", [10, ...varint(2n ** 31n), 0]],
    ["a length of 2^32 - 1", [10, ...varint(2n ** 32n - 1n), 0]],
    ["a length of 2^32", [10, ...varint(2n ** 32n), 0]],
    ["a length of 2^63", [10, ...varint(2n ** 63n), 0]],
    ["a length of 2^64 - 1", [10, ...varint(2n ** 64n - 1n), 0]],
    ["an unknown length of 2^32 - 1", [0xfa, 0x01, ...varint(2n ** 32n - 1n)]],
    ["a fixed64 cut short", inRecord(9, 1, 2, 3)],
    ["an unknown fixed32 cut short", inRecord(0xfd, 0x01, 1, 2)],
    ["nothing behind a tag", [10]],
    ["nothing behind an unknown tag", [0xfa, 0x01]],
    ["half a tag", [0x8a]],
  ];

  it.each(REFUSED)("refuses %s", (_, bytes) => {
    expect(admitted("logs", Uint8Array.from(bytes))).toBe(undefined);
  });

  it("refuses packed numbers cut short", () => {
    const point = (kind: number, ...body: number[]) =>
      field(1, ...field(2, ...field(2, ...field(kind, ...field(1, ...body)))));
    expect(admitted("metrics", Uint8Array.from(point(9, ...field(6, 1, 2, 3))))).toBe(undefined);
    expect(admitted("metrics", Uint8Array.from(point(10, ...field(8, ...field(2, 1, 128)))))).toBe(undefined);
    expect(admitted("metrics", Uint8Array.from(point(10, ...field(8, ...field(2, 1, 2)))))?.count).toBe(1);
  });

  it("says where the trouble is", () => {
    const bytes = Uint8Array.from(field(1, ...field(2, ...field(2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x0f))));
    expect(() => Batch.admit("logs", bytes)).toThrow("wrong wire type 7 for field 1 of LogRecord at byte 15");
  });

  it.each([
    ["lists", [5, 1]],
    ["maps", [6, 1, 2]],
  ])("refuses ten thousand levels of %s", (_, step) => {
    const levels = new Array(10_000).fill(step).flat();
    expect(admitted("logs", Uint8Array.from(nested([1, 2, 2, 5, ...levels])))).toBe(undefined);
    expect(() => Batch.admit("logs", Uint8Array.from(nested([1, 2, 2, 5, ...levels])))).toThrow(/more than 200 deep/);
  });

  it("takes forty levels and everything can be done to them", () => {
    let body = field(1, 120);
    for (let i = 0; i < 40; i++) body = field(5, ...field(1, ...body));
    const batch = admitted("logs", Uint8Array.from(inRecord(...field(5, ...body))))!;
    expect(batch.count).toBe(1);
    expectUsable(batch);
  });

  it("takes unknown fields of any number, the largest varints and empty messages", () => {
    const extra = [...varint((2n ** 29n - 1n) << 3n), ...varint(2n ** 64n - 1n)];
    const batch = admitted("logs", Uint8Array.from([...extra, ...inRecord(...extra), ...field(1)]))!;
    expect(batch.count).toBe(1);
    expectUsable(batch);
    expect(Batch.admit("traces", new Uint8Array(0)).count).toBe(0);
  });

  /** Messages one in the other, by field number from the outermost; built from the inside, backwards. */
  function nested(numbers: number[]): number[] {
    const bytes: number[] = [];
    for (const number of numbers.toReversed()) {
      bytes.push(...varint(BigInt(bytes.length)).toReversed(), number * 8 + 2);
    }
    return bytes.reverse();
  }
});
