import { expect, it } from "vitest";
import { frame, isFrameIntact, seal, unframe } from "../../../../../src/runtime/queue/store/format/layout.js";

const made = () => Buffer.from(frame("p", 7, 0, { a: 1 }, [Buffer.from("body")]));

it("gives a value back before and after it is sealed, and sealing it again changes nothing", () => {
  const value = made();
  expect(unframe("p", 7, 0, value)).toMatchObject({ head: { a: 1 } });
  seal(value);
  const sealed = Buffer.from(value);
  expect(unframe("p", 7, 0, sealed)?.body.toString()).toBe("body");
  expect(Buffer.from(seal(value)).equals(sealed)).toBe(true);
});

it("finds every flipped bit of a sealed value, also where one makes it look as if it were in memory only", () => {
  const sealed = Buffer.from(seal(made()));
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const damaged = Buffer.from(sealed);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    expect(isFrameIntact(damaged)).toBe(false);
  }
  const pretended = Buffer.from(sealed);
  pretended[5] = 255;
  expect(isFrameIntact(pretended)).toBe(false);
  pretended.writeUInt32LE(0, 0);
  expect(isFrameIntact(pretended)).toBe(false);
});
