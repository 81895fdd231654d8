import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WireWriter } from "../../../../src/runtime/otlp/bytes/writer.js";
import { runs } from "../../../support/runs.js";

/** A length as a varint, and the text. */
function expected(text: string): Buffer {
  const utf8 = Buffer.from(text);
  const length = utf8.length < 128 ? [utf8.length] : [(utf8.length & 127) | 128, utf8.length >> 7];
  return Buffer.concat([Buffer.from(utf8.length < 16384 ? length : threeBytes(utf8.length)), utf8]);
}

function threeBytes(size: number): number[] {
  return [(size & 127) | 128, ((size >> 7) & 127) | 128, size >> 14];
}

describe("a text", () => {
  it("is written as its length and its UTF-8, for all texts and lengths", () => {
    const character = fc.constantFrom("a", "\0", "\x7f", "\x80", "é", "€", "\ufffd", "😀", "\ud83d", "\ude00");
    const lengths = [0, 1, 42, 43, 47, 48, 49, 63, 64, 126, 127, 128, 129, 4095, 4096, 4097, 5461, 5462, 16383, 16384];
    fc.assert(
      fc.property(fc.constantFrom(...lengths), character, fc.nat(200), fc.nat(40), (length, last, before, capacity) => {
        const texts = ["x".repeat(before), last.repeat(length), "a".repeat(length) + last, "end"];
        const writer = new WireWriter(capacity);
        for (const text of texts) writer.text(text);
        expect(Buffer.compare(writer.written(), Buffer.concat(texts.map(expected)))).toBe(0);
      }),
      runs(200),
    );
  });

  it("does not write over what is still to be copied", () => {
    const source = Buffer.alloc(200, "s");
    for (const text of ["a".repeat(100), "é".repeat(100), "€".repeat(100)]) {
      const writer = WireWriter.rewriting(source, 0);
      writer.takeSource(20);
      writer.text(text);
      writer.takeSource(180);
      const result = Buffer.concat([source.subarray(0, 20), expected(text), source.subarray(20)]);
      expect(Buffer.compare(writer.written(), result)).toBe(0);
    }
  });
});

describe("a whole number that a double holds", () => {
  const whole = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constantFrom(0, -1, 2 ** 32, 2 ** 32 - 1, -(2 ** 32)));

  it("is written as the integer of 64 bits that it is", () => {
    fc.assert(
      fc.property(whole, (value) => {
        const [numbers, integers] = [new WireWriter(), new WireWriter()];
        numbers.varintOfNumber(value);
        numbers.fixed64OfNumber(value);
        integers.varint64(BigInt(value));
        integers.fixed64(BigInt(value));
        expect(Buffer.compare(numbers.written(), integers.written())).toBe(0);
      }),
      runs(200),
    );
  });

  it("is short in zigzag on both sides of zero", () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const [zigzag, plain] = [new WireWriter(), new WireWriter()];
        zigzag.zigzag(value);
        plain.varint64(value < 0 ? -2n * BigInt(value) - 1n : 2n * BigInt(value));
        expect(Buffer.compare(zigzag.written(), plain.written())).toBe(0);
      }),
      runs(200),
    );
  });
});
