import fc from "fast-check";
import { expect, it } from "vitest";
import { validUtf8 } from "../../../../src/runtime/otlp/bytes/door.js";
import { atOnce } from "../../../../src/runtime/work/door.js";
import { runs } from "../../../support/runs.js";

it("replaces what is no UTF-8 as Node.js does, wherever a piece of the bytes ends", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), fc.integer({ min: -6, max: 6 }), (bytes, shift) => {
      const all = Buffer.concat([Buffer.alloc(1024 * 1024 + shift - 10, "é"), bytes, Buffer.from("é€😀".repeat(3))]);
      expect(atOnce(validUtf8(all)).equals(Buffer.from(all.toString()))).toBe(true);
    }),
    runs(50),
  );
});
