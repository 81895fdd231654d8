import { isIPv6 } from "node:net";
import { privateEvidence } from "./numbers/private-address.js";
import { COLON, DOT, SLASH } from "./text/ascii.js";
import { CHARACTER_BITS, DIGIT, HEX, hasAny, isAt, latin1, WORD } from "./text/characters.js";
import { IPV6 } from "./text/detectors.js";
import { FORM, PLACE, UNIQUE_FORM } from "./text/evidence.js";
import { beginsMask, endsMask, matches, NOT_FOUND } from "./text/matches.js";
import { TEXT_COST, work } from "./text/work.js";

const MAX_LENGTH = 45;

/** Finds an IPv6 address around the colon at `p`. Loopback, the unspecified address and networks are ignored. */
export function findIpv6(b: Uint8Array, p: number): number {
  const { end, lastEnd } = matches;
  if (p + 1 >= end || !isAddressByte(b[p + 1]!)) return NOT_FOUND;
  let start = p;
  while (start > lastEnd && start > p - 5 && (CHARACTER_BITS[b[start - 1]!]! & HEX) !== 0) start--;
  if ((start > matches.floor && isAttached(b[start - 1]!)) || endsMask(b, start)) return NOT_FOUND; // each run is checked once
  let stop = p;
  let colons = 0;
  let isShort = false;
  const limit = Math.min(end, p + MAX_LENGTH);
  while (stop < limit && isAddressByte(b[stop]!)) {
    if (b[stop] === COLON) {
      colons++;
      if (b[stop + 1] === COLON) isShort = true;
    }
    stop++;
  }
  work.spent += stop - p;
  if (!isShort && colons < 6) return NOT_FOUND;
  while (stop > start && (b[stop - 1] === DOT || (b[stop - 1] === COLON && b[stop - 2] !== COLON))) stop--;
  if (isAt(b, stop, end, WORD) || beginsMask(b, stop) || !isAddress(b, start, stop)) return NOT_FOUND;
  const isNetwork = b[stop - 1] === COLON && b[stop] === SLASH && isAt(b, stop + 1, end, DIGIT);
  if (isNetwork) return NOT_FOUND;
  const evidence = isPrivate(b, start, stop) ? privateEvidence(b, start, stop) : 0;
  return matches.propose(IPV6, start, stop, evidence === 0 ? UNIQUE_FORM : FORM | PLACE | evidence);
}

/** Unique local (fc00::/7) and link-local (fe80::/10) addresses, and IPv4 addresses of private networks in IPv6. */
const PRIVATE_ADDRESS =
  /^(?:f[cd][\da-f]{2}:|fe[89ab][\da-f]:|::ffff:(?:10\.|192\.168\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.))/i;

function isPrivate(b: Uint8Array, start: number, stop: number): boolean {
  const c = b[start]! | 32;
  if (c !== 102 && b[start] !== COLON) return false;
  work.spent += TEXT_COST;
  return PRIVATE_ADDRESS.test(latin1(b, start, stop));
}

function isAddress(b: Uint8Array, start: number, stop: number): boolean {
  if (stop - start < 5 || !hasAny(b, start, stop, DIGIT)) return false;
  work.spent += 3 * TEXT_COST;
  const text = latin1(b, start, stop);
  return isIPv6(text) && !/^(?:[\da-f]{2}:){7}[\da-f]{2}$/i.test(text) && !/^[0:]*1?$/.test(text);
}

function isAddressByte(c: number): boolean {
  return c === COLON || c === DOT || (CHARACTER_BITS[c]! & HEX) !== 0;
}

function isAttached(c: number): boolean {
  return c === COLON || c === DOT || (CHARACTER_BITS[c]! & WORD) !== 0;
}
