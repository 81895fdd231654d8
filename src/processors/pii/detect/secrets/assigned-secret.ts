import { AMPERSAND, APOSTROPHE, BACKSLASH, BLANK, COLON, EQUALS, HASH, QUESTION, QUOTE, TAB } from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt, LETTER, latin1, NAME, SECRET } from "../text/characters.js";
import { API_KEY, ASSIGNED_SECRET } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { hasNext } from "../text/runs.js";
import { MASK } from "../text/treated.js";
import { TEXT_COST, work } from "../text/work.js";
import { assigned } from "./assigned-value.js";
import { findLabelled } from "./labelled.js";
import { findPrivateKey } from "./private-key.js";
import { areRandomLetters } from "./random-letters.js";
import {
  AUTHORIZATION_WORD,
  BIRTH_WORD,
  COOKIE_WORD,
  NO_WORD,
  QUERY_WORD,
  STRONG_WORD,
  wordEndingAt,
  wordStart,
} from "./secret-words.js";

/** Schemes that may stand before the secret of an `Authorization`. The detector bearer_token handles the others. */
const AUTH_SCHEME = /^(?:token|api-?key|key|bot|oauth|ssws|splunk|geniekey|negotiate|ntlm|flyv1) +/i;
/** Schemes that a list of names and values follows. */
const AUTH_LIST = /^(?:digest|hawk|oauth|signature|aws4-hmac-sha256|sharedkey(?:lite)?|mac) +\w+=/i;
const MAX_SCHEME_LENGTH = 64;
const MAX_WORD_LENGTH = 40;

/** Words that stand in the place of a secret but are not secret. */
const PLACEHOLDER_WORDS =
  /^(?:null|nil|none|true|false|undefined|required|missing|invalid|expired|empty|unset|changed|redacted|removed|filtered|hidden|string|yes|no|ok|x+|\.+|set|reset|updated|wrong|incorrect|mismatch|failed|failure|rejected|denied|accepted|enabled|disabled|unknown|unavailable|optional|present|absent|provided|stored|encrypted|hashed|verified|default|weak|strong|rotated|revoked|masked|secret|password)$/i;
/** Template variables, and replacements that this processor has written. */
const PLACEHOLDER =
  /^(?:\*+|\$(?:[A-Z_][A-Z\d_]*|[a-z_]+|\{.*|\(.*)|%(?:[a-z]|[A-Z_]+%|\(\w+\)s)|\{\{?[\w .-]*\}?\}|<[\w ./-]*>|\[[\w .-]*\]|hash\([\da-f]{32}\).*)$/;
const MAX_PLACEHOLDER_LENGTH = 64;

/** Finds the value that the `=` or `:` at `p` assigns to a name such as `password`, `api_key` or `dob`. */
export function findAssignedSecret(b: Uint8Array, p: number): number {
  const { floor, lastEnd } = matches;
  let last = p - 1;
  while (last >= floor && last > p - 8 && (b[last] === QUOTE || b[last] === APOSTROPHE || b[last] === BACKSLASH))
    last--;
  if (last === p - 1 && last > floor && (b[last] === BLANK || b[last] === TAB)) last--;
  const kind = wordEndingAt(b, last + 1, lastEnd);
  if (kind === NO_WORD || isPublic(b, last + 1)) return NOT_FOUND;
  assigned.read(b, p + 1);
  if (kind >= BIRTH_WORD) return findLabelled(b, kind, assigned.start);
  if (!matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  if (kind === COOKIE_WORD) return findCookies(b);
  if (kind === AUTHORIZATION_WORD) passScheme(b);
  if (kind === QUERY_WORD && !isInQuery(b)) return NOT_FOUND;
  assigned.cut(b, kind !== STRONG_WORD);
  const key = b[assigned.start] === 45 && matches.isEnabled(API_KEY) ? findPrivateKey(b, assigned.start) : NOT_FOUND;
  if (key !== NOT_FOUND) return key;
  const { start, stop } = assigned;
  if (start >= stop || isPlaceholder(b, start, stop)) return NOT_FOUND;
  return isSecret(b, p, kind, last < p - 1) ? matches.add(ASSIGNED_SECRET, start, stop) : NOT_FOUND;
}

/** Whether the value that was read last, after the sign at `p`, is the secret that the name announces. */
function isSecret(b: Uint8Array, p: number, kind: number, isNameQuoted: boolean): boolean {
  const { start, stop, isQuoted } = assigned;
  const size = stop - start;
  if (kind === QUERY_WORD) return size >= 16 && looksSecret(b, start, stop);
  if (kind !== STRONG_WORD) return size >= 8 && looksSecret(b, start, stop);
  if (b[p] === EQUALS || (isQuoted && isNameQuoted)) return size >= 3;
  return size >= 6 && (looksSecret(b, start, stop) || endsLine(b, stop));
}

/** Whether only the end of the line or of the quotes follows the value, so that it is not prose. */
function endsLine(b: Uint8Array, p: number): boolean {
  return p >= matches.end || b[p] === 10 || b[p] === 13 || b[p] === QUOTE || b[p] === BACKSLASH;
}

function looksSecret(b: Uint8Array, start: number, stop: number): boolean {
  return hasNext(b, start, stop, DIGIT) ? hasNext(b, start, stop, LETTER) : areRandomLetters(b, start, stop);
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

/** Finds all values of the names after `Cookie` or `Set-Cookie`. */
function findCookies(b: Uint8Array): number {
  const { start } = assigned;
  const nameEnd = nameStop(b, start);
  if (nameEnd === start || b[nameEnd] !== EQUALS || !isAt(b, nameEnd + 1, matches.end, SECRET)) return NOT_FOUND;
  assigned.extendToLineEnd(b);
  if (isPlaceholder(b, nameEnd + 1, assigned.stop)) return NOT_FOUND;
  return matches.add(ASSIGNED_SECRET, nameEnd + 1, assigned.stop);
}

function nameStop(b: Uint8Array, p: number): number {
  const limit = Math.min(matches.end, p + MAX_WORD_LENGTH);
  while (p < limit && (CHARACTER_BITS[b[p]!]! & NAME) !== 0) p++;
  return p;
}

function isInQuery(b: Uint8Array): boolean {
  const before = wordStart > matches.floor ? b[wordStart - 1] : 0;
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

/**
 * Whether the value is a template variable, a word for a missing value, or a replacement that this processor has
 * written.
 */
function isPlaceholder(b: Uint8Array, start: number, stop: number): boolean {
  work.spent += TEXT_COST;
  const text = latin1(b, start, Math.min(stop, start + MAX_PLACEHOLDER_LENGTH));
  if (text.slice(0, 12).includes(MASK) || PLACEHOLDER.test(text) || PLACEHOLDER_WORDS.test(text)) return true;
  return b[start] === 123 && (b[start + 1] === QUOTE || b[start + 1] === COLON); // an object
}
