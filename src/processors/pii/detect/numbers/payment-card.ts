import { PAYMENT_CARD } from "../text/detectors.js";
import { matches } from "../text/matches.js";
import { groups } from "./digit-groups.js";

/** First digits, from and to, how many these are, and lengths of the issuers' numbers. */
const RANGES: readonly (readonly [from: number, to: number, digits: number, lengths: readonly number[]])[] = [
  [4, 4, 1, [13, 16, 19]], // Visa
  [51, 55, 2, [16]], // Mastercard
  [2221, 2720, 4, [16]],
  [34, 34, 2, [15]], // American Express
  [37, 37, 2, [15]],
  [6011, 6011, 4, [16, 19]], // Discover
  [644, 649, 3, [16, 19]],
  [65, 65, 2, [16, 19]],
  [300, 305, 3, [14, 16]], // Diners Club
  [3095, 3095, 4, [14, 16]],
  [36, 36, 2, [14, 16]],
  [38, 39, 2, [14, 16]],
  [3528, 3589, 4, [16]], // JCB
  [62, 62, 2, [16, 17, 18, 19]], // UnionPay
  [2200, 2204, 4, [16]], // Mir
  [5018, 5018, 4, [16, 18, 19]], // Maestro
  [5020, 5020, 4, [16, 18, 19]],
  [5038, 5038, 4, [16, 18, 19]],
  [5893, 5893, 4, [16, 18, 19]],
  [6304, 6304, 4, [16, 18, 19]],
  [6759, 6763, 4, [16, 18, 19]],
];

/** The same by the first four digits; no two overlap. */
const ISSUERS = RANGES.map(([from, to, digits, lengths]) => {
  const scale = 10 ** (4 - digits);
  return { lowest: from * scale, highest: (to + 1) * scale - 1, lengths };
});

/** How the digits are grouped on cards. */
const GROUPINGS: readonly (readonly number[])[] = [
  [4, 4, 4, 4, 3],
  [4, 4, 4, 4],
  [4, 6, 5],
  [4, 6, 4],
];

/** A card number that begins with group `i`, which is not tied to what is before it: the group behind it, or 0. */
export function findPaymentCard(b: Uint8Array, i: number): number {
  const size = groups.size(i);
  if (size !== 4 && (size < 13 || size > 19)) return 0;
  const first = b[groups.starts[i]!]! - 48;
  if (first < 2 || first > 6) return 0;
  if (size !== 4) return addIfCard(b, i, i + 1);
  for (const sizes of GROUPINGS) {
    if (!groups.haveSizes(i, sizes, " -")) continue;
    const next = addIfCard(b, i, i + sizes.length);
    if (next !== 0) return next;
  }
  return 0;
}

function addIfCard(b: Uint8Array, from: number, to: number): number {
  if (!groups.isDetachedAfter(to) || !passesLuhn(b, from, to) || !isIssued(b, from, to)) return 0;
  matches.add(PAYMENT_CARD, groups.starts[from]!, groups.ends[to - 1]!);
  return to;
}

function isIssued(b: Uint8Array, from: number, to: number): boolean {
  const start = groups.starts[from]!; // its group has four digits or more
  const first4 = (b[start]! - 48) * 1000 + (b[start + 1]! - 48) * 100 + (b[start + 2]! - 48) * 10 + b[start + 3]! - 48;
  const length = groups.total(from, to);
  for (const { lowest, highest, lengths } of ISSUERS)
    if (first4 >= lowest && first4 <= highest) return lengths.includes(length);
  return false;
}

/** From the last digit on every second one is doubled, and counts as the sum of its digits then. */
function passesLuhn(b: Uint8Array, from: number, to: number): boolean {
  let sum = 0;
  let isDoubled = false;
  for (let i = to - 1; i >= from; i--) {
    for (let p = groups.ends[i]! - 1; p >= groups.starts[i]!; p--) {
      const digit = b[p]! - 48;
      sum += isDoubled ? DOUBLED[digit]! : digit;
      isDoubled = !isDoubled;
    }
  }
  return sum % 10 === 0;
}

const DOUBLED = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9];
