import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FNV64_START, fnv64 } from "../../../src/runtime/codecs/hashes.js";

describe("fnv64", () => {
  it("is the product with the prime for every byte, from any state", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.uint8Array({ maxLength: 40 }), (state, bytes) => {
        let expected = state;
        for (const byte of bytes) expected = BigInt.asUintN(64, (expected ^ BigInt(byte)) * 0x100000001b3n);
        expect(fnv64(state, bytes)).toBe(expected);
      }),
    );
  });

  it("gives the published hash of a text", () => {
    expect(fnv64(FNV64_START, Buffer.from("foobar"))).toBe(0x85944171f73967e8n);
  });
});
