import fc from "fast-check";
import { expect, test } from "vitest";
import { crc32c } from "../../../src/runtime/codecs/crc32c.js";
import { runs } from "../../support/runs.js";

/** As the polynomial says, a bit at a time. */
function bitByBit(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

test("is what the standard says", () => {
  expect(crc32c(Buffer.from("123456789"))).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
});

test("is the same for bytes at any address and of any length, in one step or two", () => {
  const around = fc.record({
    bytes: fc.uint8Array({ maxLength: 80, size: "max" }),
    offset: fc.nat(9),
    cut: fc.nat(80),
  });
  fc.assert(
    fc.property(around, ({ bytes, offset, cut }) => {
      const moved = new Uint8Array(offset + bytes.length);
      moved.set(bytes, offset);
      const view = moved.subarray(offset);
      const sum = bitByBit(bytes);
      expect(crc32c(view)).toBe(sum);
      expect(crc32c(view.subarray(cut), crc32c(view.subarray(0, cut)))).toBe(sum);
    }),
    runs(300),
  );
});
