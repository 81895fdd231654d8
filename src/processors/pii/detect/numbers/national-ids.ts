import { BLANK, DASH, DOT, ONE, SLASH, TWO } from "../text/ascii.js";
import { ALNUM, isAt, UPPER } from "../text/characters.js";
import { COUNTRIES, type Country, HINT_NATIONAL_ID, NATIONAL_ID } from "../text/detectors.js";
import { CHECKSUM, FORM, GROUPED, LABEL } from "../text/evidence.js";
import { labelWords } from "../text/lookback.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { work } from "../text/work.js";
import {
  type CheckDigits,
  isAadhaar,
  isBsn,
  isCnpj,
  isCpf,
  isMyNumber,
  isNhsNumber,
  isNir,
  isResidentId,
  isSteuerId,
} from "./check-digits.js";
import { groups } from "./digit-groups.js";
import { DNI_LETTERS } from "./lettered-ids.js";

/** Words that identify a number that has no recognisable form. */
const LABELS = labelWords([
  ..."\\bnhs,\\bbsn,burgerservice,sofinummer,steuer.?id,\\bidnr,identifikationsnummer,steuernummer,tax.?id,\\bcpf,\\bcnpj".split(
    ",",
  ),
  ..."aadhaar,aadhar,uidai,my.?number,マイナンバー,個人番号,national.?id,personal.?id,id.?card,身份证,\\bdni\\b,\\bnif\\b,\\bnir\\b".split(
    ",",
  ),
]);

/**
 * The written form of a number: the sizes of its groups and the separators between them. One separator is used
 * everywhere, or one is given for each gap.
 */
interface NumberForm {
  /** The country's bit. */
  readonly bit: number;
  readonly sizes: readonly number[];
  readonly between: readonly number[];
  readonly isOneEach: boolean;
  readonly check: CheckDigits;
  /** True if the form is too common to be recognised without a label. */
  readonly needsLabel: boolean;
}

const form = (country: Country, sizes: number[], between: number[], check: CheckDigits, needsLabel: boolean) => ({
  ...{ bit: bitOf(country), sizes, between, check, needsLabel, isOneEach: between[0] === DOT },
});

const FORMS: readonly NumberForm[] = [
  form("nl", [9], [], isBsn, true),
  form("nl", [4, 2, 3], [BLANK], isBsn, true),
  form("gb", [10], [], isNhsNumber, true),
  form("gb", [3, 3, 4], [BLANK, DASH], isNhsNumber, true),
  form("de", [11], [], isSteuerId, true),
  form("de", [2, 3, 3, 3], [BLANK], isSteuerId, true),
  form("br", [11], [], isCpf, true),
  form("br", [3, 3, 3, 2], [DOT, DOT, DASH], isCpf, false),
  form("br", [2, 3, 3, 4, 2], [DOT, DOT, SLASH, DASH], isCnpj, false),
  form("br", [14], [], isCnpj, true),
  form("in", [12], [], isAadhaar, true),
  form("in", [4, 4, 4], [BLANK, DASH], isAadhaar, false),
  form("jp", [12], [], isMyNumber, true),
  form("jp", [4, 4, 4], [BLANK, DASH], isMyNumber, true),
  form("fr", [15], [], isNir, false),
  form("fr", [13, 2], [BLANK], isNir, false),
  form("fr", [1, 2, 2, 2, 3, 3, 2], [BLANK, DOT, DASH], isNir, false),
  form("cn", [18], [], isResidentId, false),
];

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
  if (size === 8) return findDni(b, i);
  for (const one of FORMS_BY_SIZE[size]!) {
    const end = i + one.sizes.length;
    if ((matches.countries & one.bit) === 0 || !hasForm(one, i) || !groups.isDetachedAfter(end)) continue;
    if (!one.needsLabel && groups.separators[i] === BLANK && !(i === 0 && end === groups.count)) continue; // among other numbers
    if (one.needsLabel ? !isLabelled(b, i) : one.check === isNir && !beginsNir(b[groups.starts[i]!]!)) continue;
    work.spent += CHECK_COST;
    readDigits(b, i, end);
    if (!one.check(digits)) continue;
    const evidence = FORM | CHECKSUM | (one.sizes.length > 1 ? GROUPED : 0) | (isLabelled(b, i) ? LABEL : 0);
    if (matches.propose(NATIONAL_ID, groups.starts[i]!, groups.ends[end - 1]!, evidence) !== NOT_FOUND) return end;
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

function bitOf(country: Country): number {
  return 1 << COUNTRIES.indexOf(country);
}

/** Whether the config enables numbers of this country. */
export function isEnabled(country: Country): boolean {
  return (matches.countries & bitOf(country)) !== 0;
}

/** Spain: eight digits, a dash and a check letter. Without the dash it is a word (see `lettered-ids.ts`). */
function findDni(b: Uint8Array, i: number): number {
  const end = groups.ends[i]!;
  if (
    !isEnabled("es") ||
    b[end] !== DASH ||
    !isAt(b, end + 1, matches.end, UPPER) ||
    isAt(b, end + 2, matches.end, ALNUM)
  )
    return 0;
  let value = 0;
  for (let p = groups.starts[i]!; p < end; p++) value = value * 10 + b[p]! - 48;
  if (DNI_LETTERS.charCodeAt(value % 23) !== b[end + 1]) return 0;
  const found = matches.propose(NATIONAL_ID, groups.starts[i]!, end + 2, FORM | CHECKSUM);
  return found === NOT_FOUND ? 0 : i + 1;
}

function hasForm({ sizes, between, isOneEach }: NumberForm, i: number): boolean {
  if (i + sizes.length > groups.count) return false;
  for (let k = 0; k < sizes.length; k++) {
    if (groups.size(i + k) !== sizes[k]) return false;
    if (k === sizes.length - 1) break;
    const sign = groups.separators[i + k]!;
    if (isOneEach ? sign !== between[k] : sign !== groups.separators[i] || !between.includes(sign)) return false;
  }
  return true;
}

function readDigits(b: Uint8Array, from: number, to: number): void {
  let n = 0;
  for (let i = from; i < to; i++) for (let p = groups.starts[i]!; p < groups.ends[i]!; p++) digits[n++] = b[p]! - 48;
}

function isLabelled(b: Uint8Array, i: number): boolean {
  return (matches.hints & HINT_NATIONAL_ID) !== 0 || groups.followsWord(b, i, LABELS);
}
