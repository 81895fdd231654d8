import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteScan } from "../../../../src/runtime/text/patterns/byte-scan.js";
import { compilePattern } from "../../../../src/runtime/text/patterns/pattern.js";
import { runs } from "../../../support/runs.js";
import { patterns, texts } from "./random-patterns.js";

function scan(sources: readonly string[], bytes: Uint8Array): number {
  return new ByteScan(sources.map(compilePattern)).scan(bytes, 0, bytes.length);
}

describe("a scan of bytes for patterns", () => {
  it("tells which of several may match", () => {
    const found = scan(["\\d{3}-\\d{2}", "(?i)token", "^GET ", "ms$"], Buffer.from("GET /a?TOKEN=12-34 in 5 ms "));
    expect(found).toBe(0b0110);
    expect(scan(["ms$"], Buffer.from("5 ms"))).toBe(1);
    expect(scan(["^GET"], Buffer.from("a GET"))).toBe(0);
  });

  it("takes a character of several bytes for one", () => {
    expect(scan(["é-\\d", "^a.b$", "a.c"], Buffer.from("é-1"))).toBe(0b001);
    expect(scan(["é-\\d", "^a.b$", "a.c"], Buffer.from("a😀b"))).toBe(0b010);
  });

  it("looks at no byte outside the text", () => {
    const scanned = new ByteScan([compilePattern("ab")]);
    const bytes = Buffer.from("xabx");
    expect(scanned.scan(bytes, 2, 4)).toBe(0);
    expect(scanned.scan(bytes, 1, 3)).toBe(1);
  });

  it("says that patterns may match of which it knows nothing, and those that match nothing", () => {
    expect(scan(["\\p{Greek}", "a*", "b"], Buffer.from("x"))).toBe(0b011);
    expect(scan(Array(31).fill("b"), Buffer.from("x"))).toBe(-1);
  });

  it("misses no match in any text", () => {
    fc.assert(
      fc.property(fc.array(patterns(), { minLength: 1, maxLength: 4 }), fc.array(texts()), (sources, list) => {
        const compiled = sources.map(compilePattern);
        const scanned = new ByteScan(compiled);
        for (const text of list) {
          const bytes = Buffer.from(text);
          const found = scanned.scan(bytes, 0, bytes.length);
          for (const [i, pattern] of compiled.entries()) {
            if (pattern.test(text)) expect(found & (1 << i), pattern.source).not.toBe(0);
          }
        }
      }),
      runs(150),
    );
  });

  it("misses no match in bytes that are no text", () => {
    const bytes = fc.array(fc.constantFrom(0x61, 0x62, 0x30, 0x80, 0xa0, 0xc3, 0xe2, 0xed, 0xf0, 0xf8, 0xff));
    fc.assert(
      fc.property(patterns(), bytes, (source, list) => {
        const pattern = compilePattern(source);
        if (pattern.test(Buffer.from(list).toString())) expect(scan([source], Buffer.from(list)), source).toBe(1);
      }),
      runs(400),
    );
  });

  it("gives up its table, and no match, when texts are too unlike", () => {
    const scanned = new ByteScan([compilePattern("a.{12}b.{12}c")]);
    const random = fc.sample(fc.array(fc.constantFrom("a", "b", "d"), { minLength: 3000, maxLength: 3000 }), {
      ...runs(20),
      seed: 1,
    });
    for (const text of random) {
      const bytes = Buffer.from(`${text.join("")}a${"d".repeat(12)}b${"d".repeat(12)}c`);
      expect(scanned.scan(bytes, 0, bytes.length)).toBe(1);
    }
  });
});
