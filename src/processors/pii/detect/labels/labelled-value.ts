import { latin1 } from "../text/characters.js";
import {
  ASSIGNED_SECRET,
  BANK_ACCOUNT,
  CRYPTO_ADDRESS,
  DATE_OF_BIRTH,
  DEVICE_ID,
  DRIVING_LICENCE,
  GEO_LOCATION,
  HEALTH_ID,
  IBAN,
  NATIONAL_ID,
  PASSPORT,
  PAYMENT_CARD,
} from "../text/detectors.js";
import { AMONG_NUMBERS, FORM, KEY, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { identifierEnd } from "./identifier.js";
import {
  ACCOUNT_LABEL,
  BIRTH_LABEL,
  CARD_CODE_LABEL,
  CODE_LABEL,
  COORDINATE_LABEL,
  DEVICE_LABEL,
  HEALTH_LABEL,
  LICENCE_LABEL,
  NATIONAL_LABEL,
  PASSPORT_LABEL,
  POSITION_LABEL,
  RECOVERY_LABEL,
  SOME_ACCOUNT_LABEL,
  WALLET_LABEL,
} from "./label-words.js";

/** UTF-8 as it looks when it is read as Latin-1. */
const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

const DAY = "(?:0?[1-9]|[12]\\d|3[01])";
const MONTH = "[a-z\\x80-\\xff]{3,18}\\.?";
const YEAR = "(?:19|20)\\d\\d";
const TIME = "(?:[T ]\\d\\d:\\d\\d(?::\\d\\d)?(?:\\.\\d+)?Z?)?";
const DATE = new RegExp(
  "^(?:" +
    [
      `${YEAR}([-/.])(?:0?[1-9]|1[0-2])\\1${DAY}${TIME}`,
      `${DAY}([-/. ])${DAY}\\2(?:${YEAR}|\\d\\d)${TIME}`,
      `${DAY}\\. ${DAY}\\. ${YEAR}`,
      `${YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])`,
      `(?:0[1-9]|[12]\\d|3[01])(?:0[1-9]|1[0-2])${YEAR}`,
      `\\d\\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])`,
      `${DAY}(?:st|nd|rd|th|\\.)?[ -](?:de |of )?${MONTH},?[ -](?:de |of )?(?:${YEAR}|\\d\\d)`,
      `${DAY}(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:${YEAR}|\\d\\d)`,
      bytesOf("(?:明治|大正|昭和|平成|令和|[MTSHR])(?:\\d{1,2}|元)[年.]\\d{1,2}[月.]\\d{1,2}(?:日)?")
        .replace(bytesOf("[年.]"), bytesOf("(?:年|\\.)"))
        .replace(bytesOf("[月.]"), bytesOf("(?:月|\\.)")),
      `[a-z]{3,9}\\.? ${DAY}(?:st|nd|rd|th)?,? ${YEAR}`,
      bytesOf(`${YEAR} ?[年년] ?\\d{1,2} ?[月월] ?\\d{1,2} ?[日일]?`)
        .replace(bytesOf("[年년]"), bytesOf("(?:年|년)"))
        .replace(bytesOf("[月월]"), bytesOf("(?:月|월)"))
        .replace(bytesOf("[日일]"), bytesOf("(?:日|일)")),
    ].join("|") +
    ")(?!\\d)",
  "i",
);

const NUMBER_END = "(?![\\w.]*\\w)";
const COORDINATE = new RegExp(`^-?\\d{1,3}\\.\\d{4,16}${NUMBER_END}`);
const POSITION = new RegExp(
  `^[(\\[]?(?:\\w{1,8}[=:] ?)?-?\\d{1,3}\\.\\d{3,16}(?:\\xc2\\xb0)?[ NS]{0,2}(?:[,;/] {0,2}(?:\\w{1,8}[=:] ?)?-?\\d{1,3}\\.\\d{3,16}| {1,2}-?\\d{1,3}\\.\\d{6,16})${NUMBER_END}`,
);
const DEVICE = new RegExp(
  "^(?:" +
    [
      "\\d{14,20}|\\d{2}[- ]\\d{6}[- ]\\d{6}[- ]\\d{1,2}",
      "[\\da-f]{8}-(?:[\\da-f]{4}-){3}[\\da-f]{12}",
      "[\\da-f]{14,16}|[\\da-f]{32}|[\\da-f]{40}|[\\da-f]{64}|[A-HJ-NPR-Z\\d]{17}",
      "[\\da-f]{8}-[\\da-f]{16}|(?=\\d*[a-f])[\\da-f]{12}",
      "(?=[A-Z\\d]*\\d)(?=\\d*[A-Z])[A-Z\\d]{10,13}",
      "[\\w-]{22}:APA91b[\\w-]{100,}|[\\w-]{140,200}",
    ].join("|") +
    ")(?![\\w-])",
  "i",
);
/** The id of a device whose user does not want to be followed. */
const ZEROS = /^[0-]+(?![\da-f])/i;
const WALLET = new RegExp(
  "^(?:" +
    [
      "(?:0x)?[\\da-f]{64}(?!\\w)",
      "[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}(?![a-z])",
      "[xyz]p(?:rv|ub)[1-9A-HJ-NP-Za-km-z]{100,112}",
      "[1-9A-HJ-NP-Za-km-z]{32,108}(?!\\w)",
    ].join("|") +
    ")",
);
const CODE =
  /^(?:\d{4,8}|\d{3}[- ]\d{3}|[A-Z\d]{4,5}-[A-Z\d]{4,5}(?:-[A-Z\d]{4,5}){0,3}|(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{5,12}|\d{2}-\d{3}-\d{5}|(?=[a-z]*\d[a-z]*\d)(?=\d*[a-z])[a-z\d]{8,10})(?![\w:/%]|[-.]\w)/;
/** Codes with a dash or a digit in them, in a list. */
const RECOVERY_CODES = new RegExp(
  "^CODE(?:[\"']?[,;]? ?[\"']?CODE)*(?![\\w-])".replaceAll(
    "CODE",
    "(?:[A-Za-z\\d]{4,8}(?:-[A-Za-z\\d]{4,8}){1,3}|(?=[A-Za-z]*\\d)[A-Za-z\\d]{6,12}|\\d{4} \\d{4})",
  ),
);
/** The code of a branch in India. */
const BANK_CODE = /^[A-Z]{4}0[A-Z\d]{6}(?!\w)/;
/** The line of a message of SWIFT that names an account. */
const SWIFT_ACCOUNT = /^\/{1,2}(?=[A-Z]{0,6}\d{5})[A-Z\d]{6,34}(?![\w/])/;
/** The reference number of goods at European customs, which is called like a medical record. */
const CUSTOMS_NUMBER = /^\d\d[A-Z]{2}[A-Z\d]{13}\d(?!\w)/;
/** Germany's pension insurance, and Ontario's health insurance. */
const PENSION_NUMBER = /^\d{2} ?\d{6} ?[A-Z] ?\d{3}(?!\w)/;
const HEALTH_CARD = /^\d{4}[- ]\d{3}[- ]\d{3}[- ][A-Z]{2}(?!\w)/;
/** Series and number, which a word may separate. */
const RUSSIAN_PASSPORT = new RegExp(
  `^(?:\\d{2} ?\\d{2},? (?:(?:${bytesOf("номер")}|${bytesOf("№")}|N) ?)?\\d{6}|\\d{2} (?:${bytesOf("№")} ?)?\\d{7})(?!\\w)`,
);
/** A line of the zone of a passport that machines read. */
const ZONE = /^(?=[A-Z\d]*<)[A-Z\d<]{30,44}/;
/** A code that protects a login may be called like the code of a card. */
const SIX_DIGITS = /^\d{6}(?![\w:/%]|[-.]\w)/;
const CARD_CODE = /^\d{3,4}(?![\w:/%]|[-.]\w)/;
/** Words behind a number that say what it counts. */
const UNIT =
  /^[ -]?(?:ms|s|secs?|seconds?|min|mins?|minutes?|hours?|h|days?|weeks?|bytes|[kmg]i?b|times|attempts?|tries|retries|rows|of|x|characters|chars|digits|zeichen|caractères|caracteres|items|entries|users|requests|messages|records|events|packets|out of|percent|%|°)(?![a-z\x80-\xff])/i;

const MAX_LENGTH = 240;

/**
 * Finds the value at `start` that a label of this kind announces. `evidence` says how it is announced; the form of the
 * value is added to it.
 */
export function findLabelledValue(b: Uint8Array, kind: number, start: number, evidence: number): number {
  const detector = DETECTOR_OF[kind] ?? -1;
  if (detector < 0 || start < matches.lastEnd || !matches.isEnabled(detector)) return NOT_FOUND;
  work.spent += 2 * TEXT_COST;
  const text = latin1(b, start, Math.min(matches.end, start + MAX_LENGTH));
  const size = valueSize(kind, text);
  if (size <= 0 || (kind === SOME_ACCOUNT_LABEL && !isAboutBanks(b, start))) return NOT_FOUND;
  if (kind === NATIONAL_LABEL && !matches.hasAllCountries) return NOT_FOUND;
  if (isOfSite(b, kind, start, text, size)) return NOT_FOUND;
  if (kind === LICENCE_LABEL && (evidence & (SIGN | KEY)) === 0 && isOfSoftware(b, start, text.slice(0, size)))
    return NOT_FOUND;
  const counts = COUNTED.has(kind) && UNIT.test(text.slice(size, size + 16)) ? AMONG_NUMBERS : 0;
  return matches.propose(detector, start, start + size, evidence | FORM | counts);
}

const DETECTOR_OF: Readonly<Record<number, number>> = {
  [BIRTH_LABEL]: DATE_OF_BIRTH,
  [PASSPORT_LABEL]: PASSPORT,
  [ACCOUNT_LABEL]: BANK_ACCOUNT,
  [SOME_ACCOUNT_LABEL]: BANK_ACCOUNT,
  [LICENCE_LABEL]: DRIVING_LICENCE,
  [NATIONAL_LABEL]: NATIONAL_ID,
  [DEVICE_LABEL]: DEVICE_ID,
  [HEALTH_LABEL]: HEALTH_ID,
  [COORDINATE_LABEL]: GEO_LOCATION,
  [POSITION_LABEL]: GEO_LOCATION,
  [CODE_LABEL]: ASSIGNED_SECRET,
  [CARD_CODE_LABEL]: ASSIGNED_SECRET,
  [RECOVERY_LABEL]: ASSIGNED_SECRET,
  [WALLET_LABEL]: CRYPTO_ADDRESS,
};

/** Whether `license` alone announces the value, and it has few digits: a licence of software. */
function isOfSoftware(b: Uint8Array, start: number, value: string): boolean {
  if (/(?:\d\D*){5}/.test(value)) return false;
  return /(?<!driver'?s? |driving )licen[cs]e $/i.test(latin1(b, Math.max(matches.floor, start - 20), start));
}

/** Things that have a position and are no person, and banks that have a code. */
const SITE =
  /\b(?:site|warehouse|depot|station|store|airport|aircraft|vessel|ship|antenna|tower|geofence|icao24|hub|datacenter|data center|facility|terminal|runway|waypoint|region|city|pop|tile|bbox|beacon|buoy|lager|almac[e\xc3]|entrep|magazzino)/i;
const PERSON = /courier|driver|user|customer|rider|patient|passenger|phone|guest|member/i;
const BANK_AFTER =
  /^["']? (?:belongs to|resolved to|resolves to|is assigned to|maps to|not in directory|participant|directory|unknown bank|found in)\b/i;
const MAX_SITE = 48;

/** Whether the text around a position or the code of a bank says that it belongs to no person. */
function isOfSite(b: Uint8Array, kind: number, start: number, text: string, size: number): boolean {
  if (kind === ACCOUNT_LABEL) return size <= MAX_BANK_CODE && BANK_AFTER.test(text.slice(size, size + MAX_SITE));
  if (kind !== COORDINATE_LABEL && kind !== POSITION_LABEL) return false;
  work.spent += TEXT_COST;
  matches.hasBarePosition = true;
  const before = latin1(b, Math.max(matches.floor, start - MAX_SITE), start);
  return !PERSON.test(before) && (SITE.test(before) || SITE.test(text.slice(size, size + 24)));
}

const MAX_BANK_CODE = 11;

function followsCard(): boolean {
  return matches.count > 0 && matches.detectors[matches.count - 1] === PAYMENT_CARD;
}

/** Kinds whose values are short numbers, which a unit may follow. */
const COUNTED = new Set([CODE_LABEL, HEALTH_LABEL, ACCOUNT_LABEL, NATIONAL_LABEL, PASSPORT_LABEL, LICENCE_LABEL]);

const BANK_WORDS =
  /bank|cheque|direct debit|mandate|payroll|salary|payout|lastschrift|berweisung|virement|transferencia|bonifico|przelew|\bsort \d|havale|dep[o\xc3]sit|transit \d|institution|beneficiary|payee|blz|sort.?code|\bbsb\b|routing|\baba\b|\bbic\b|swift|sepa|iban|\bach\b|\bwire\b|bacs|ag[eê\xc3]|branch|sucursal|filiale|cdtr|dbtr|credit transfer/i;
const MAX_BANK_CONTEXT = 64;

/** Whether the text before an account number is about banks. */
function isAboutBanks(b: Uint8Array, start: number): boolean {
  if (/^4[02][78]\d{17}(?!\d)/.test(latin1(b, start, Math.min(matches.end, start + 21)))) return true; // Russia's accounts
  const { count, detectors } = matches;
  if (count > 0 && (detectors[count - 1] === BANK_ACCOUNT || detectors[count - 1] === IBAN)) return true;
  return BANK_WORDS.test(latin1(b, Math.max(matches.floor, start - MAX_BANK_CONTEXT), start));
}

/** Returns the length of the value at the beginning of the text, or 0 if there is none of this kind. */
function valueSize(kind: number, text: string): number {
  switch (kind) {
    case BIRTH_LABEL:
      return lengthOf(DATE, text);
    case PASSPORT_LABEL:
      return lengthOf(ZONE, text) || lengthOf(RUSSIAN_PASSPORT, text) || identifierEnd(text, 6, 14, 1);
    case ACCOUNT_LABEL:
    case SOME_ACCOUNT_LABEL:
      return lengthOf(BANK_CODE, text) || identifierEnd(text, 6, 34, 5) || lengthOf(SWIFT_ACCOUNT, text);
    case LICENCE_LABEL:
      return identifierEnd(text, 5, 22, 2);
    case NATIONAL_LABEL:
      return lengthOf(PENSION_NUMBER, text) || identifierEnd(text, 6, 22, 5);
    case HEALTH_LABEL:
      if (CUSTOMS_NUMBER.test(text)) return 0;
      return lengthOf(HEALTH_CARD, text) || identifierEnd(text, 5, 20, 4);
    case DEVICE_LABEL:
      return ZEROS.test(text) ? 0 : lengthOf(DEVICE, text);
    case COORDINATE_LABEL:
      return lengthOf(COORDINATE, text);
    case POSITION_LABEL:
      return lengthOf(POSITION, text);
    case CODE_LABEL:
      return lengthOf(CODE, text) || (followsCard() ? lengthOf(CARD_CODE, text) : 0);
    case CARD_CODE_LABEL:
      return lengthOf(CARD_CODE, text) || lengthOf(SIX_DIGITS, text);
    case RECOVERY_LABEL:
      return lengthOf(RECOVERY_CODES, text);
    default:
      return lengthOf(WALLET, text);
  }
}

function lengthOf(pattern: RegExp, text: string): number {
  return pattern.exec(text)?.[0].length ?? 0;
}
