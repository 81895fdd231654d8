import { BLANK } from "../../text/ascii.js";
import { ALNUM, isAt, isBefore, isInWord, latin1, UPPER } from "../../text/characters.js";
import { type Country, DRIVING_LICENCE, NATIONAL_ID } from "../../text/detectors.js";
import { CHECKSUM, FORM, GROUPED } from "../../text/evidence.js";
import { matches, NOT_FOUND } from "../../text/matches.js";
import { TEXT_COST, work } from "../../text/work.js";
import { isResidentId } from "./elsewhere.js";

/** The letter at the end of a Spanish number, by the remainder of the number divided by 23. */
export const DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE";

const NINO = /^(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]$/;
const CODICE_FISCALE = /^[A-Z]{6}[\dLMNP-V]{2}[A-EHLMPRST][\dLMNP-V]{2}[A-Z][\dLMNP-V]{3}[A-Z]$/;
/** Great Britain: five letters of the surname, date of birth, initials, check characters. */
const UK_LICENCE = /^[A-Z9]{5}\d[0156]\d[0-3]\d\d[A-Z9]{2}[A-Z\d][A-Z]{2}$/;
const PAN = /^[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]$/;

/**
 * National numbers with letters: the number of leading letters, the length of the word, the country, the check, and the
 * detector if it is not that of national numbers.
 */
const WORDS: readonly (readonly [
  letters: number,
  length: number,
  country: Country,
  is: (word: string) => boolean,
  detector?: number,
])[] = [
  [1, 9, "sg", isNric],
  [4, 18, "mx", (word) => CURP.test(word) && curpDigit(word) === Number(word[17])],
  [0, 11, "fi", (word) => /^\d{6}[A-FU-Y]\d{3}[\dA-Y]$/.test(word) && isHetu(word)],
  [5, 16, "gb", (word) => UK_LICENCE.test(word), DRIVING_LICENCE],
  [2, 9, "gb", (word) => NINO.test(word)],
  [1, 9, "es", (word) => /^[XYZ]\d{7}[A-Z]$/.test(word) && hasDniLetter(`${"XYZ".indexOf(word[0]!)}${word.slice(1)}`)],
  [0, 9, "es", (word) => /^\d{8}[A-Z]$/.test(word) && hasDniLetter(word)],
  [6, 16, "it", (word) => CODICE_FISCALE.test(word) && codeLetter(word) === word[15]],
  [5, 10, "in", (word) => PAN.test(word)],
  [
    0,
    18,
    "cn",
    (word) => /^\d{17}[Xx]$/.test(word) && isResidentId(Uint8Array.from(word, (c) => (c > "9" ? 10 : Number(c)))),
  ],
];

/** Holds, at the lengths of these words, a bit for each number of leading letters. */
const LENGTHS = new Uint8Array(19);
for (const [letters, length] of WORDS) LENGTHS[length]! |= 1 << letters;

/** Whether any national number has this length and this many leading letters. */
export function isIdLength(length: number, letters: number): boolean {
  return length < LENGTHS.length && letters < 8 && (LENGTHS[length]! & (1 << letters)) !== 0;
}

/** Finds a national number that is exactly the word [start, stop). Its first digit is at `p`. */
export function findLetteredId(
  b: Uint8Array,
  start: number,
  p: number,
  stop: number,
  isEnabled: (country: Country) => boolean,
): number {
  const length = stop - start;
  if (!isIdLength(length, p - start) || start < matches.lastEnd) return NOT_FOUND;
  for (const [letters, size, country, is, detector = NATIONAL_ID] of WORDS) {
    if (length !== size || p - start !== letters || !isEnabled(country) || !matches.isEnabled(detector)) continue;
    work.spent += TEXT_COST;
    if (is(latin1(b, start, stop)) && !isInWord(b, start, matches.floor) && !isTied(b, start, stop))
      return matches.propose(detector, start, stop, FORM | CHECKSUM);
  }
  return NOT_FOUND;
}

/** Whether `_` or `-` connects the word to a longer name. */
function isTied(b: Uint8Array, start: number, stop: number): boolean {
  const sign = (c: number | undefined) => c === 95 || c === 45;
  return (start > matches.floor && sign(b[start - 1])) || (sign(b[stop]) && isAt(b, stop + 1, matches.end, ALNUM));
}

/**
 * Finds AB 12 34 56 C, whose first digit is at `p`. The caller has found three pairs of digits with spaces between
 * them.
 */
export function findSpacedNino(b: Uint8Array, p: number): number {
  const start = p - 3;
  const stop = p + 10;
  if (start < matches.lastEnd || stop > matches.end || b[p + 8] !== BLANK || !isBefore(b, start + 1, start, UPPER))
    return NOT_FOUND;
  if (isInWord(b, start, matches.floor) || isAt(b, stop, matches.end, ALNUM)) return NOT_FOUND;
  work.spent += TEXT_COST;
  return NINO.test(latin1(b, start, stop).replaceAll(" ", ""))
    ? matches.propose(NATIONAL_ID, start, stop, FORM | GROUPED)
    : NOT_FOUND;
}

function hasDniLetter(word: string): boolean {
  return DNI_LETTERS[Number(word.slice(0, -1)) % 23] === word.at(-1);
}

/** Singapore. */
function isNric(word: string): boolean {
  if (!/^[STFGM]\d{7}[A-Z]$/.test(word)) return false;
  const offset = word[0] === "T" || word[0] === "G" ? 4 : word[0] === "M" ? 3 : 0;
  const sum = [2, 7, 6, 5, 4, 3, 2].reduce((all, weight, i) => all + weight * Number(word[i + 1]), offset);
  const letters = /[ST]/.test(word) ? "JZIHGFEDCBA" : word[0] === "M" ? "XWUTRQPNJLK" : "XWUTRQPNMLK";
  return letters[sum % 11] === word[8];
}

/** Finland: date of birth, century, serial number, and the remainder of 31. */
function isHetu(text: string): boolean {
  const day = Number(text.slice(0, 2));
  const month = Number(text.slice(2, 4));
  if (day < 1 || day > 31 || month < 1 || month > 12) return false;
  return "0123456789ABCDEFHJKLMNPRSTUVWXY"[Number(text.slice(0, 6) + text.slice(7, 10)) % 31] === text[10];
}

const CURP =
  /^[A-Z][AEIOUX][A-Z]{2}\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[A-Z\d]\d$/;
const CURP_LETTERS = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ";

/** Mexico. */
function curpDigit(word: string): number {
  let sum = 0;
  for (let i = 0; i < 17; i++) sum += CURP_LETTERS.indexOf(word[i]!) * (18 - i);
  return (10 - (sum % 10)) % 10;
}

/** The values of letters and digits at odd positions. */
const ODD = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];

function codeLetter(word: string): string {
  let sum = 0;
  for (let i = 0; i < 15; i++) {
    const c = word.charCodeAt(i);
    const value = c <= 57 ? c - 48 : c - 65;
    sum += i % 2 === 0 ? ODD[value]! : value;
  }
  return String.fromCharCode(65 + (sum % 26));
}
