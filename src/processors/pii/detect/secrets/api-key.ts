import { DASH, DOT, UPPER_A, UPPER_K, UPPER_S } from "../text/ascii.js";
import { ALNUM, BASE64URL, DIGIT, HEX, hasTextAt, isBefore, LOWER, latin1, TOKEN, UPPER } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { hasNext, runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";

/** How keys of well-known issuers begin, and how long and of what the rest is at least. */
const PREFIXES: readonly (readonly [prefix: string, least: number, bits: number])[] = [
  ...["sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"].map((p) => [p, 10, ALNUM] as const),
  ["whsec_", 20, TOKEN],
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((p) => [p, 30, ALNUM] as const),
  ["github_pat_", 22, BASE64URL],
  ...["glpat-", "gldt-", "glrt-"].map((p) => [p, 18, BASE64URL] as const),
  ...["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xapp-"].map((p) => [p, 10, BASE64URL] as const),
  ["npm_", 30, ALNUM],
  ["pypi-", 16, BASE64URL],
  ...["dop_v1_", "doo_v1_", "dor_v1_"].map((p) => [p, 40, HEX] as const),
  ...["shpat_", "shpss_", "shpca_", "shppa_"].map((p) => [p, 32, HEX] as const),
  ["hf_", 30, ALNUM],
  ["sk-", 20, BASE64URL],
  ...["sq0atp-", "sq0csp-"].map((p) => [p, 22, BASE64URL] as const),
  ["key-", 32, HEX],
  ["lin_api_", 32, ALNUM],
  ["sntrys_", 32, TOKEN],
  ["glsa_", 30, BASE64URL],
  ["SG.", 40, TOKEN],
  ["ya29.", 20, BASE64URL],
  ["AIza", 35, BASE64URL],
];

/** By the last two bytes of the prefix. */
const PREFIXES_BY_ENDING: readonly (readonly (readonly [string, number, number])[] | undefined)[] = prefixesByEnding();

/** By the last two bytes: does any prefix end like that? Small enough to stay near, unlike the lists. */
const ENDS_PREFIX = Uint8Array.from(PREFIXES_BY_ENDING, (list) => (list === undefined ? 0 : 1));

export function endsPrefix(b: Uint8Array, p: number): boolean {
  return ENDS_PREFIX[(b[p - 1]! << 8) | b[p]!] !== 0;
}

/** The bytes with which prefixes end: where the scan stops to ask. */
export const KEY_ENDINGS: readonly number[] = [
  ...new Set(PREFIXES.map(([prefix]) => prefix.charCodeAt(prefix.length - 1))),
];

function prefixesByEnding() {
  const lists: [string, number, number][][] = new Array(65536).fill(undefined);
  for (const [prefix, least, bits] of PREFIXES) {
    const ending = (prefix.charCodeAt(prefix.length - 2) << 8) | prefix.charCodeAt(prefix.length - 1);
    lists[ending] = [...(lists[ending] ?? []), [prefix, least, bits]];
  }
  return lists;
}

/** A key whose prefix ends with the byte at `p`. */
export function findApiKey(b: Uint8Array, p: number): number {
  const { floor, lastEnd, end } = matches;
  if (p === floor) return NOT_FOUND;
  const candidates = PREFIXES_BY_ENDING[(b[p - 1]! << 8) | b[p]!];
  if (candidates === undefined) return NOT_FOUND;
  for (const [prefix, least, bits] of candidates) {
    work.spent += prefix.length;
    const start = p + 1 - prefix.length;
    if (start < lastEnd || !hasTextAt(b, start, end, prefix) || isBefore(b, start, floor, ALNUM)) continue;
    const stop = runs.end(b, p + 1, bits);
    if (stop - p <= least || !looksRandom(b, p + 1, stop, prefix)) continue;
    return matches.add(API_KEY, start, trimDots(b, stop));
  }
  return NOT_FOUND;
}

/** Digits, or letters in both cases where the prefix is nobody's word. */
function looksRandom(b: Uint8Array, start: number, stop: number, prefix: string): boolean {
  if (hasNext(b, start, stop, DIGIT)) return true;
  return prefix !== "sk-" && prefix !== "key-" && hasNext(b, start, stop, UPPER) && hasNext(b, start, stop, LOWER);
}

/** An access key of AWS whose `KIA` or `SIA` begins before the I at `p`. */
export function findAwsKey(b: Uint8Array, p: number): number {
  const { floor, lastEnd } = matches;
  const start = p - 2;
  if (start < lastEnd || b[start] !== UPPER_A || (b[p - 1] !== UPPER_K && b[p - 1] !== UPPER_S) || b[p + 1] !== UPPER_A)
    return NOT_FOUND;
  if (isBefore(b, start, floor, ALNUM)) return NOT_FOUND;
  const stop = runs.end(b, start, UPPER | DIGIT);
  return stop - start === 20 ? matches.add(API_KEY, start, stop) : NOT_FOUND;
}

/** A private key in PEM whose first dash is at `p`; without an end it goes to the end of the text. */
export function findPrivateKey(b: Uint8Array, p: number): number {
  const { end } = matches;
  if (!hasTextAt(b, p, end, "-----BEGIN ")) return NOT_FOUND;
  work.spent += TEXT_COST;
  const head = latin1(b, p + 11, Math.min(end, p + 50));
  if (!/^[A-Z ]*PRIVATE KEY-----/.test(head)) return NOT_FOUND;
  return matches.add(API_KEY, p, privateKeyEnd(b, p, end));
}

/** Reads up to the foot and no further, since there may be another key behind it. */
function privateKeyEnd(b: Uint8Array, start: number, end: number): number {
  const text = b.subarray(start, end);
  for (let at = text.indexOf(DASH); at >= 0; at = text.indexOf(DASH, at + 1)) {
    if (!hasTextAt(text, at, text.length, "-----END ")) continue;
    work.spent += TEXT_COST;
    const foot = /^[A-Z ]{0,30}KEY-----/.exec(latin1(text, at + 9, Math.min(text.length, at + 9 + 38)));
    if (foot !== null) return start + at + 9 + foot[0].length;
  }
  return end;
}

function trimDots(b: Uint8Array, stop: number): number {
  while (b[stop - 1] === DOT) stop--;
  return stop;
}
