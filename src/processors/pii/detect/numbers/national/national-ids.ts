import { OTHER_LABEL } from "../../labels/label-words.js";
import { labelBefore } from "../../labels/labels.js";
import { BLANK, DASH, DOT, ONE, TWO } from "../../text/ascii.js";
import { ALNUM, isAt, UPPER } from "../../text/characters.js";
import { COUNTRIES, type Country, HINT_NATIONAL_ID, NATIONAL_ID } from "../../text/detectors.js";
import { CHECKSUM, FORM, GROUPED, LABEL, OTHER_THING } from "../../text/evidence.js";
import { labelWords } from "../../text/lookback.js";
import { matches } from "../../text/matches.js";
import { work } from "../../text/work.js";
import { groups } from "../digit-groups.js";
import { isNir } from "./europe.js";
import { FORMS, type NumberForm } from "./forms.js";
import { DNI_LETTERS } from "./lettered-ids.js";

/** Words that identify a number that has no recognisable form. They may stand further in front of it than a label. */
const LABELS = labelWords(
  (
    "\\bnhs,\\bbsn,burgerservice,sofinummer,steuer.?id,\\bidnr,identifikationsnummer,steuernummer,tax.?id,\\bcpf,\\bcnpj," +
    "aadhaar,aadhar,uidai,my.?number,マイナンバー,個人番号,national.?id,personal.?id,id.?card,身份证,\\bdni\\b,\\bnif\\b,\\bnir\\b," +
    "pesel,personnummer,fødselsnummer,fodselsnummer,henkilötunnus,\\bcpr\\b,\\boib\\b,\\bcnp\\b,егн,jmbg,јмбг,emšo,isikukood,asmens kodas," +
    "personas kods,\\bamka,αμκα,rijksregister,registre national,\\bahv\\b,\\bavs\\b,svnr,sozialversicherung,kimlik,снилс,инн,рнокпп,\\bиин," +
    "תעודת זהות,\\bcuit,\\bcuil,\\bruc\\b,cédula,cedula,social insurance,\\btfn\\b,medicare,iqama,emirates id,kennitala,\\btaj\\b,rodné," +
    "주민등록,pacjent,\\bekyc,เลขประจำตัว,الرقم القومي,رقم الهوية,کد ملی,citizen id,identity number"
  ).split(","),
);

/** The forms by the size of their first group. */
const FORMS_BY_SIZE: readonly (readonly NumberForm[])[] = Array.from({ length: 19 }, (_, size) =>
  FORMS.filter(({ sizes }) => sizes[0] === size),
);

/** Work units of verifying check digits. */
const CHECK_COST = 100;
const digits = new Uint8Array(18);

/** Finds a national number that begins with group `i`, and returns the group after it, or 0. */
export function findNationalId(b: Uint8Array, i: number): number {
  const size = groups.size(i);
  if (size > 18) return 0;
  const lettered = size === 8 ? findDni(b, i) : size < 3 ? findRut(b, i) : 0;
  if (lettered !== 0) return lettered;
  for (const one of FORMS_BY_SIZE[size]!) {
    const end = i + one.sizes.length;
    if (matches.countries[one.country] === 0 || !hasForm(one, i) || !groups.isDetachedAfter(end)) continue;
    const isAmongNumbers = groups.separators[i] === BLANK && !(i === 0 && end === groups.count);
    if (!one.needsLabel && isAmongNumbers) continue;
    if (one.needsLabel ? !isLabelled(b, i) : one.check === isNir && !beginsNir(b[groups.starts[i]!]!)) continue;
    work.spent += CHECK_COST;
    readDigits(b, i, end);
    if (!one.check(digits)) continue;
    const evidence = FORM | CHECKSUM | (one.sizes.length > 1 ? GROUPED : 0) | labelEvidence(b, i, one);
    if (matches.propose(NATIONAL_ID, groups.starts[i]!, groups.ends[end - 1]!, evidence) >= 0) return end;
  }
  return 0;
}

/** Whether a number without separators that begins with this digit could be a national number even without a label. */
export function mayBeNationalId(first: number, size: number): boolean {
  return size === 15 ? beginsNir(first) : size === 18;
}

/** A French number begins with 1 (men) or 2 (women). Few long numbers do, so the others need not be read. */
function beginsNir(c: number): boolean {
  return c === ONE || c === TWO;
}

/** Whether the config enables numbers of this country. */
export function isEnabled(country: Country): boolean {
  return matches.countries[COUNTRIES.indexOf(country)] === 1;
}

/** Eight digits, a dash and a check letter, in Spain and Chile. Without the dash it is a word (see `lettered-ids.ts`). */
function findDni(b: Uint8Array, i: number): number {
  const end = groups.ends[i]!;
  if (b[end] !== DASH || !isAt(b, end + 1, matches.end, UPPER) || isAt(b, end + 2, matches.end, ALNUM)) return 0;
  let value = 0;
  for (let p = groups.starts[i]!; p < end; p++) value = value * 10 + b[p]! - 48;
  const isSpanish = isEnabled("es") && DNI_LETTERS.charCodeAt(value % 23) === b[end + 1];
  if (!isSpanish && !(isEnabled("cl") && rutCheck(value) === b[end + 1])) return 0;
  const found = matches.propose(NATIONAL_ID, groups.starts[i]!, end + 2, FORM | CHECKSUM);
  return found < 0 ? 0 : i + 1;
}

/** Chile: 12.345.678-5, with a check digit that may be K. */
function findRut(b: Uint8Array, i: number): number {
  if (i + 3 > groups.count || !isEnabled("cl") || groups.size(i + 1) !== 3 || groups.size(i + 2) !== 3) return 0;
  const end = groups.ends[i + 2]!;
  if (groups.separators[i] !== DOT || groups.separators[i + 1] !== DOT || b[end] !== DASH) return 0;
  if (!isAt(b, end + 1, matches.end, ALNUM) || isAt(b, end + 2, matches.end, ALNUM)) return 0;
  work.spent += CHECK_COST;
  let value = 0;
  for (let k = i; k < i + 3; k++)
    for (let p = groups.starts[k]!; p < groups.ends[k]!; p++) value = value * 10 + b[p]! - 48;
  if (rutCheck(value) !== (b[end + 1] === 107 ? 75 : b[end + 1])) return 0;
  if (matches.propose(NATIONAL_ID, groups.starts[i]!, end + 2, FORM | CHECKSUM | GROUPED) < 0) return 0;
  return b[end + 1]! > 57 ? i + 3 : i + 4;
}

/** Returns the code of the check digit of a Chilean number. */
function rutCheck(value: number): number {
  let sum = 0;
  for (let weight = 2, rest = value; rest > 0; rest = Math.floor(rest / 10), weight = weight === 7 ? 2 : weight + 1)
    sum += (rest % 10) * weight;
  const check = 11 - (sum % 11);
  return check === 11 ? 48 : check === 10 ? 75 : 48 + check;
}

function hasForm({ sizes, separators }: NumberForm, i: number): boolean {
  if (i + sizes.length > groups.count) return false;
  for (let k = 0; k < sizes.length; k++) {
    if (groups.size(i + k) !== sizes[k]) return false;
    if (k < sizes.length - 1 && groups.separators[i + k] !== separators[k]) return false;
  }
  return true;
}

function readDigits(b: Uint8Array, from: number, to: number): void {
  let n = 0;
  for (let i = from; i < to; i++) for (let p = groups.starts[i]!; p < groups.ends[i]!; p++) digits[n++] = b[p]! - 48;
}

/** Few things but national numbers have two groups, so only those of three or more may be something else. */
function labelEvidence(b: Uint8Array, i: number, { sizes }: NumberForm): number {
  if (isLabelled(b, i)) return LABEL;
  return i === 0 && sizes.length > 2 && labelBefore(b, groups.starts[0]!, matches.lastEnd) === OTHER_LABEL
    ? OTHER_THING
    : 0;
}

function isLabelled(b: Uint8Array, i: number): boolean {
  return (matches.hints & HINT_NATIONAL_ID) !== 0 || groups.followsWord(b, i, LABELS);
}
