import { COLON, DASH, DOT, SLASH, ZERO } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt, isBefore, LETTER, latin1, SEPARATOR, UPPER, WORD } from "../text/characters.js";
import { HINT_VERSION, IPV4 } from "../text/detectors.js";
import { endsMask, matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { groups, groupValue } from "./digit-groups.js";

const VERSION_WORD =
  /(?:version|(?<![a-z])ver|build|release|(?<![a-z])rev|firmware|(?<![a-z])driver|assembly)['"]?[ =:]{0,3}['"]?v?$/i;

/**
 * The last letters of the words that announce a version, and the characters allowed between such a word and the number.
 */
const VERSION_ENDS = byteTable("nrdevyNRDEVY");
const VERSION_GAP = byteTable("'\" =:");

/**
 * Finds an IPv4 address that begins with group `i`, and returns the group after it, or 0. Addresses that name no host
 * are ignored: loopback, the unspecified address, and those that end in zeros as versions do.
 */
export function findIpv4(b: Uint8Array, i: number): number {
  if (i + 4 > groups.count || groups.separators[i] !== DOT || groups.separators[i + 1] !== DOT) return 0;
  if (groups.separators[i + 2] !== DOT || (matches.hints & HINT_VERSION) !== 0) return 0;
  for (let k = i; k < i + 4; k++) if (!isOctet(b, k)) return 0;
  if (!namesHost(b, i) || groups.separators[i + 3] === DOT || (i > 0 && groups.separators[i - 1] === DOT)) return 0;
  if (!isBounded(b, groups.starts[i]!, groups.ends[i + 3]!)) return 0;
  matches.add(IPV4, groups.starts[i]!, groups.ends[i + 3]!);
  return i + 4;
}

/**
 * Finds an address at `p` that no other numbers follow, in a single read. It finds what `findIpv4` would find in the
 * four groups. A number must begin at `p`.
 */
export function findPlainIpv4(b: Uint8Array, p: number): number {
  const { end } = matches;
  const start = p;
  let sum = 0;
  let first = 0;
  for (let octet = 0; octet < 4; octet++) {
    if (octet > 0 && (p >= end || b[p++] !== DOT)) return NOT_FOUND;
    const from = p;
    let value = 0;
    for (; p < end && p < from + 4; p++) {
      const digit = b[p]! - 48;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    if (p === from || value > 255 || p - from > 3 || (b[from] === ZERO && p > from + 1)) return NOT_FOUND;
    if (octet === 0) first = value;
    sum += value;
  }
  work.spent += p - start;
  if (!isLastGroup(b, p, end) || first === 127 || first === 0 || sum === first || sum === 1020) return NOT_FOUND;
  if ((matches.hints & HINT_VERSION) !== 0 || !isBounded(b, start, p)) return NOT_FOUND;
  return matches.add(IPV4, start, p);
}

/** Whether neither a word nor more digits after `p` would be read as part of the number. */
function isLastGroup(b: Uint8Array, p: number, end: number): boolean {
  for (let q = p; q < end && q <= p + 3; q++) {
    const bits = CHARACTER_BITS[b[q]!]!;
    if ((bits & (q === p ? DIGIT | WORD : DIGIT)) !== 0) return false;
    if ((bits & SEPARATOR) === 0) return true;
  }
  return true;
}

function isOctet(b: Uint8Array, i: number): boolean {
  const size = groups.size(i);
  return size <= 3 && (size === 1 || b[groups.starts[i]!] !== ZERO) && groupValue(b, i) < 256;
}

function namesHost(b: Uint8Array, i: number): boolean {
  const first = groupValue(b, i);
  const rest = groupValue(b, i + 1) + groupValue(b, i + 2) + groupValue(b, i + 3);
  return first !== 127 && first !== 0 && rest !== 0 && first + rest !== 1020;
}

/** Whether nothing before or after the address [start, stop) belongs to it. */
function isBounded(b: Uint8Array, start: number, stop: number): boolean {
  const { floor, end } = matches;
  if ((start > floor && b[start - 1] === DOT) || endsMask(b, start)) return false;
  if (start > floor && b[start - 1] === SLASH && isProduct(b, start - 1) && b[stop] !== COLON) return false;
  if (stop < end && b[stop] === DASH && isAt(b, stop + 1, end, LETTER)) return false; // 1.2.3.4-beta
  return !isVersion(b, start);
}

/** Whether the word before `p` is a product, as in Chrome/1.2.3.4. Host names are written in lower case. */
function isProduct(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.floor, p - 32);
  let start = p;
  while (start > floor && isBefore(b, start, floor, LETTER)) start--;
  return start < p && isAt(b, start, p, UPPER);
}

/** Whether a word before `p` says that a version follows. */
function isVersion(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.floor, p - 17);
  let last = p - 1;
  while (last >= floor && VERSION_GAP[b[last]!] === 1) last--;
  return last >= floor && VERSION_ENDS[b[last]!] === 1 && isVersionWord(b, floor, p);
}

function isVersionWord(b: Uint8Array, floor: number, p: number): boolean {
  work.spent += TEXT_COST;
  return VERSION_WORD.test(latin1(b, floor, p));
}

function byteTable(characters: string): Uint8Array {
  const table = new Uint8Array(256);
  for (const c of characters) table[c.charCodeAt(0)] = 1;
  return table;
}
