/**
 * Random choices that are the same for the same seed.
 *
 * @typedef {ReturnType<typeof randomFrom>} Random
 * @param {number} seed
 */
export function randomFrom(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const int = (/** @type {number} */ from, /** @type {number} */ to) => from + Math.floor(next() * (to - from + 1));
  const pick = (/** @type {readonly any[]} */ list) => list[int(0, list.length - 1)];
  const of = (/** @type {string} */ characters, /** @type {number} */ length) => {
    let text = "";
    for (let i = 0; i < length; i++) text += characters[int(0, characters.length - 1)];
    return text;
  };
  return {
    next,
    int,
    pick,
    of,
    chance: (/** @type {number} */ p) => next() < p,
    digits: (/** @type {number} */ length) => of("0123456789", length),
    hex: (/** @type {number} */ length) => of("0123456789abcdef", length),
    alnum: (/** @type {number} */ length) => of(ALNUM, length),
    base64: (/** @type {number} */ bytes) =>
      Buffer.from(Array.from({ length: bytes }, () => int(0, 255))).toString("base64"),
    base64url: (/** @type {number} */ bytes) =>
      Buffer.from(Array.from({ length: bytes }, () => int(0, 255))).toString("base64url"),
    /** `#` becomes a digit, `N` one from 2 to 9. */
    fill: (/** @type {string} */ pattern) => pattern.replace(/[#N]/g, (c) => String(c === "N" ? int(2, 9) : int(0, 9))),
  };
}

const ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
