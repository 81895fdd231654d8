import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { latin1 } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, PLACE, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { PASSWORD_LABEL } from "./label-words.js";
import { labelBefore, labelEndingAt } from "./labels.js";

/** UTF-8 as it looks when it is read as Latin-1. */
const bytesOf = (text: string) => Buffer.from(text).toString("latin1");

/**
 * Words for a password in other languages, from a letter on that English does not have. The value behind them may have
 * no digit that would lead to them (see `after-label.ts`).
 */
const LATIN_WORDS = ["ña", "ło", "şifre", "şifreniz", "şifresi"];
const OTHER_WORDS = [
  "пароль",
  "Пароль",
  "كلمة المرور",
  "كلمة السر",
  "पासवर्ड",
  "パスワード",
  "密码",
  "密碼",
  "비밀번호",
];
/** Verbs that end a sentence about a password: `a senha é tiger`. */
const VERBS = ["é ", "è "];
const LINKS = "は 是 为 為 는 은 이 هي هو है to es jest temporal nueva это".split(" ").map(bytesOf);

/** Quotation marks before a value. */
const MARKS = ["「", "『", "“", "„", "«", "《", "【"];

const wordsThenValue = (words: readonly string[]) =>
  new RegExp(
    `^(?:${words.map(bytesOf).join("|")})["'\\]]?( ?(?:${LINKS.join("|")})?[ :=]{0,3})(["'\`]?)(?=[!-~]{4}|${MARKS.map(bytesOf).join("|")})`,
  );
const LATIN = wordsThenValue(LATIN_WORDS);
const OTHER = wordsThenValue(OTHER_WORDS);
const MAX_LENGTH = 80;

/** The first three bytes of these words. */
const FIRST = new Set([...LATIN_WORDS, ...OTHER_WORDS, ...VERBS].map((word) => threeBytes(Buffer.from(word), 0)));
/** Their first bytes, which are anchors of the scan. */
export const FOREIGN_ANCHORS: readonly number[] = [
  ...new Set([...LATIN_WORDS, ...OTHER_WORDS, ...VERBS].map((word) => Buffer.from(word)[0]!)),
];

function threeBytes(b: Uint8Array, p: number): number {
  return (b[p]! << 16) | (b[p + 1]! << 8) | b[p + 2]!;
}

/** Whether one of the words may begin at `p`. */
export function beginsForeignWord(b: Uint8Array, p: number): boolean {
  return FIRST.has(threeBytes(b, p));
}

/** Finds the password behind the word that begins at `p`. */
export function findInForeignProse(b: Uint8Array, p: number): number {
  if (!matches.isEnabled(ASSIGNED_SECRET) || p < matches.lastEnd) return NOT_FOUND;
  work.spent += 3 * TEXT_COST;
  if (b[p + 2] === 32) {
    if (labelBefore(b, p + 3, matches.lastEnd) !== PASSWORD_LABEL) return NOT_FOUND;
    assigned.read(b, p + 3);
    return isPlainWord(b) ? NOT_FOUND : proposeSecret(b, PASSWORD_LABEL, LABEL, false);
  }
  const text = latin1(b, p, Math.min(matches.end, p + MAX_LENGTH));
  const other = OTHER.exec(text);
  if (other !== null) return proposeAt(b, p + other[0].length - other[2]!.length, LABEL | PLACE, true);
  const latin = LATIN.exec(text);
  if (latin === null) return NOT_FOUND;
  const wordEnd = p + latin[0].length - latin[1]!.length - latin[2]!.length;
  if (labelEndingAt(b, wordEnd, matches.lastEnd) !== PASSWORD_LABEL) return NOT_FOUND;
  const isLinked = /[:=]/.test(latin[1]!) || latin[2] !== "";
  const isVerb = /[^ ]/.test(latin[1]!);
  const start = p + latin[0].length - latin[2]!.length;
  if (isLinked) return proposeAt(b, start, LABEL | SIGN, true);
  assigned.read(b, start);
  if (isVerb) return isPlainWord(b) ? NOT_FOUND : proposeSecret(b, PASSWORD_LABEL, LABEL | SIGN, true);
  const value = latin1(b, assigned.start, assigned.stop);
  return /[!#$%&*+?@^~\d]/.test(value) ? proposeSecret(b, PASSWORD_LABEL, LABEL, false) : NOT_FOUND;
}

/** Adjectives and adverbs that follow `la password è` and the like, by their endings in Romance and Slavic languages. */
const ORDINARY =
  /^(?:troppo|molto|sempre|muy|muito|demasiad[oa]|n[oa]n?|nie|wa[zż]ne|uguale|igual|debole|fraca|d.{1,2}bil|cort[oa]|curt[oa]|vuot[oa]|vazia)$|(?:[aeiu][td][aoei]|ori[aoe]|v[eo]l|ibile|ible|iv[aoe]|nt[ei]|os[aoe]|ess[aoe]|ett[aoe]|[aowo]n[ey]|owe|r[io]a|c[ao]|n[ey])$/;

/** Whether the value that was read last is such a word. */
function isPlainWord(b: Uint8Array): boolean {
  const value = latin1(b, assigned.start, assigned.stop).replace(/[.,:;!]$/, "");
  return !assigned.isQuoted && /^[a-z\x80-\xff]+$/.test(value) && ORDINARY.test(value);
}

function proposeAt(b: Uint8Array, start: number, evidence: number, isExact: boolean): number {
  assigned.read(b, start);
  return proposeSecret(b, PASSWORD_LABEL, evidence, isExact);
}
