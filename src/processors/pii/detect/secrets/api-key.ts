import { DOT, PERCENT, UPPER_A, UPPER_K, UPPER_S } from "../text/ascii.js";
import {
  ALNUM,
  BASE64,
  BASE64URL,
  DIGIT,
  HEX,
  hasTextAt,
  isAt,
  isBefore,
  isInWord,
  LOWER,
  latin1,
  runEnd,
  UPPER,
} from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { hasNext, runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";
import { KEY_PREFIXES, type KeyPrefix, UUID_LENGTH } from "./vendor-keys.js";

/** The prefixes by their last three bytes (see `endingOf`), the longest first. */
const PREFIXES_BY_ENDING: ReadonlyMap<number, readonly ListedPrefix[]> = prefixesByEnding();

/**
 * Whether any prefix ends like that: a bit for each kind of byte before the last three. Unlike the lists, this table is
 * small enough to stay in the CPU cache.
 */
const ENDS_PREFIX = new Uint8Array(1 << 16);
for (const [ending, list] of PREFIXES_BY_ENDING)
  for (const { prefix } of list)
    ENDS_PREFIX[ending]! |= prefix.length > 3 ? 1 << kindOf(prefix.charCodeAt(prefix.length - 4)) : 255;

function kindOf(c: number): number {
  return (c ^ (c >> 3)) & 7;
}

export function endsPrefix(b: Uint8Array, p: number): boolean {
  return ((ENDS_PREFIX[endingOf(b[p - 2]!, b[p - 1]!, b[p]!)]! >> kindOf(b[p - 3]!)) & 1) !== 0;
}

/** The last bytes of all prefixes: the anchors of the scan. */
export const KEY_ENDINGS: readonly number[] = [
  ...new Set(KEY_PREFIXES.map(({ prefix }) => prefix.charCodeAt(prefix.length - 1))),
];

function endingOf(a: number, b: number, c: number): number {
  return ((a << 10) ^ (b << 5) ^ c) & 0xffff;
}

/** A prefix, and whether a digit is part of it. */
interface ListedPrefix extends KeyPrefix {
  readonly hasDigit: boolean;
}

function prefixesByEnding() {
  const lists = new Map<number, ListedPrefix[]>();
  for (const one of KEY_PREFIXES.toSorted((a, b) => b.prefix.length - a.prefix.length)) {
    const at = (back: number) => one.prefix.charCodeAt(one.prefix.length - back);
    const ending = endingOf(at(3), at(2), at(1));
    lists.set(ending, [...(lists.get(ending) ?? []), { ...one, hasDigit: /\d/.test(one.prefix) }]);
  }
  return lists;
}

/** Work units of looking for the prefixes that end like a text, and of comparing one. */
const LOOKUP_COST = 20;
const PREFIX_COST = 5;

/** Finds a key whose prefix ends with the byte at `p`. */
export function findApiKey(b: Uint8Array, p: number): number {
  const { floor, lastEnd, end } = matches;
  if (p < floor + 2) return RULED_OUT;
  const candidates = PREFIXES_BY_ENDING.get(endingOf(b[p - 2]!, b[p - 1]!, b[p]!));
  if (candidates === undefined) return RULED_OUT;
  work.spent += LOOKUP_COST;
  let answer = RULED_OUT;
  for (const { prefix, minLength, bits, isUnique, tail, isUuid, hasDigit } of candidates) {
    work.spent += PREFIX_COST + prefix.length;
    if (hasDigit) answer = NOT_FOUND;
    const start = p + 1 - prefix.length;
    if (start < lastEnd || !hasTextAt(b, start, end, prefix) || (tail === "" && isInWord(b, start, floor))) continue;
    answer = NOT_FOUND;
    const body = p + 1 + tail.length;
    if (tail !== "" && !hasTextAt(b, p + 1, end, tail)) continue;
    const stop = encodedEnd(b, runs.end(b, body, bits), bits);
    if (stop - body < minLength || !looksRandom(b, body, stop, isUnique)) continue;
    if (isUuid && !isUuidAt(b, body)) continue;
    return matches.propose(API_KEY, tail === "" ? start : body, trimDots(b, stop), UNIQUE_FORM);
  }
  return answer;
}

/** Returns the end of the run, including URL escapes such as `%2B`. */
export function encodedEnd(b: Uint8Array, stop: number, bits: number): number {
  const { end } = matches;
  while (b[stop] === PERCENT && isAt(b, stop + 1, end, HEX) && isAt(b, stop + 2, end, HEX)) {
    if (b[stop + 1] === 50 && (b[stop + 2] === 50 || b[stop + 2] === 54)) break; // a quote or an &
    const next = runEnd(b, stop + 3, end, bits);
    work.spent += next - stop;
    stop = next;
  }
  return stop;
}

/** Whether the bytes contain a digit, or letters in both cases if the prefix is unique. */
function looksRandom(b: Uint8Array, start: number, stop: number, isUnique: boolean): boolean {
  if (hasNext(b, start, stop, DIGIT)) return true;
  return isUnique && hasNext(b, start, stop, UPPER) && hasNext(b, start, stop, LOWER);
}

function isUuidAt(b: Uint8Array, p: number): boolean {
  work.spent += TEXT_COST;
  return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(latin1(b, p, p + UUID_LENGTH));
}

/** Finds an AWS access key whose `KIA` or `SIA` has its I at `p`. */
export function findAwsKey(b: Uint8Array, p: number): number {
  const { floor, lastEnd } = matches;
  const start = p - 2;
  if (start < lastEnd || b[start] !== UPPER_A || (b[p - 1] !== UPPER_K && b[p - 1] !== UPPER_S) || b[p + 1] !== UPPER_A)
    return NOT_FOUND;
  if (isInWord(b, start, floor)) return NOT_FOUND;
  const stop = runs.end(b, start, UPPER | DIGIT);
  return stop - start === 20 ? matches.propose(API_KEY, start, stop, UNIQUE_FORM) : NOT_FOUND;
}

/** Finds an Alibaba Cloud access key whose `LTAI` ends with the I at `p`. */
export function findAlibabaKey(b: Uint8Array, p: number): number {
  const start = p - 3;
  if (start < matches.lastEnd || !hasTextAt(b, start, matches.end, "LTAI") || isInWord(b, start, matches.floor))
    return NOT_FOUND;
  const stop = runs.end(b, start, ALNUM);
  if (stop - start < 16 || stop - start > 30 || !hasNext(b, start, stop, LOWER)) return NOT_FOUND;
  return matches.propose(API_KEY, start, stop, UNIQUE_FORM);
}

/** Finds a storage account key: 76 characters of base64, `+ASt`, six more and the `==` at `p`. */
export function findStorageKey(b: Uint8Array, p: number): number {
  const start = p - 86;
  if (
    start < matches.lastEnd ||
    !(hasTextAt(b, p - 10, matches.end, "+ASt") || hasTextAt(b, p - 10, matches.end, "-ASt"))
  )
    return NOT_FOUND;
  work.spent += 86;
  return runEnd(b, start, p, BASE64) === p ? matches.propose(API_KEY, start, p + 2, UNIQUE_FORM) : NOT_FOUND;
}

/** Finds a Telegram bot token: a number, the colon at `p`, and 35 characters; or a token of Firebase. */
export function findBotToken(b: Uint8Array, p: number): number {
  const { floor, lastEnd } = matches;
  const body = p + 1;
  if (b[body] !== UPPER_A) return NOT_FOUND;
  if (b[body + 1] !== UPPER_A) return findPushToken(b, p);
  let start = p;
  while (start > lastEnd && p - start < 11 && isBefore(b, start, floor, DIGIT)) start--;
  if (p - start < 8 || p - start > 10 || runs.end(b, body, BASE64URL) - body !== 35) return NOT_FOUND;
  return matches.propose(API_KEY, start, body + 35, UNIQUE_FORM);
}

const MIN_PUSH_BODY = 100;

/** Finds a token of Firebase for one device: an id, the colon at `p`, and `APA91b` with more behind it. */
function findPushToken(b: Uint8Array, p: number): number {
  if (!hasTextAt(b, p + 1, matches.end, "APA91b")) return NOT_FOUND;
  let start = p;
  while (start > matches.lastEnd && p - start < 24 && isBefore(b, start, matches.floor, BASE64URL)) start--;
  const stop = runs.end(b, p + 1, BASE64URL);
  return p - start >= 8 && stop - p > MIN_PUSH_BODY ? matches.propose(API_KEY, start, stop, UNIQUE_FORM) : NOT_FOUND;
}

/** Finds an Asana token: two numbers, the colon at `p`, and 32 hex digits. */
export function findAsanaToken(b: Uint8Array, p: number): number {
  if (!isAt(b, p + 1, matches.end, HEX) || !isBefore(b, p, matches.floor + 16, DIGIT)) return NOT_FOUND;
  if (runs.end(b, p + 1, HEX) - p !== 33) return NOT_FOUND;
  work.spent += TEXT_COST;
  const before = /[12]\/\d{16}(?:\/\d{16})?$/.exec(latin1(b, Math.max(matches.lastEnd, p - 36), p));
  return before === null ? NOT_FOUND : matches.propose(API_KEY, p - before[0].length, p + 33, UNIQUE_FORM);
}

/** Finds an Entra ID secret or a Terraform token by the mark in its middle, which ends at `p`. */
export function findMarkedKey(b: Uint8Array, p: number): number {
  const { end, lastEnd } = matches;
  const isEntra = b[p] === 126 && b[p - 1] === 81 && isAt(b, p - 2, end, DIGIT);
  const before = isEntra ? p - 5 : p - 8 - 14;
  if (before < lastEnd || (!isEntra && !hasTextAt(b, p - 8, end, ".atlasv1."))) return NOT_FOUND;
  const stop = runs.end(b, p + 1, BASE64URL);
  return stop - p > 30 && !isInWord(b, before, matches.floor)
    ? matches.propose(API_KEY, before, stop, UNIQUE_FORM)
    : NOT_FOUND;
}

function trimDots(b: Uint8Array, stop: number): number {
  while (b[stop - 1] === DOT) stop--;
  return stop;
}
