import {
  ACCOUNT_LABEL,
  AUTHORIZATION_LABEL,
  BIRTH_LABEL,
  CODE_WORD_LABEL,
  COOKIE_LABEL,
  DOCUMENT_LABEL,
  LICENCE_LABEL,
  NATIONAL_LABEL,
  NO_LABEL,
  OTHER_LABEL,
  PASSPORT_LABEL,
  PASSWORD_LABEL,
  QUERY_LABEL,
  SECRET_LABEL,
  SOME_KEY_LABEL,
} from "../labels/label-words.js";
import { findLabelledValue } from "../labels/labelled-value.js";
import { label, labelBefore } from "../labels/labels.js";
import { AMPERSAND, BLANK, COLON, EQUALS, HASH, OPEN_BRACE, PLUS, QUESTION } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt, LETTER, latin1, NAME, SECRET } from "../text/characters.js";
import { API_KEY, ASSIGNED_SECRET } from "../text/detectors.js";
import { COMMON_FORM, FORM, LABEL, PLACE, PLACEHOLDER, PROSE, RANDOM, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "../text/matches.js";
import { hasNext } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";
import { assigned } from "./assigned-value.js";
import { firstSecretCookie } from "./cookies.js";
import { areRandomLetters } from "./long-word.js";
import { isPlaceholder } from "./placeholder.js";
import { findPrivateKey } from "./private-key.js";

/** Schemes that may stand before the secret of an `Authorization`. The detector bearer_token handles the others. */
// At most 64 characters.
const AUTH_SCHEME =
  /^(?:token|api-?key|key|bot|oauth|ssws|splunk|geniekey|negotiate|ntlm|flyv1|[A-Z][A-Za-z\d-]{2,20}(?= +[\w.~+/=-]{20,}(?!\S))) +/i;
/** Schemes that a list of names and values follows. */
const AUTH_LIST = /^(?:digest|hawk|oauth|signature|aws4-hmac-sha256|sharedkey(?:lite)?|mac) +\w+=/i;
const MAX_SCHEME_LENGTH = 64;
const MAX_WORD_LENGTH = 40;

/** Finds the value that the `=` or `:` at `p` assigns to a name such as `password`, `api_key` or `dob`. */
export function findAssignedSecret(b: Uint8Array, p: number): number {
  const kind = labelBefore(b, p + 1, matches.lastEnd);
  if (kind === NO_LABEL || kind === OTHER_LABEL) return RULED_OUT;
  if (isPublic(b, label.start) || isResourceName(b, p) || isCondition(b, p)) return NOT_FOUND;
  assigned.read(b, p + 1);
  if (kind === DOCUMENT_LABEL) return findDocument(b, assigned.start);
  if (kind === SOME_KEY_LABEL) return findSomeKey(b, assigned.start);
  if (kind === CODE_WORD_LABEL) {
    if (!isInQuery(b) || !matches.isEnabled(ASSIGNED_SECRET)) return findSentCode(b, assigned.start);
    assigned.cut(b, true);
    return proposeSecret(b, QUERY_LABEL, LABEL | SIGN, true);
  }
  if (kind >= BIRTH_LABEL) return findLabelledValue(b, kind, afterBracket(b, assigned.start, kind), LABEL | SIGN);
  if (!matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  if (kind === COOKIE_LABEL) return findCookies(b);
  if (kind === AUTHORIZATION_LABEL) passScheme(b);
  if (kind === QUERY_LABEL && !isInQuery(b)) return NOT_FOUND;
  assigned.cut(b, kind !== PASSWORD_LABEL);
  return proposeSecret(b, kind, LABEL | SIGN, b[p] === EQUALS || b[p + 1]! > BLANK);
}

/** Whether the label is part of the name of a resource in AWS: `arn:aws:secretsmanager:eu-west-1:...:secret:db`. */
function isResourceName(b: Uint8Array, p: number): boolean {
  if (b[p] !== COLON || label.start <= matches.floor || b[label.start - 1] !== COLON) return false;
  work.spent += TEXT_COST;
  // At most 64 characters.
  return /\barn:[a-z-]+:[^\s"']*$/.test(latin1(b, Math.max(matches.floor, p - MAX_NEAR), p));
}

/** Whether a message or an alternative of a shell follows the name of its variable: `${API_KEY:?missing}`. */
function isCondition(b: Uint8Array, p: number): boolean {
  return (b[p + 1] === QUESTION || b[p + 1] === PLUS) && b[label.start - 1] === OPEN_BRACE && b[p] === COLON;
}

/** Words that say that a code was sent to a person, before or behind it. */
const CODE_NEAR = new RegExp(
  Buffer.from(
    "verif|otp|one.?time|\\bsms\\b|2fa|mfa|totp|passcode|sign.?in|log.?in|password|recover|recuper|pickup|pick-up|locker|" +
      "inviat|envi(?:ó|ad|ou|ar)|envoy|gesendet|verschickt|zugestellt|wysłan|отправлен|надіслан|送信|发送|发至|전송|gönder|verzonden|skickad|sendt|lähetet|odesl|trimis|elküld|sesión|sıfırla",
  ).toString("latin1"),
  "i",
);
/** Words behind which a code is something else. */
const OTHER_CODE =
  /(?:err|fehler|status|http|exit|post|zip|reason|result|response|return|promo|coupon|currency|country|area|product|item|\bsku|airport|iata|dress|source|qr)\S{0,12} $/i;
// At most 12 characters.
const SENT_CODE = /^(?:\d{5,8}|\d{3}[- ]\d{3}|\d\d[- ]\d\d[- ]\d\d|(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{6,8})(?![\w.:/-])/;
/** Four digits are a code only behind a sign, because errors have such codes too. */
const SHORT_CODE = /^\d{4}(?![\w.:/-])/;

/** Finds the code at `start` that a person was sent, if words around its label are about that. */
export function findSentCode(b: Uint8Array, start: number): number {
  work.spent += 3 * TEXT_COST;
  const text = latin1(b, start, Math.min(matches.end, start + 12));
  const isShort = label.hasSign && SHORT_CODE.test(text);
  const size = SENT_CODE.exec(text)?.[0].length ?? (isShort ? 4 : 0);
  if (size === 0 || !matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  const before = latin1(b, Math.max(matches.floor, label.start - MAX_NEAR), label.start);
  if (OTHER_CODE.test(before)) return NOT_FOUND;
  if (!CODE_NEAR.test(before)) {
    const after = latin1(b, start + size, Math.min(matches.end, start + size + MAX_NEAR / 2));
    if (isShort || !CODE_NEAR.test(after)) {
      matches.hasBarePosition = true;
      return NOT_FOUND;
    }
  }
  return matches.propose(ASSIGNED_SECRET, start, start + size, FORM | LABEL | (label.hasSign ? SIGN : 0));
}

/** Hexadecimal and other keys that are too long and too random to be anything else. */
// At most 72 characters.
const SOME_KEY =
  /^(?:[\da-f]{32}|[\da-f]{40}|[\da-f]{48}|[\da-f]{64}|(?=[a-z]*[A-Z\d]*\d)(?=[^A-Z]*[A-Z])[A-Za-z\d_-]{24,64}={0,2})(?![\w.:/-])/i;

/** Finds the long random key at `start`, behind a name that other values have too: `routing_key=`. */
export function findSomeKey(b: Uint8Array, start: number): number {
  if (!matches.isEnabled(ASSIGNED_SECRET) || start < matches.lastEnd) return NOT_FOUND;
  work.spent += TEXT_COST;
  const key = SOME_KEY.exec(latin1(b, start, Math.min(matches.end, start + 72)))?.[0];
  if (key === undefined || !/\d/.test(key)) return NOT_FOUND;
  return matches.propose(ASSIGNED_SECRET, start, start + key.length, LABEL | COMMON_FORM | RANDOM);
}

/** Finds the text in quotes behind the arrow at `p` if the match before the arrow is a secret. */
export function findNewValue(b: Uint8Array, p: number): number {
  if (matches.detectors[matches.count - 1] !== ASSIGNED_SECRET) return NOT_FOUND;
  assigned.read(b, p + 1);
  return assigned.isQuoted ? proposeSecret(b, PASSWORD_LABEL, LABEL | SIGN, true) : NOT_FOUND;
}

const DOCUMENT_NEAR =
  /(passport|\bapis\b|travel_?doc|doc(?:ument)?_?type["']?[=:] ?["']?p\b|reisepass|passeport|pasaporte|licen[cs]e|führerschein|national|identity|id.?card|\bid\b|dni|ausweis)[^\n]{0,40}$/i;
const MAX_NEAR = 64;

/** Finds the number of a document whose kind a word before its label tells. */
function findDocument(b: Uint8Array, start: number): number {
  work.spent += TEXT_COST;
  const near = DOCUMENT_NEAR.exec(latin1(b, Math.max(matches.lastEnd, label.start - MAX_NEAR), label.start));
  if (near === null) return NOT_FOUND;
  const kind = /^(?:pass|reise|pasa|doc|apis|travel)/i.test(near[1]!)
    ? PASSPORT_LABEL
    : /^licen|^f/i.test(near[1]!)
      ? LICENCE_LABEL
      : NATIONAL_LABEL;
  return findLabelledValue(b, kind, start, LABEL | SIGN);
}

/** Proposes the value that was read last as the secret that a label of this kind announces. */
export function proposeSecret(b: Uint8Array, kind: number, evidence: number, isExact: boolean): number {
  const { start, stop } = assigned;
  const key = b[start] === 45 && matches.isEnabled(API_KEY) ? findPrivateKey(b, start) : NOT_FOUND;
  if (key >= 0) return key;
  if (start >= stop || start < matches.lastEnd) return NOT_FOUND;
  return matches.propose(ASSIGNED_SECRET, start, stop, evidence | valueEvidence(b, kind, isExact));
}

/** The evidence in the value that was read last. `isExact` means that it can be nothing but a value. */
function valueEvidence(b: Uint8Array, kind: number, isExact: boolean): number {
  const { start, stop, isQuoted } = assigned;
  if (isPlaceholder(b, start, stop)) return PLACEHOLDER;
  const size = stop - start;
  const isRandom = looksSecret(b, start, stop);
  if (kind === QUERY_LABEL) return size >= 16 && isRandom ? RANDOM : PROSE;
  if (kind !== PASSWORD_LABEL) return size >= 8 && isRandom && !isCounter(b, start, stop) ? RANDOM : PROSE;
  if (isExact || isQuoted) return size >= 3 ? COMMON_FORM | (isRandom ? RANDOM : 0) : PROSE;
  if (isRandom || hasSymbol(b, start, stop)) return size >= 4 ? COMMON_FORM | RANDOM : PROSE;
  return size >= 4 && endsValue(b, stop) ? COMMON_FORM | PLACE : PROSE;
}

/** Whether the value is a number in hex such as 0x24f3fdaf7380008, or two numbers: such ids are counted, not random. */
function isCounter(b: Uint8Array, start: number, stop: number): boolean {
  if (stop - start > MAX_COUNTER || !isAt(b, start, stop, DIGIT)) return false;
  work.spent += TEXT_COST;
  return /^(?:0x[\da-f]+|\d+[_:.-]\d+)$/i.test(latin1(b, start, stop));
}

const MAX_COUNTER = 20;

/** Whether the end of the line, of the quotes or of the clause follows the value, so that it is not prose. */
function endsValue(b: Uint8Array, p: number): boolean {
  return p >= matches.end || ENDS_VALUE[b[p]!] === 1;
}

const ENDS_VALUE = new Uint8Array(256);
for (const c of "\n\r\"'`\\,;|)]}<") ENDS_VALUE[c.charCodeAt(0)] = 1;

function hasSymbol(b: Uint8Array, start: number, stop: number): boolean {
  for (let p = start; p < stop - 1; p++) if (SYMBOLS[b[p]!] === 1) return true;
  return b[stop - 1] === 33;
}

const SYMBOLS = new Uint8Array(256);
for (const c of "!#$%&*+?@^~") SYMBOLS[c.charCodeAt(0)] = 1;

/** Whether the value has letters and digits, at least six digits alone, or random letters. */
export function looksSecret(b: Uint8Array, start: number, stop: number): boolean {
  if (!hasNext(b, start, stop, DIGIT)) return areRandomLetters(b, start, stop);
  return hasNext(b, start, stop, LETTER) || stop - start >= MIN_DIGITS;
}

const MIN_DIGITS = 6;

/** Values such as `Key (ssn)=(123-45-6789)` are in brackets. A position may keep them. */
function afterBracket(b: Uint8Array, start: number, kind: number): number {
  return (b[start] === 40 || b[start] === 91) && kind !== ACCOUNT_LABEL ? start + 1 : start;
}

/** Skips the name of a scheme and the space after it, if there is one: `Authorization: Token abc`. */
function passScheme(b: Uint8Array): void {
  work.spent += TEXT_COST;
  const { start, isQuoted } = assigned;
  const begin = !isQuoted && b[start] === 91 ? start + 1 : start;
  const text = latin1(b, begin, Math.min(matches.end, begin + MAX_SCHEME_LENGTH));
  if (AUTH_LIST.test(text)) {
    assigned.start = begin + text.indexOf(" ") + 1;
    assigned.stop = Math.max(assigned.stop, assigned.start);
    while (assigned.stop < matches.end && b[assigned.stop] !== 10 && b[assigned.stop] !== 13) assigned.stop++;
    work.spent += assigned.stop - assigned.start;
    return;
  }
  const scheme = AUTH_SCHEME.exec(text);
  if (scheme === null) return;
  if (isQuoted) assigned.start = begin + scheme[0].length;
  else assigned.readPlain(b, begin + scheme[0].length);
}

/** Finds the values of the names after `Cookie` or `Set-Cookie`, from the first one that may identify a visitor. */
function findCookies(b: Uint8Array): number {
  const { start } = assigned;
  const nameEnd = nameStop(b, start);
  if (nameEnd === start || b[nameEnd] !== EQUALS || !isAt(b, nameEnd + 1, matches.end, SECRET))
    return assigned.stop - start >= MIN_COOKIE ? proposeSecret(b, SECRET_LABEL, LABEL | SIGN, true) : NOT_FOUND;
  assigned.extendToLineEnd(b);
  const secret = firstSecretCookie(b, start, assigned.stop);
  const evidence = secret < 0 ? PLACEHOLDER : COMMON_FORM | PLACE;
  return matches.propose(ASSIGNED_SECRET, Math.max(secret, nameEnd + 1), assigned.stop, LABEL | SIGN | evidence);
}

/** A shorter text after `cookie` that is no pair is a word about it. */
const MIN_COOKIE = 20;

function nameStop(b: Uint8Array, p: number): number {
  const limit = Math.min(matches.end, p + MAX_WORD_LENGTH);
  while (p < limit && (CHARACTER_BITS[b[p]!]! & NAME) !== 0) p++;
  return p;
}

function isInQuery(b: Uint8Array): boolean {
  const before = label.start > matches.floor ? b[label.start - 1] : 0;
  return before === QUESTION || before === AMPERSAND || before === HASH;
}

/** Whether the word that ends before `p` names a public key. */
function isPublic(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.lastEnd, p - MAX_WORD_LENGTH);
  let c = p - 1;
  while (c >= floor && (CHARACTER_BITS[b[c]!]! & NAME) !== 0 && !isPublicEnd(b, c)) c--;
  work.spent += p - c;
  return c >= floor && isPublicEnd(b, c);
}

/** Whether a `public` ends with the `c` at `p`. */
function isPublicEnd(b: Uint8Array, p: number): boolean {
  return (b[p]! | 32) === 99 && p >= matches.floor + 5 && /^public$/i.test(latin1(b, p - 5, p + 1));
}
