import { CHARACTER_BITS, DIGIT, isInWord, latin1, UPPER } from "../text/characters.js";
import { DEVICE_ID } from "../text/detectors.js";
import { CHECKSUM, FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** Work units of verifying check digits. */
const CHECK_COST = 100;

/** Whether the digits at `p` begin like the number of a SIM card and are as many. */
export function mayBeSimCard(b: Uint8Array, p: number, size: number): boolean {
  return size >= 19 && size <= 20 && b[p] === 56 && b[p + 1] === 57;
}

/** Finds the number of a SIM card: 19 or 20 digits that begin with 89, with Luhn's check digit. */
export function findSimCard(b: Uint8Array, start: number, stop: number): number {
  work.spent += CHECK_COST;
  let sum = 0;
  for (let p = stop - 1, n = 0; p >= start; p--, n++) {
    const value = n % 2 === 1 ? (b[p]! - 48) * 2 : b[p]! - 48;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0 ? matches.propose(DEVICE_ID, start, stop, FORM | CHECKSUM) : NOT_FOUND;
}

export const VIN_LENGTH = 17;
const VIN = /^[A-HJ-NPR-Z\d]{3}[A-HJ-NPR-Z\d]{5}[\dX][A-HJ-NPR-Z\d]{3}\d{5}$/;
const VIN_WEIGHTS = [8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2];
/** The values of the letters A to Z. I, O and Q are not used. */
const VIN_LETTERS = [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0, 7, 0, 9, 2, 3, 4, 5, 6, 7, 8, 9];

/** Finds the number of a vehicle that is exactly the word of 17 characters at `start`, by its check digit. */
export function findVin(b: Uint8Array, start: number): number {
  const stop = start + VIN_LENGTH;
  for (let p = start; p < stop; p++) if ((CHARACTER_BITS[b[p]!]! & (UPPER | DIGIT)) === 0) return NOT_FOUND;
  work.spent += CHECK_COST + TEXT_COST;
  const word = latin1(b, start, stop);
  // At most 17 characters.
  if (start < matches.lastEnd || !VIN.test(word) || !/[A-Z].*[A-Z]/.test(word) || isInWord(b, start, matches.floor))
    return NOT_FOUND;
  let sum = 0;
  for (let i = 0; i < VIN_LENGTH; i++) {
    const c = word.charCodeAt(i);
    sum += VIN_WEIGHTS[i]! * (c <= 57 ? c - 48 : VIN_LETTERS[c - 65]!);
  }
  const isRight = "0123456789X"[sum % 11] === word[8];
  return isRight ? matches.propose(DEVICE_ID, start, stop, FORM | CHECKSUM) : NOT_FOUND;
}
