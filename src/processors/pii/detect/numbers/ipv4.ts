import { COLON, DASH, DOT, SLASH, ZERO } from "../text/ascii.js";
import { isAt, isBefore, LETTER, latin1, UPPER } from "../text/characters.js";
import { HINT_VERSION, IPV4 } from "../text/detectors.js";
import { endsMask, matches } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { groups, groupValue } from "./digit-groups.js";

const VERSION_WORD =
  /(?:version|(?<![a-z])ver|build|release|(?<![a-z])rev|firmware|(?<![a-z])driver|assembly)['"]?[ =:]{0,3}['"]?v?$/i;

/** The last letters of these words, and what may be between a word and the number. */
const VERSION_ENDS = byteTable("nrdevyNRDEVY");
const VERSION_GAP = byteTable("'\" =:");

/**
 * An IPv4 address that begins with group `i`: the group behind it, or 0. Addresses that name no host (loopback, the
 * unspecified one, those that end in zeros as versions do) are left alone.
 */
export function findIpv4(b: Uint8Array, i: number): number {
  if (i + 4 > groups.count || groups.separators[i] !== DOT || groups.separators[i + 1] !== DOT) return 0;
  if (groups.separators[i + 2] !== DOT || (matches.hints & HINT_VERSION) !== 0) return 0;
  for (let k = i; k < i + 4; k++) if (!isOctet(b, k)) return 0;
  if (!namesHost(b, i) || !isBounded(b, i)) return 0;
  matches.add(IPV4, groups.starts[i]!, groups.ends[i + 3]!);
  return i + 4;
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

function isBounded(b: Uint8Array, i: number): boolean {
  const { floor, end } = matches;
  const start = groups.starts[i]!;
  const stop = groups.ends[i + 3]!;
  if (i > 0 && groups.separators[i - 1] === DOT) return false;
  if ((start > floor && b[start - 1] === DOT) || endsMask(b, start)) return false;
  if (start > floor && b[start - 1] === SLASH && isProduct(b, start - 1) && b[stop] !== COLON) return false;
  if (groups.separators[i + 3] === DOT) return false;
  if (stop < end && b[stop] === DASH && isAt(b, stop + 1, end, LETTER)) return false; // 1.2.3.4-beta
  return !isVersion(b, start);
}

/** Is the word before `p` a product's, as in Chrome/1.2.3.4? Hosts have small letters. */
function isProduct(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.floor, p - 32);
  let start = p;
  while (start > floor && isBefore(b, start, floor, LETTER)) start--;
  return start < p && isAt(b, start, p, UPPER);
}

/** Does a word before `p` say that a version follows? */
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
