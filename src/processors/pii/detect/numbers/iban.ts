import { BLANK, DASH } from "../text/ascii.js";
import { ALNUM, CHARACTER_BITS, isAt, isBefore, isInWord, LETTER, WORD } from "../text/characters.js";
import { IBAN } from "../text/detectors.js";
import { CHECKSUM, UNIQUE_FORM } from "../text/evidence.js";
import { endsMask, matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** Length of the IBANs of each country, also of those that use them without being in the registry. */
const LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "AD24 AE23 AL28 AO25 AT20 AX18 AZ28 BA20 BE16 BF28 BG22 BH22 BI27 BJ28 BL27 BR29 BY28 CF27 CG27 CH21 CI28 CM27 CR22 CV25 " +
    "CY28 CZ24 DE22 DJ27 DK18 DO28 DZ26 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GA27 GB22 GE22 GF27 GI23 GL18 GP27 GQ27 GR27 GT28 " +
    "GW25 HN28 HR21 HU28 IE22 IL23 IQ23 IR26 IS26 IT27 JO30 KM27 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MA28 MC27 MD24 " +
    "ME22 MF27 MG27 MK19 ML28 MN20 MQ27 MR27 MT31 MU30 MZ25 NC27 NE28 NI28 NL18 NO15 OM23 PF27 PK24 PL28 PM27 PS29 PT25 QA29 " +
    "RE27 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SN28 SO23 ST25 SV28 TD27 TF27 TG28 TL23 TN24 TR26 UA29 VA22 VG24 " +
    "WF27 XK20 YE30 YT27"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** Finds an IBAN whose first check digit is at `p`, written without spaces or in groups of four. */
export function findIban(b: Uint8Array, p: number): number {
  const { floor, lastEnd, end } = matches;
  const start = p - 2;
  if (start < lastEnd || !isBefore(b, p, floor, LETTER) || !isBefore(b, p - 1, floor, LETTER)) return NOT_FOUND;
  if (isInWord(b, start, floor) || endsMask(b, start)) return NOT_FOUND;
  work.spent += TEXT_COST;
  const length = LENGTHS[String.fromCharCode(b[start]! & ~32, b[p - 1]! & ~32)];
  if (length === undefined) return NOT_FOUND;
  const stop = ibanEnd(b, start, length);
  if (stop < 0 || isAt(b, stop, end, WORD) || !passesChecksum(b, start, stop)) return NOT_FOUND;
  return matches.propose(IBAN, start, stop, UNIQUE_FORM | CHECKSUM);
}

/**
 * Returns the position after `length` letters and digits, with an optional space or dash between groups of four; -1 if
 * there are fewer.
 */
function ibanEnd(b: Uint8Array, p: number, length: number): number {
  const { end } = matches;
  for (let n = 0; n < length; p++) {
    if (p >= end) return -1;
    if ((CHARACTER_BITS[b[p]!]! & ALNUM) !== 0) n++;
    else if (n % 4 !== 0 || (b[p] !== BLANK && b[p] !== DASH) || b[p - 1] === b[p]) return -1;
  }
  return p;
}

/** The number, with its first four characters moved to the end, must leave remainder 1 when divided by 97. */
function passesChecksum(b: Uint8Array, start: number, stop: number): boolean {
  let rest = 0;
  let n = 0;
  let headEnd = start;
  while (n < 4) if ((CHARACTER_BITS[b[headEnd++]!]! & ALNUM) !== 0) n++;
  for (let p = headEnd; p < stop; p++) rest = nextRemainder(rest, b[p]!);
  for (let p = start; p < headEnd; p++) rest = nextRemainder(rest, b[p]!);
  return rest === 1;
}

function nextRemainder(rest: number, c: number): number {
  const bits = CHARACTER_BITS[c]!;
  if ((bits & LETTER) !== 0) return (rest * 100 + (c & ~32) - 55) % 97;
  return (bits & ALNUM) !== 0 ? (rest * 10 + c - 48) % 97 : rest;
}
