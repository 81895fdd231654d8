import { isAt, latin1, UPPER } from "../text/characters.js";
import {
  API_KEY,
  ASSIGNED_SECRET,
  BANK_ACCOUNT,
  DEVICE_ID,
  DRIVING_LICENCE,
  HEALTH_ID,
  NATIONAL_ID,
  PASSPORT,
} from "../text/detectors.js";
import { COMMON_FORM, FORM, LABEL, PLACE, SIGN, UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { identifierEnd } from "./identifier.js";
import { BIRTH_LABEL, HEALTH_LABEL, PASSPORT_LABEL } from "./label-words.js";
import { findLabelledValue } from "./labelled-value.js";

/** Values that the format of a message names by their place, and not by a word. */

/** The elements of X12 and EDIFACT before a value, and the kind of the value. */
const SEGMENTS: readonly (readonly [before: RegExp, kind: number])[] = [
  [/\*(?:MI|HN|MR)\*$/, HEALTH_LABEL],
  [/DMG\*D8\*$/, BIRTH_LABEL],
  [/DTM\+329:$/, BIRTH_LABEL],
  [/DOC\+P(?::\d+){0,3}\+$/, PASSPORT_LABEL],
];
const MAX_SEGMENT = 16;

/** Finds the value at `start` of a segment: `DMG*D8*19830604`, `DOC+P:110:111+AAC576350`. */
export function findInSegment(b: Uint8Array, start: number): number {
  work.spent += TEXT_COST;
  const before = latin1(b, Math.max(matches.lastEnd, start - MAX_SEGMENT), start);
  const kind = SEGMENTS.find(([pattern]) => pattern.test(before))?.[1];
  return kind === undefined ? NOT_FOUND : findLabelledValue(b, kind, start, LABEL | SIGN);
}

const CARET = 94;
const MAX_ID = 20;

/** Finds the identifier at `start` of a message of HL7, after which its issuer is named: `49376793^^^HOSPITAL^MR`. */
export function findIssued(b: Uint8Array, start: number): number {
  const limit = Math.min(matches.end, start + MAX_ID);
  let stop = start;
  while (stop < limit && b[stop] !== CARET && b[stop]! > 44) stop++;
  if (stop - start < 4 || b[stop] !== CARET || b[stop + 1] !== CARET || b[stop + 2] !== CARET) return RULED_OUT;
  work.spent += TEXT_COST;
  const issuer = /^\^\^\^([\w&.]*)(?:\^(\w+))?/.exec(latin1(b, stop, Math.min(matches.end, stop + 32)));
  if (issuer === null || /^VN$|^XON$/.test(issuer[2] ?? "")) return NOT_FOUND;
  const detector = /pesel|ssn|nhs|svnr|ahv/i.test(issuer[1]!) ? NATIONAL_ID : HEALTH_ID;
  return matches.isEnabled(detector) ? matches.propose(detector, start, stop, FORM | LABEL) : NOT_FOUND;
}

/** The second line of the zone of a passport that machines read. */
const ZONE = /^[A-Z\d<]{9}\d[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z\d<]{14}[\d<]{1,2}(?![A-Z\d])/;
const ZONE_LENGTH = 46;

/** Finds such a line that begins at `start`. */
export function findZone(b: Uint8Array, start: number): number {
  if (!isAt(b, start + 10, matches.end, UPPER) || !isAt(b, start + 12, matches.end, UPPER)) return RULED_OUT;
  work.spent += TEXT_COST;
  const zone = ZONE.exec(latin1(b, start, Math.min(matches.end, start + ZONE_LENGTH)));
  if (zone === null || !matches.isEnabled(PASSPORT)) return NOT_FOUND;
  return matches.propose(PASSPORT, start, start + zone[0].length, UNIQUE_FORM);
}

/** Identifiers that another one of the same kind may follow. */
const FOLLOWED = new Set([PASSPORT, HEALTH_ID, NATIONAL_ID, BANK_ACCOUNT, DRIVING_LICENCE, DEVICE_ID]);
const SUCCESSOR =
  /^["')]* (?:(?:was |is |were |has been |had been )?(?:replaced (?:by|with)|merged (?:in)?to|changed to|updated to|renewed as|now|becomes|superseded by)|and|or|und|et|y) (?:new )?["'(]?$/i;
const MAX_BETWEEN = 32;

/** Finds an identifier that a sentence names after another one: `passport C01X00T47 replaced by CR60TPLN7`. */
export function findSuccessor(b: Uint8Array, start: number): number {
  const { count, lastEnd, detectors } = matches;
  if (count === 0 || start - lastEnd > MAX_BETWEEN) return RULED_OUT;
  const detector = detectors[count - 1]!;
  if (detector === API_KEY) return findSecretOfKey(b, start);
  if (detector === ASSIGNED_SECRET) return findNewSecret(b, start);
  if (!FOLLOWED.has(detector)) return NOT_FOUND;
  work.spent += 2 * TEXT_COST;
  if (!SUCCESSOR.test(latin1(b, lastEnd, start))) return NOT_FOUND;
  const size = identifierEnd(latin1(b, start, Math.min(matches.end, start + MAX_BETWEEN)), 6, 22, 2);
  return size === 0 ? NOT_FOUND : matches.propose(detector, start, start + size, FORM | PLACE);
}

/** Finds the password that replaces another one: `password changed from tiger7 to lion8`. */
function findNewSecret(b: Uint8Array, start: number): number {
  work.spent += 2 * TEXT_COST;
  const isCode = /^["',]{0,2} (?:but )?(?:got|received|actual|entered|given|was)[ :=]{1,2}["']?$/i;
  if (isCode.test(latin1(b, matches.lastEnd, start))) return findOtherCode(b, start);
  if (!/^["']? (?:to|auf|zu) ["']?$/.test(latin1(b, matches.lastEnd, start))) return NOT_FOUND;
  const before = matches.starts[matches.count - 1]!;
  if (!/ (?:from|von) ["']?$/.test(latin1(b, Math.max(matches.floor, before - 8), before))) return NOT_FOUND;
  // At most 40 characters.
  const value = /^[^\s"']{4,40}/.exec(latin1(b, start, Math.min(matches.end, start + 41)))?.[0].replace(/[.,;)]+$/, "");
  return value === undefined ? NOT_FOUND : matches.propose(ASSIGNED_SECRET, start, start + value.length, FORM | PLACE);
}

/** Finds the code that was entered instead of the one before it: `expected 903317 got 903371`. */
function findOtherCode(b: Uint8Array, start: number): number {
  const last = matches.count - 1;
  const size = matches.ends[last]! - matches.starts[last]!;
  const code = latin1(b, start, Math.min(matches.end, start + size + 1));
  const isAlike = size <= MAX_CODE && /^\d{4,8}(?!\w)/.exec(code)?.[0].length === size;
  return isAlike ? matches.propose(ASSIGNED_SECRET, start, start + size, FORM | PLACE) : NOT_FOUND;
}

const MAX_CODE = 8;

/** Finds the secret that stands behind the id of a key of AWS: `ASIA... / ANdo0p...`. */
function findSecretOfKey(b: Uint8Array, start: number): number {
  work.spent += TEXT_COST;
  if (!/^["']? ?[/:,|] ?["']?$/.test(latin1(b, matches.lastEnd, start))) return NOT_FOUND;
  const pair = /^(?=[A-Za-z]*\d)(?=[^A-Z]*[A-Z])[A-Za-z\d_-]{20,64}(?![\w+/=-])/.exec(
    latin1(b, start, Math.min(matches.end, start + 65)),
  );
  if (pair !== null && b[start - 1] === 58)
    return matches.propose(API_KEY, start, start + pair[0].length, COMMON_FORM | LABEL | PLACE);
  const secret = /^[A-Za-z\d+/]{40}(?![A-Za-z\d+/=])/.exec(latin1(b, start, Math.min(matches.end, start + 41)));
  return secret === null ? NOT_FOUND : matches.propose(API_KEY, start, start + 40, COMMON_FORM | LABEL | PLACE);
}
