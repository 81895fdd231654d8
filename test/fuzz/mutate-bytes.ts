import type { Random } from "./random.js";

/** Makes another input of one; `other` is a second that parts may be taken from. */
export type Mutator = (input: Buffer, random: Random, other: Buffer) => Buffer;

const INTERESTING = [0, 1, 2, 7, 8, 10, 16, 18, 26, 32, 34, 42, 63, 64, 100, 127, 128, 129, 200, 254, 255];

/** Changes that know nothing of what the bytes mean. */
export const mutateBytes: Mutator = (input, random, other) => {
  const at = random.below(input.length + 1);
  const end = Math.min(input.length, at + 1 + random.below(random.oneIn(4) ? 64 : 4));
  switch (random.below(8)) {
    case 0:
      return replaced(input, at, end, Buffer.of(random.pick(INTERESTING)));
    case 1:
      return replaced(input, at, at, Buffer.of(random.below(256)));
    case 2:
      return replaced(input, at, end, Buffer.alloc(0));
    case 3:
      return replaced(input, at, at, input.subarray(at, end));
    case 4:
      return input.subarray(0, at);
    case 5: {
      const from = random.below(other.length + 1);
      return replaced(input, at, end, other.subarray(from, from + random.below(64)));
    }
    case 6:
      return replaced(input, at, at, Buffer.alloc(random.below(200), random.pick(INTERESTING)));
    default: {
      const copy = Buffer.from(input);
      if (at < copy.length) copy[at]! ^= 1 << random.below(8);
      return copy;
    }
  }
};

export function replaced(input: Buffer, from: number, to: number, by: Uint8Array): Buffer {
  return Buffer.concat([input.subarray(0, from), by, input.subarray(to)]);
}
