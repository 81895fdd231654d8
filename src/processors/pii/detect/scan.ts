import { findEmail } from "./email.js";
import { findIpv6 } from "./ipv6.js";
import { beginsOption, findOption } from "./labels/command-line.js";
import { findInElement } from "./labels/element.js";
import { beginsForeignWord, FOREIGN_ANCHORS, findInForeignProse } from "./labels/foreign-prose.js";
import { findLabelledValue } from "./labels/labelled-value.js";
import { mayFollowLabel } from "./labels/labels.js";
import { findInProse } from "./labels/prose.js";
import { beginsPhrase, findSeedPhrase } from "./numbers/crypto-address.js";
import { beginsMac, findMac } from "./numbers/mac.js";
import { findNumbers, positionOf } from "./numbers/numbers.js";
import { beginsStripe } from "./numbers/payment-card.js";
import {
  endsPrefix,
  findAlibabaKey,
  findApiKey,
  findAsanaToken,
  findAwsKey,
  findBotToken,
  findMarkedKey,
  findStorageKey,
  KEY_ENDINGS,
} from "./secrets/api-key.js";
import { findAssignedSecret, findNewValue } from "./secrets/assigned-secret.js";
import { findEncoded } from "./secrets/encoded.js";
import { escapeStart, findEscaped, mayBeInEscape } from "./secrets/escaped.js";
import { findDiscordToken } from "./secrets/long-word.js";
import { findKeyMember, findPrivateKey, mayFollowMember } from "./secrets/private-key.js";
import { findAuthorization, findJwt, findLogin, findUrlCredentials } from "./secrets/tokens.js";
import { BLANK, PERCENT, SLASH } from "./text/ascii.js";
import { CHARACTER_BITS, DIGIT, isAt } from "./text/characters.js";
import {
  API_KEY,
  ASSIGNED_SECRET,
  BANK_ACCOUNT,
  BEARER_TOKEN,
  CRYPTO_ADDRESS,
  DATE_OF_BIRTH,
  DEVICE_ID,
  DRIVING_LICENCE,
  EMAIL,
  GEO_LOCATION,
  HEALTH_ID,
  HINT_LABEL_SHIFT,
  IPV6,
  JWT,
  MAC,
  NATIONAL_ID,
  PASSPORT,
  URL_CREDENTIALS,
} from "./text/detectors.js";
import { KEY } from "./text/evidence.js";
import { matches, NOT_FOUND, RULED_OUT } from "./text/matches.js";
import { textBudget, work } from "./text/work.js";
import { findInWord } from "./word.js";

/**
 * Finds personal data and secrets in the UTF-8 text [start, end) of `b`, and leaves them in `matches`.
 *
 * The scan is a single pass. A table tells for each byte whether anything could be found around it (an anchor), and
 * detectors look closer only there. No detector goes back further than a bounded number of bytes, so the time is linear
 * in the size of the text. Nothing is decoded. Returns the number of matches, or `TOO_COSTLY` as soon as the text has
 * used up its share of `work`.
 *
 * numbers/mac.ts shows how to add a detector.
 */
export function scan(b: Uint8Array, start: number, end: number, hints: number, enabled: number): number {
  matches.begin(start, end, hints, enabled);
  matches.traceText(b);
  const limit = work.spent + textBudget(end - start);
  const last = end - 3;
  if (hints >= 1 << HINT_LABEL_SHIFT) findLabelledValue(b, hints >> HINT_LABEL_SHIFT, start, KEY);
  for (let p = Math.max(start, matches.lastEnd); ; ) {
    while (p < last && (ANCHORS[b[p]!]! | ANCHORS[b[p + 1]!]! | ANCHORS[b[p + 2]!]! | ANCHORS[b[p + 3]!]!) === 0)
      p += 4;
    while (p < end && ANCHORS[b[p]!] === 0) p++;
    if (p >= end) break;
    const anchor = ANCHORS[b[p]!]!;
    if (anchor === LETTER_P && (b[p + 1] !== 104 || b[p + 2] !== 114)) {
      p++; // most words with a p are no phrase
      continue;
    }
    work.spent += ANCHOR_COST;
    if (anchor === NUMBER) {
      const next = mayBeInEscape(b, p) ? findInEscape(b, p) : findNumbers(b, p, inWord);
      if (next >= 0) matches.readsDigits = true;
      p = next >= 0 ? next : ~next;
    } else if (isPromising(b, p, anchor)) {
      const found = detectAt(b, p, anchor);
      if (found !== RULED_OUT) matches.readsDigits = true;
      p = found < 0 ? p + 1 : found;
    } else p++;
    if (work.spent > limit || matches.count > MAX_MATCHES) return TOO_COSTLY;
  }
  return matches.count;
}

/** Returned instead of a number of matches when the scan stopped early: the text may contain anything. */
export const TOO_COSTLY = -1;

/** Work units of a closer look that finds nothing. */
const ANCHOR_COST = 5;

/** Limits the matches of a text, because each of them is rewritten, perhaps with a hash. */
export const MAX_MATCHES = 32_768;

/**
 * Rules out most anchors by a second byte, before a detector is called. Bytes beyond the text are harmless: they can
 * only cause a needless closer look.
 */
function isPromising(b: Uint8Array, p: number, anchor: number): boolean {
  if ((anchor & (KEY_ENDING | MARK)) !== 0) {
    if (isAt(b, p - 1, p, DIGIT) || isAt(b, p - 2, p, DIGIT) || isAt(b, p - 3, p, DIGIT)) matches.readsDigits = true;
    return (
      endsPrefix(b, p) ||
      ((b[p] === 45 || b[p] === 46) && beginsMac(b, p)) ||
      ((anchor & DASH) !== 0 && (b[p + 1] === 45 || b[p + 1] === 76 || beginsOption(b, p))) ||
      ((anchor & MARK) !== 0 && (isMarked(b, p) || isFirstDot(b, p)))
    );
  }
  if (anchor === COLON && b[p + 1] === BLANK) return mayFollowLabel(b, p) || mayFollowMember(b, p);
  if (anchor === EQUALS) return b[p + 1] === 61 || mayFollowLabel(b, p) || isArrowAfterMatch(b, p);
  if (anchor === LETTER_W) return MAY_PRECEDE_W[b[p - 1]! | 32] === 1 || (b[p + 1] === 111 && beginsPhrase(b, p));
  if (anchor === LETTER_P) return b[p + 1] === 104 && beginsPhrase(b, p);
  if (anchor === MORE) return mayFollowLabel(b, p) || b[p - 1] === 34;
  if (anchor === FOREIGN) return beginsForeignWord(b, p);
  if (anchor === WIDE) return b[p + 1] === 0xbc && (b[p + 2] === 0x9a || b[p + 2] === 0x9d);
  if (anchor === ENCODED) return b[p] === PERCENT ? !beginsStripe(b, p) : MAY_NAME_ESCAPE[b[p + 1]!] === 1;
  if (anchor === LETTER_B) return beginsScheme(b[p + 1]! | 32, b[p + 2]! | 32);
  return anchor !== LETTER_J || b[p - 1] === 121;
}

/** Whether b and these letters may be the beginning of `Bearer` or `Basic`. */
function beginsScheme(second: number, third: number): boolean {
  return second === 101 ? third === 97 : second === 97 && third === 115;
}

/** Whether an arrow leads from the secret that was found last to its new value: `password: "a" => "b"`. */
function isArrowAfterMatch(b: Uint8Array, p: number): boolean {
  return b[p + 1] === 62 && matches.lastEnd > matches.floor && p - matches.lastEnd <= 2;
}

/** The first letters of the names of signs in HTML: `&quot;`, `&apos;`, `&lt;`, `&gt;`. */
const MAY_NAME_ESCAPE = new Uint8Array(256);
for (const c of "qalg") MAY_NAME_ESCAPE[c.charCodeAt(0)] = 1;

/** The letters before the w of words for a password: passw, pw, kennw, wachtw. */
const MAY_PRECEDE_W = new Uint8Array(256);
for (const c of "spnt") MAY_PRECEDE_W[c.charCodeAt(0)] = 1;

/** Whether Q~ or v1 ends at `p`. */
function isMarked(b: Uint8Array, p: number): boolean {
  return b[p] === 126 ? b[p - 1] === 81 : b[p - 1] === 49 && b[p - 2] === 118;
}

/** Whether this could be the first dot of a Discord token, whose second part has six characters. */
function isFirstDot(b: Uint8Array, p: number): boolean {
  return b[p] === 46 && b[p + 7] === 46;
}

/** Searches the text that the escape around the digit at `p` belongs to. */
function findInEscape(b: Uint8Array, p: number): number {
  const found = findEscaped(b, escapeStart(b, p), scanWrapped);
  return found < 0 ? positionOf(findNumbers(b, p, inWord)) : found;
}

function inWord(b: Uint8Array, p: number): number {
  return findInWord(b, p, scanWrapped);
}

/** Maximum nesting of base64 within base64 that is searched. */
const MAX_BASE64_DEPTH = 3;
let base64Depth = 0;

function scanWrapped(text: Uint8Array): number {
  if (base64Depth === MAX_BASE64_DEPTH) return TOO_COSTLY;
  base64Depth++;
  try {
    return scan(text, 0, text.length, matches.hints, matches.enabled);
  } finally {
    base64Depth--;
  }
}

const NUMBER = 1;
const AT = 2;
const COLON = 4;
const EQUALS = 8;
const KEY_ENDING = 16;
const DASH = 32;
const LETTER_J = 64;
const LETTER_B = 128;
const LETTER_I = 256;
const ENCODED = 512;
const MARK = 1024;
const LETTER_W = 2048;
const MORE = 4096;
const FOREIGN = 16384;
const LETTER_P = 32768;
/** The first byte of signs as wide as a Chinese character. */
const WIDE = 8192;

const ANCHORS: Uint16Array = anchorTable();

function anchorTable(): Uint16Array {
  const table = new Uint16Array(256);
  const set = (characters: string, anchor: number) => {
    for (const c of characters) table[c.charCodeAt(0)]! |= anchor;
  };
  for (let c = 0; c < 256; c++) if ((CHARACTER_BITS[c]! & DIGIT) !== 0) table[c] = NUMBER;
  for (const c of KEY_ENDINGS) if (c !== "a".charCodeAt(0)) table[c]! |= KEY_ENDING;
  set("@", AT);
  set(":", COLON);
  set("=", EQUALS);
  set("-", DASH);
  set("J", LETTER_J);
  set("Bb", LETTER_B);
  set("I", LETTER_I);
  set("%&", ENCODED);
  set("~.", MARK);
  set("Ww", LETTER_W);
  set("Pp", LETTER_P);
  set(">", MORE);
  table[0xef] = WIDE;
  for (const c of FOREIGN_ANCHORS) table[c] = FOREIGN;
  return table;
}

function detectAt(b: Uint8Array, p: number, anchor: number): number {
  switch (anchor) {
    case AT:
      return detectAtAt(b, p);
    case ENCODED:
      return b[p] === PERCENT ? findEncoded(b, p, scanWrapped) : findEscaped(b, p, scanWrapped);
    case EQUALS:
      return detectAtEquals(b, p);
    case COLON:
      return detectAtColon(b, p);
    case LETTER_J:
      return matches.isEnabled(JWT) ? findJwt(b, p) : NOT_FOUND;
    case LETTER_W:
      return b[p + 1] === 111 && beginsPhrase(b, p) ? findSeedPhrase(b, p) : findInProse(b, p);
    case LETTER_P:
      return findSeedPhrase(b, p);
    case FOREIGN:
      return findInForeignProse(b, p);
    case MORE:
      return findInElement(b, p);
    case WIDE:
      return (matches.enabled & ASSIGNED) !== 0 ? findAssignedSecret(b, p + 2) : NOT_FOUND;
    case LETTER_B:
      return matches.isEnabled(BEARER_TOKEN) ? findAuthorization(b, p) : NOT_FOUND;
    default:
      return detectAtSign(b, p, anchor);
  }
}

function detectAtAt(b: Uint8Array, p: number): number {
  const email = matches.isEnabled(EMAIL) ? findEmail(b, p) : NOT_FOUND;
  return email < 0 && matches.isEnabled(URL_CREDENTIALS) ? findLogin(b, p) : email;
}

/** Detectors that recognise a value by the name before it. */
const ASSIGNED = [
  ASSIGNED_SECRET,
  DATE_OF_BIRTH,
  PASSPORT,
  BANK_ACCOUNT,
  NATIONAL_ID,
  CRYPTO_ADDRESS,
  DRIVING_LICENCE,
  DEVICE_ID,
  HEALTH_ID,
  GEO_LOCATION,
].reduce((bits, detector) => bits | (1 << detector), 0);

function detectAtEquals(b: Uint8Array, p: number): number {
  if (b[p + 1] === 61 && matches.isEnabled(API_KEY)) {
    const key = findStorageKey(b, p);
    if (key >= 0) return key;
  }
  return findAssigned(b, p);
}

/** Finds the value after the sign at `p`. Of several equal signs, the last one counts. */
function findAssigned(b: Uint8Array, p: number): number {
  if (b[p + 1] === b[p]) return NOT_FOUND;
  if (b[p] === 61 && isArrowAfterMatch(b, p)) return findNewValue(b, p);
  return (matches.enabled & ASSIGNED) !== 0 && mayFollowLabel(b, p) ? findAssignedSecret(b, p) : RULED_OUT;
}

function detectAtColon(b: Uint8Array, p: number): number {
  if (b[p + 1] === SLASH && b[p + 2] === SLASH)
    return matches.isEnabled(URL_CREDENTIALS) ? findUrlCredentials(b, p) : NOT_FOUND;
  if (matches.isEnabled(API_KEY)) {
    const token = b[p + 1] === 65 ? findBotToken(b, p) : b[p - 17] === SLASH ? findAsanaToken(b, p) : NOT_FOUND;
    if (token >= 0) return token;
    const member = findKeyMember(b, p);
    if (member >= 0) return member;
  }
  const found = matches.isEnabled(IPV6) ? findIpv6(b, p) : NOT_FOUND;
  if (found >= 0) return found;
  const mac =
    b[p + 3] === 58 && b[p + 6] === 58 && b[p + 9] === 58 && matches.isEnabled(MAC) ? findMac(b, p) : NOT_FOUND;
  if (mac >= 0) return mac;
  // Nothing but an assigned value, and a member of a key, has a space behind its colon.
  const others = b[p + 1] === BLANK && !mayFollowMember(b, p) ? RULED_OUT : NOT_FOUND;
  return Math.max(others, findAssigned(b, p));
}

function detectAtSign(b: Uint8Array, p: number, anchor: number): number {
  const option = b[p] === 45 && beginsOption(b, p) ? findOption(b, p) : RULED_OUT;
  if (option >= 0) return option;
  const isMac = (b[p] === 45 || b[p] === 46) && beginsMac(b, p) && matches.isEnabled(MAC);
  const mac = isMac ? findMac(b, p) : RULED_OUT;
  if (mac >= 0 || !matches.isEnabled(API_KEY)) return Math.max(option, mac);
  return Math.max(option, mac, detectApiKey(b, p, anchor));
}

function detectApiKey(b: Uint8Array, p: number, anchor: number): number {
  if (anchor === LETTER_I) return Math.max(NOT_FOUND, detectAtI(b, p));
  if ((anchor & MARK) !== 0 && isMarked(b, p)) {
    const marked = findMarkedKey(b, p);
    if (marked >= 0) return marked;
    const origin = findOriginKey(b, p);
    if (origin >= 0) return origin;
  }
  if (isFirstDot(b, p)) {
    const token = findDiscordToken(b, p);
    if (token >= 0) return token;
  }
  const key = (anchor & DASH) !== 0 ? findPrivateKey(b, p) : NOT_FOUND;
  if (key >= 0) return key;
  const isPrefix = (anchor & MARK) === 0 && b[p + 1] !== 45 && b[p + 1] !== 76;
  return Math.max(isPrefix ? RULED_OUT : NOT_FOUND, findApiKey(b, p));
}

function detectAtI(b: Uint8Array, p: number): number {
  if ((b[p + 1]! | 32) === 100 && (b[p + 2]! | 32) === 101) return findInProse(b, p);
  const aws = findAwsKey(b, p);
  if (aws >= 0) return aws;
  const google = findGoogleKey(b, p);
  return google < 0 ? findAlibabaKey(b, p) : google;
}

/**
 * Finds Cloudflare's v1.0- by its dot. The `-` cannot be the anchor: before digits, the scan takes it for part of a
 * number.
 */
function findOriginKey(b: Uint8Array, p: number): number {
  return b[p + 1] === 48 && b[p + 2] === 45 ? findApiKey(b, p + 2) : NOT_FOUND;
}

/** Finds AIza by its I, because `a` is not an anchor. */
function findGoogleKey(b: Uint8Array, p: number): number {
  return b[p + 1] === 122 && b[p + 2] === 97 ? findApiKey(b, p + 2) : NOT_FOUND;
}
