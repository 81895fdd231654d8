import { latin1 } from "../text/characters.js";
import { BANK_ACCOUNT, DATE_OF_BIRTH, PASSPORT } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { ACCOUNT_WORD, BIRTH_WORD } from "./secret-words.js";

const MONTH = "(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[czk])[a-zäé]{0,7}";
const DATE = new RegExp(
  "^(?:" +
    [
      "(?:19|20)\\d\\d([-/.])(?:0?[1-9]|1[0-2])\\1(?:0?[1-9]|[12]\\d|3[01])",
      "(?:0?[1-9]|[12]\\d|3[01])([-/. ])(?:0?[1-9]|[12]\\d|3[01])\\2(?:(?:19|20)\\d\\d|\\d\\d)",
      "(?:19|20)\\d\\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])",
      `(?:0?[1-9]|[12]\\d|3[01])(?:st|nd|rd|th|\\.)?[ -]${MONTH}\\.?,?[ -](?:19|20)?\\d\\d`,
      `${MONTH}\\.? (?:0?[1-9]|[12]\\d|3[01])(?:st|nd|rd|th)?,? (?:19|20)\\d\\d`,
    ].join("|") +
    ")(?!\\d)",
  "i",
);
/** Letters and digits, at least two of them digits. */
const PASSPORT_NUMBER = /^(?=(?:[A-Z]*\d){2})[A-Z\d]{6,10}(?![\w-])/;
const ACCOUNT_NUMBER = /^(?:[A-Z]{4}0[A-Z\d]{6}|\d{2}([- ]?)\d{2}\1\d{2}|\d[\d -]{4,22}\d)(?![\w])/;
const MAX_LENGTH = 48;

/** Finds the date of birth, passport number or account number at `start`, after a name of this kind. */
export function findLabelled(b: Uint8Array, kind: number, start: number): number {
  work.spent += 2 * TEXT_COST;
  const text = latin1(b, start, Math.min(matches.end, start + MAX_LENGTH));
  const detector = kind === BIRTH_WORD ? DATE_OF_BIRTH : kind === ACCOUNT_WORD ? BANK_ACCOUNT : PASSPORT;
  if (start < matches.lastEnd || !matches.isEnabled(detector)) return NOT_FOUND;
  const pattern = kind === BIRTH_WORD ? DATE : kind === ACCOUNT_WORD ? ACCOUNT_NUMBER : PASSPORT_NUMBER;
  const found = pattern.exec(text);
  return found === null ? NOT_FOUND : matches.add(detector, start, start + found[0].length);
}
