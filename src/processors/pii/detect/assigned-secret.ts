import {
  AMPERSAND,
  APOSTROPHE,
  BACKSLASH,
  BLANK,
  DASH,
  DOLLAR,
  DOT,
  EQUALS,
  LESS,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  PERCENT,
  QUOTE,
  STAR,
} from "./ascii.js";
import { CHARACTER_BITS, DIGIT, hasAny, LETTER, latin1, VALUE_END, WORD } from "./characters.js";
import { ASSIGNED_SECRET } from "./detectors.js";
import { matches, NOT_FOUND } from "./matches.js";
import { areRandomLetters } from "./random-letters.js";
import { MASK } from "./treated.js";

/** Words behind which a secret stands whatever it looks like, and words behind which it must look like one. */
const STRONG_WORDS = /(?:password|passwd|passphrase|pwd|client_?secret|secret_?key|private_?key|api_?key|apikey)$/;
const WEAK_WORDS = /(?:secret|token|access_?key|auth|authorization|credential|credentials)$/;
const AUTHORIZATION = /(?:^|_)auth(?:orization)?$/;
/** Schemes that may stand before the secret of an `Authorization`; the detector bearer_token knows the others. */
const AUTH_SCHEME = /^(?:token|api-?key|key|bot|oauth|ssws|splunk|geniekey) +/i;
const MAX_SCHEME_LENGTH = 16;
const LAST_LETTERS = new Uint8Array(256);
for (const c of "dDeEyYtTnNhHlLsS") LAST_LETTERS[c.charCodeAt(0)] = 1;

const MAX_WORD_LENGTH = 40;
/** As far as a value is looked at before it is known to be a secret: what is none must not cost more. */
const MAX_LOOKAHEAD = 128;

/** Words that stand in the place of a secret and are none. */
const PLACEHOLDER_WORDS =
  /^(?:null|nil|none|true|false|undefined|required|missing|invalid|expired|empty|unset|changed|redacted|removed|filtered|hidden|string|yes|no|ok|x+|\.+)$/i;

/** The value that is assigned to a word like `password` or `api_key` by the `=` or `:` at `p`. */
export function findAssignedSecret(b: Uint8Array, p: number): number {
  const { floor, end } = matches;
  let last = p - 1;
  while (last >= floor && (b[last] === QUOTE || b[last] === APOSTROPHE || b[last] === BACKSLASH)) last--;
  if (last === p - 1 && last > floor && b[last] === BLANK) last--;
  if (last < floor || LAST_LETTERS[b[last]!] === 0) return NOT_FOUND;
  const word = wordBefore(b, last + 1);
  if (word.includes("public")) return NOT_FOUND;
  const isStrong = STRONG_WORDS.test(word);
  if (!isStrong && !WEAK_WORDS.test(word)) return NOT_FOUND;
  const begin = valueStart(b, p + 1);
  const start = AUTHORIZATION.test(word) ? afterScheme(b, begin) : begin;
  const isQuoted = begin > p + 1 && b[begin - 1] !== BLANK;
  const quote = isQuoted ? b[begin - 1]! : 0;
  const stop = valueEnd(b, start, Math.min(end, start + MAX_LOOKAHEAD), quote);
  if (start >= stop || stop > end || isPlaceholder(b, start, stop)) return NOT_FOUND;
  const isCertain = isStrong && (b[p] === EQUALS || (isQuoted && last < p - 1));
  if (stop - start < (isCertain ? 3 : isStrong ? 6 : 8) || (!isCertain && !looksSecret(b, start, stop)))
    return NOT_FOUND;
  return matches.add(ASSIGNED_SECRET, start, valueEnd(b, start, end, quote));
}

function looksSecret(b: Uint8Array, start: number, stop: number): boolean {
  return hasAny(b, start, stop, DIGIT) ? hasAny(b, start, stop, LETTER) : areRandomLetters(b, start, stop);
}

/** Behind the name of a scheme, if there is one, and its blank: `Authorization: Token abc`. */
function afterScheme(b: Uint8Array, p: number): number {
  const scheme = AUTH_SCHEME.exec(latin1(b, p, Math.min(matches.end, p + MAX_SCHEME_LENGTH)));
  return scheme === null ? p : p + scheme[0].length;
}

/** The word that ends before `p`, with its dashes and dots as `_`, in lower case. */
function wordBefore(b: Uint8Array, p: number): string {
  const floor = Math.max(matches.lastEnd, p - MAX_WORD_LENGTH);
  let start = p;
  while (
    start > floor &&
    ((CHARACTER_BITS[b[start - 1]!]! & WORD) !== 0 || b[start - 1] === DASH || b[start - 1] === DOT)
  )
    start--;
  return latin1(b, start, p).toLowerCase().replaceAll("-", "_").replaceAll(".", "_");
}

function valueStart(b: Uint8Array, p: number): number {
  const { end } = matches;
  if (p < end && b[p] === BLANK) p++;
  while (p < end && b[p] === BACKSLASH) p++;
  return p < end && (b[p] === QUOTE || b[p] === APOSTROPHE) ? p + 1 : p;
}

function valueEnd(b: Uint8Array, start: number, limit: number, quote: number): number {
  let p = start;
  if (quote === QUOTE || quote === APOSTROPHE) {
    while (p < limit && b[p] !== quote && b[p] !== BACKSLASH) p++;
    return p;
  }
  while (p < limit && (CHARACTER_BITS[b[p]!]! & VALUE_END) === 0 && b[p] !== AMPERSAND) p++;
  while (p > start && b[p - 1] === DOT) p--;
  return p;
}

/** A template's variable, a word that says there is none, or what a treatment left. */
function isPlaceholder(b: Uint8Array, start: number, stop: number): boolean {
  const first = b[start]!;
  if (
    first === STAR ||
    first === DOLLAR ||
    first === PERCENT ||
    first === OPEN_BRACKET ||
    first === LESS ||
    first === OPEN_BRACE
  )
    return true;
  const text = latin1(b, start, Math.min(stop, start + 12));
  return (
    text.includes(MASK) ||
    text.startsWith("hash(") ||
    (text === "hash" && stop < matches.end && b[stop] === OPEN_PAREN) ||
    PLACEHOLDER_WORDS.test(text)
  );
}
