import { AT, BLANK, COLON, DOT, EQUALS, LESS, LOWER_E, LOWER_Y, MORE, QUESTION, QUOTE, SLASH } from "../text/ascii.js";
import { ALNUM, BASE64URL, DIGIT, hasTextAt, isBefore, latin1, TOKEN } from "../text/characters.js";
import { BEARER_TOKEN, JWT, URL_CREDENTIALS } from "../text/detectors.js";
import { FORM, LABEL, PLACE, PLACEHOLDER, RANDOM, UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { hasNext, runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";
import { areRandomLetters } from "./long-word.js";
import { isTemplate } from "./placeholder.js";

/** Finds a JSON Web Token (signed or encrypted) whose `eyJ` ends with the J at `p`. */
export function findJwt(b: Uint8Array, p: number): number {
  const { end } = matches;
  const start = p - 2;
  if (
    start < matches.lastEnd ||
    b[p - 1] !== LOWER_Y ||
    b[start] !== LOWER_E ||
    isBefore(b, start, matches.floor, BASE64URL)
  )
    return NOT_FOUND;
  const header = runs.end(b, start, BASE64URL);
  if (header - start < 12 || b[header] !== DOT || header >= end) return NOT_FOUND;
  let last = runs.end(b, header + 1, BASE64URL);
  if (last - header < 5 || b[last] !== DOT || last >= end) return NOT_FOUND;
  last = runs.end(b, last + 1, BASE64URL);
  while (last < end && b[last] === DOT && runs.end(b, last + 1, BASE64URL) > last + 8)
    last = runs.end(b, last + 1, BASE64URL);
  return matches.propose(JWT, start, last, UNIQUE_FORM);
}

/** Finds the token after `Bearer `, or the credentials after `Basic `. The B is at `p`. */
export function findAuthorization(b: Uint8Array, p: number): number {
  if (isBefore(b, p, matches.floor, ALNUM)) return NOT_FOUND;
  if (isWord(b, p + 1, "earer")) return findBearer(b, afterBlanks(b, p + 6));
  if (isWord(b, p + 1, "asic")) return findBasic(b, afterBlanks(b, p + 5));
  return NOT_FOUND;
}

function findBearer(b: Uint8Array, start: number): number {
  if (start < 0) return NOT_FOUND;
  let stop = runs.end(b, start, TOKEN);
  work.spent += stop - start;
  const sign = b.subarray(start, stop).indexOf(EQUALS); // only at the end of a token: token_type=Bearer expires_in=60
  if (sign > 0 && b[stop - 1] !== EQUALS) stop = start + sign;
  while (stop > start && b[stop - 1] === DOT) stop--;
  if (stop - start < 8 || !(hasNext(b, start, stop, DIGIT) || areRandomLetters(b, start, stop))) return NOT_FOUND;
  return matches.propose(BEARER_TOKEN, start, stop, FORM | LABEL | RANDOM);
}

/** Finds base64 of `user:password`. Any other text after the word is prose. */
function findBasic(b: Uint8Array, start: number): number {
  if (start < 0) return NOT_FOUND;
  const stop = runs.end(b, start, TOKEN);
  if (stop - start < 4) return NOT_FOUND;
  work.spent += 3 * TEXT_COST + stop - start;
  const decoded = Buffer.from(latin1(b, start, stop), "base64").toString("latin1");
  return decoded.includes(":") && /^\P{Cc}*$/u.test(decoded)
    ? matches.propose(BEARER_TOKEN, start, stop, UNIQUE_FORM)
    : NOT_FOUND;
}

/** Finds user and password in a URL whose `://` begins at `p`. */
export function findUrlCredentials(b: Uint8Array, p: number): number {
  const start = p + 3;
  const limit = Math.min(matches.end, start + 512);
  let colon = -1;
  let at = -1;
  let stop = start;
  for (let i = start; i < limit; i++) {
    const c = b[i]!;
    if (c === AT) at = i;
    else if (c === COLON && colon < 0) colon = i;
    else if (c === SLASH || c === QUESTION || c <= BLANK || c === QUOTE || c === LESS || c === MORE) break;
    stop = i;
  }
  work.spent += stop - start;
  if (colon < 0 || at < colon || at === colon + 1) return NOT_FOUND;
  const sample = isSample(b, start, colon, at) ? PLACEHOLDER : 0;
  return matches.propose(URL_CREDENTIALS, start, at, UNIQUE_FORM | sample);
}

/** Whether user and password are words that documentation uses for them: `USER:PASSWORD@`, `<user>:<pass>@`. */
function isSample(b: Uint8Array, start: number, colon: number, at: number): boolean {
  work.spent += TEXT_COST;
  // At most 65 characters.
  return /^[<[{$%(]*user(?:name)?[>\]}%)]*:[<[{$%(]*(?:pass(?:word|wd)?|pwd|secret|\*+|x{3,})[>\]}%)]*$|:\*{3,}$|:\$(?:\{\w+\}|\w+)$|:%\w+%$|:\{\{.*\}\}$/i.test(
    `${latin1(b, start, Math.min(colon, start + 32))}:${latin1(b, colon + 1, Math.min(at, colon + 33))}`,
  );
}

function isWord(b: Uint8Array, p: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) if ((b[p + i]! | 32) !== word.charCodeAt(i)) return false;
  return p + word.length <= matches.end;
}

/** Returns the position after the spaces at `p`, or -1 if there are none. */
function afterBlanks(b: Uint8Array, p: number): number {
  if (hasTextAt(b, p, matches.end, "%20")) return p + 3;
  let q = p;
  while (q < matches.end && (b[q] === BLANK || b[q] === COLON) && q < p + 3) q++;
  return q === p ? NOT_FOUND : q;
}

/** A user and a password before the `@` of a host: `root:tiger@10.0.0.5`, `scott/tiger@//db1` after a command of Oracle. */
const LOGIN = /(?:^|[\s"'=(,[])([\w.-]{1,32}):([^\s:@/"']{3,64})$/;
const ORACLE_LOGIN =
  /(?:conn(?:ect)?|sqlplus|expdp|impdp|exp|imp|sqlldr|rman|target|catalog|auxiliary|userid|thin)\b[^\n]{0,40}?[\s:='"]([\w$]{1,32})\/([^\s@/"']{3,64})$/i;
/** Words before a colon that are no users; neither are names of classes, such as LeaseRenewer. */
const NO_USER =
  /^(?:sips?|mailto|acct|xmpp|ssh|git|npm|docker|image|tel|http|https|user|from|to|cc|bcc|by|email|mail)$/i;
const CLASS_NAME = /^[A-Z][a-z]+[A-Z][A-Za-z]*$/;
const HOST_AFTER =
  /^(?:\/\/)?(?!sha\d|latest)[a-z][\w-]{1,40}(?:[.:/ ,"')]|$)|^(?:\/\/)?\d{1,3}(?:\.\d{1,3}){3}(?:[:/ ,"')]|$)/i;
const MAX_LOGIN = 112;

/** Finds the password of a login whose `@` is at `p`. */
export function findLogin(b: Uint8Array, p: number): number {
  const from = Math.max(matches.lastEnd, p - MAX_LOGIN);
  let sign = p - 1;
  while (sign > from && b[sign]! > BLANK && b[sign] !== COLON && b[sign] !== SLASH && b[sign] !== AT) sign--;
  work.spent += p - sign;
  if (sign <= from || (b[sign] !== COLON && b[sign] !== SLASH)) return NOT_FOUND;
  work.spent += 4 * TEXT_COST;
  const before = latin1(b, from, p);
  if (!HOST_AFTER.test(latin1(b, p + 1, Math.min(matches.end, p + 48)))) return NOT_FOUND;
  const login = LOGIN.exec(before) ?? ORACLE_LOGIN.exec(before);
  if (login === null || NO_USER.test(login[1]!) || CLASS_NAME.test(login[1]!) || isTemplate(login[2]!))
    return NOT_FOUND;
  return matches.propose(URL_CREDENTIALS, p - login[2]!.length, p, FORM | PLACE);
}
