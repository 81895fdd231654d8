import {
  APOSTROPHE,
  BACKSLASH,
  BLANK,
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
} from "../text/ascii.js";
import { CHARACTER_BITS, DIGIT, IN_APOSTROPHES, IN_QUOTES, LETTER, latin1, NAME, VALUE } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { hasNext, runs } from "../text/runs.js";
import { MASK } from "../text/treated.js";
import { TEXT_COST, work } from "../text/work.js";
import { areRandomLetters } from "./random-letters.js";
import { AUTHORIZATION_WORD, NO_WORD, STRONG_WORD, wordEndingAt } from "./secret-words.js";

/** Schemes that may stand before the secret of an `Authorization`; the detector bearer_token knows the others. */
const AUTH_SCHEME = /^(?:token|api-?key|key|bot|oauth|ssws|splunk|geniekey) +/i;
const MAX_SCHEME_LENGTH = 16;
const MAX_WORD_LENGTH = 40;

/** Words that stand in the place of a secret and are none. */
const PLACEHOLDER_WORDS =
  /^(?:null|nil|none|true|false|undefined|required|missing|invalid|expired|empty|unset|changed|redacted|removed|filtered|hidden|string|yes|no|ok|x+|\.+)$/i;

/** The value that is assigned to a word like `password` or `api_key` by the `=` or `:` at `p`. */
export function findAssignedSecret(b: Uint8Array, p: number): number {
  const { floor, end, lastEnd } = matches;
  let last = p - 1;
  while (last >= floor && last > p - 8 && (b[last] === QUOTE || b[last] === APOSTROPHE || b[last] === BACKSLASH))
    last--;
  if (last === p - 1 && last > floor && b[last] === BLANK) last--;
  const kind = wordEndingAt(b, last + 1, lastEnd);
  if (kind === NO_WORD || isPublic(b, last + 1)) return NOT_FOUND;
  const begin = valueStart(b, p + 1);
  const start = kind === AUTHORIZATION_WORD ? afterScheme(b, begin) : begin;
  const isQuoted = begin > p + 1 && b[begin - 1] !== BLANK;
  const quote = isQuoted ? b[begin - 1]! : 0;
  const stop = valueEnd(b, start, quote);
  if (start >= stop || stop > end || isPlaceholder(b, start, stop)) return NOT_FOUND;
  const isStrong = kind === STRONG_WORD;
  const isCertain = isStrong && (b[p] === EQUALS || (isQuoted && last < p - 1));
  if (stop - start < (isCertain ? 3 : isStrong ? 6 : 8) || (!isCertain && !looksSecret(b, start, stop)))
    return NOT_FOUND;
  return matches.add(ASSIGNED_SECRET, start, stop);
}

function looksSecret(b: Uint8Array, start: number, stop: number): boolean {
  return hasNext(b, start, stop, DIGIT) ? hasNext(b, start, stop, LETTER) : areRandomLetters(b, start, stop);
}

/** Behind the name of a scheme, if there is one, and its blank: `Authorization: Token abc`. */
function afterScheme(b: Uint8Array, p: number): number {
  work.spent += TEXT_COST;
  const scheme = AUTH_SCHEME.exec(latin1(b, p, Math.min(matches.end, p + MAX_SCHEME_LENGTH)));
  return scheme === null ? p : p + scheme[0].length;
}

/** Is the word that ends before `p` a public key's? */
function isPublic(b: Uint8Array, p: number): boolean {
  const floor = Math.max(matches.lastEnd, p - MAX_WORD_LENGTH);
  let c = p - 1;
  while (c >= floor && (CHARACTER_BITS[b[c]!]! & NAME) !== 0 && !isPublicEnd(b, c)) c--;
  work.spent += p - c;
  return c >= floor && isPublicEnd(b, c);
}

/** Is there a `public` whose `c` is at `p`? */
function isPublicEnd(b: Uint8Array, p: number): boolean {
  return (b[p]! | 32) === 99 && p >= matches.floor + 5 && /^public$/i.test(latin1(b, p - 5, p + 1));
}

function valueStart(b: Uint8Array, p: number): number {
  const { end } = matches;
  if (p < end && b[p] === BLANK) p++;
  while (p < end && b[p] === BACKSLASH) p++;
  return p < end && (b[p] === QUOTE || b[p] === APOSTROPHE) ? p + 1 : p;
}

function valueEnd(b: Uint8Array, start: number, quote: number): number {
  if (quote === QUOTE) return runs.end(b, start, IN_QUOTES);
  if (quote === APOSTROPHE) return runs.end(b, start, IN_APOSTROPHES);
  let p = runs.end(b, start, VALUE);
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
  work.spent += TEXT_COST;
  const text = latin1(b, start, Math.min(stop, start + 12));
  return (
    text.includes(MASK) ||
    text.startsWith("hash(") ||
    (text === "hash" && stop < matches.end && b[stop] === OPEN_PAREN) ||
    PLACEHOLDER_WORDS.test(text)
  );
}
