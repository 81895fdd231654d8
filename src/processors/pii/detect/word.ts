import { findCryptoAddress, findTonAddress } from "./numbers/crypto-address.js";
import { findVin, VIN_LENGTH } from "./numbers/device-numbers.js";
import { groups } from "./numbers/digit-groups.js";
import { findIban } from "./numbers/iban.js";
import { findLetteredId, isIdLength } from "./numbers/national/lettered-ids.js";
import { isEnabled } from "./numbers/national/national-ids.js";
import { findPaymentCard, mayBeCard, stripeEnd } from "./numbers/payment-card.js";
import { findKeyInWord, findUrlSecret, MIN_KEY_WORD } from "./secrets/long-word.js";
import { findWrapped, type ScanWrapped } from "./secrets/wrapped.js";
import { ALNUM, BASE64, BASE64URL, CHARACTER_BITS, DIGIT, isAt, isBefore, latin1, runEnd } from "./text/characters.js";
import {
  API_KEY,
  ASSIGNED_SECRET,
  CRYPTO_ADDRESS,
  DEVICE_ID,
  IBAN,
  NATIONAL_ID,
  PAYMENT_CARD,
} from "./text/detectors.js";
import { matches, NOT_FOUND, RULED_OUT } from "./text/matches.js";
import { runs } from "./text/runs.js";
import { TEXT_COST, work } from "./text/work.js";

const MAX_LETTERS = 128;

/**
 * Searches the word of letters and digits whose first digit is at `p`: it may be an IBAN, a key, or base64 that
 * contains a text. Returns where the scan continues, as `findNumbers` does.
 */
export function findInWord(b: Uint8Array, p: number, scanWrapped: ScanWrapped): number {
  const { end, lastEnd } = matches;
  let stop = p;
  while (stop < end && (CHARACTER_BITS[b[stop]!]! & ALNUM) !== 0) stop++;
  const floor = Math.max(lastEnd, p - MAX_LETTERS);
  let start = p;
  while (start > floor && (CHARACTER_BITS[b[start - 1]!]! & ALNUM) !== 0) start--;
  let found = RULED_OUT;
  if (p - start === 2 && isAt(b, p + 1, end, DIGIT) && matches.isEnabled(IBAN)) found = findIban(b, p);
  if (found < 0 && stop - p >= MIN_CARD && p - start <= 4) found = Math.max(found, findCard(b, start, p, stop));
  if (found < 0 && (stop - start > MAX_SHORT_WORD ? !isPlain(b, start, p, stop) : isTied(b, start, stop)))
    found = Math.max(NOT_FOUND, findInLongWord(b, start, p, stop, scanWrapped));
  if (found >= 0) return found;
  return found === RULED_OUT ? ~stop : stop;
}

/** Words up to this length never match by themselves; most words are no longer. */
const MAX_SHORT_WORD = 8;

/** Whether nothing is attached to the word, and its length is one that no detector accepts. */
function isPlain(b: Uint8Array, start: number, p: number, stop: number): boolean {
  if (stop - start >= MIN_KEY_WORD || isIdLength(stop - start, p - start)) return false;
  return !isAt(b, stop, matches.end, BASE64) && !isBefore(b, start, matches.floor, BASE64);
}

/** Whether `-` or the like attaches a short word to enough text to be the beginning of a key. */
function isTied(b: Uint8Array, start: number, stop: number): boolean {
  const limit = Math.min(matches.end, start + MIN_KEY_WORD);
  while (stop < limit && (CHARACTER_BITS[b[stop]!]! & BASE64) !== 0) stop++;
  return stop === start + MIN_KEY_WORD;
}

function findInLongWord(b: Uint8Array, start: number, p: number, stop: number, scanWrapped: ScanWrapped): number {
  work.spent += stop - start;
  let found = matches.isEnabled(API_KEY) ? findKey(b, start, stop) : NOT_FOUND;
  if (found < 0 && matches.isEnabled(NATIONAL_ID)) found = findLetteredId(b, start, p, stop, isEnabled);
  if (found < 0 && stop - start === VIN_LENGTH && matches.isEnabled(DEVICE_ID)) found = findVin(b, start);
  if (found < 0 && matches.isEnabled(CRYPTO_ADDRESS)) found = findCryptoAddress(b, start, stop);
  if (found < 0 && matches.isEnabled(CRYPTO_ADDRESS)) found = findTonAddress(b, start);
  if (found < 0 && matches.isEnabled(ASSIGNED_SECRET)) found = findUrlSecret(b, start);
  return found < 0 && stop - start >= MIN_WRAPPED_WORD ? findWrapped(b, start, scanWrapped) : found;
}

const MIN_CARD = 13;
/** The codes of issuers that airlines use. */
const ISSUER_CODES = new Set(["VI", "CA", "MC", "AX", "DC", "DS", "JC", "UP", "TP"]);

/**
 * Finds the card whose digits begin at `p` in a word: in an airline's form of payment, with the code of the issuer before
 * the number (CCVI4929..., AX3782...), or on a magnetic stripe.
 */
function findCard(b: Uint8Array, start: number, p: number, stop: number): number {
  const digitsEnd = runEnd(b, p, stop, DIGIT);
  if (digitsEnd - p < MIN_CARD) return RULED_OUT;
  if (!matches.isEnabled(PAYMENT_CARD) || !mayBeCard(b, p, digitsEnd - p)) return NOT_FOUND;
  work.spent += TEXT_COST;
  const isStriped = stripeEnd(b, digitsEnd) > digitsEnd && (p === start || (p - start === 1 && b[start] === 66));
  if (!isStriped && (digitsEnd < stop || !followsIssuer(b, start, p))) return NOT_FOUND;
  groups.set(p, digitsEnd);
  return findPaymentCard(b, 0) === 0 ? NOT_FOUND : matches.lastEnd;
}

function followsIssuer(b: Uint8Array, start: number, p: number): boolean {
  const isForm = p - start === 4 && b[start] === 67 && b[start + 1] === 67;
  return (isForm || p - start === 2) && ISSUER_CODES.has(latin1(b, p - 2, p));
}

/**
 * The end of the last run of letters, digits, `-` and `_` that was tried, and of the last run that also includes `+`
 * and `/`.
 */
let triedScan = -1;
let triedEnd = -1;
let triedPathEnd = -1;

/** Finds a key that begins with the word, or with the words before it that `-`, `_`, `+` or `/` attaches to it. */
function findKey(b: Uint8Array, start: number, stop: number): number {
  const end = runs.end(b, start, BASE64);
  if (end - start < MIN_KEY_WORD) return NOT_FOUND;
  const found = stop - start >= MIN_KEY_WORD || end > stop ? findKeyInWord(b, start, stop) : NOT_FOUND;
  if (found >= 0) return found;
  if (triedScan !== matches.scan) triedEnd = triedPathEnd = -1;
  triedScan = matches.scan;
  const wordEnd = runs.end(b, start, BASE64URL);
  if (triedEnd === wordEnd) return NOT_FOUND;
  triedEnd = wordEnd;
  const floor = Math.max(matches.lastEnd, start - MAX_LETTERS);
  let first = start;
  while (first > floor && isBefore(b, first, floor, BASE64URL)) first--;
  work.spent += start - first;
  const whole = first === start ? NOT_FOUND : findKeyInWord(b, first, runs.end(b, first, ALNUM));
  if (whole >= 0 || triedPathEnd === end) return whole;
  triedPathEnd = end;
  let earliest = first;
  while (earliest > floor && isBefore(b, earliest, floor, BASE64)) earliest--;
  work.spent += first - earliest;
  return earliest === first ? NOT_FOUND : findKeyInWord(b, earliest, runs.end(b, earliest, ALNUM));
}

/** Base64 that contains a text has at least one part of this length between its signs. */
const MIN_WRAPPED_WORD = 8;
