import fc from "fast-check";

const SURROGATES = { from: 0xd800, to: 0xdfff };
const SURROGATE_COUNT = SURROGATES.to - SURROGATES.from + 1;

/**
 * Any character of Unicode, as a `unit` of `fc.string`. fast-check's own `binary` unit is the same, but makes a map of all
 * 1.1 million characters: a second, and 100 MB that every collection of garbage walks through.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: 0x10ffff - SURROGATE_COUNT }).map(
  (n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATE_COUNT),
  (text) => {
    const code = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (code === undefined || text !== String.fromCodePoint(code)) throw new Error("this is not one character");
    return code < SURROGATES.from ? code : code - SURROGATE_COUNT;
  },
);
