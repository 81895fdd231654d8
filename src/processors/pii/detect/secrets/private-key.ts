import { DASH, QUOTE, UPPER_L } from "../text/ascii.js";
import { hasTextAt, latin1 } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";

/** The first line of a key, with plain or URL-encoded spaces. */
const HEAD = /^(?:[A-Z0-9 +]|%20){0,40}PRIVATE(?: |\+|%20)KEY(?:(?: |\+|%20)BLOCK)?-----/;
const FOOT = /^(?:[A-Z0-9 +]|%20){0,40}KEY(?:(?: |\+|%20)BLOCK)?-----/;
const MAX_HEAD_LENGTH = 90;

/**
 * Finds a PEM private key whose first dash is at `p`. Its lines may end with `\n`, with an escape of it, or with a
 * space. A key without a last line extends to the end of the text.
 */
export function findPrivateKey(b: Uint8Array, p: number): number {
  const { end } = matches;
  if (b[p + 1] === UPPER_L) return findPuttyKey(b, p);
  if (!hasTextAt(b, p, end, "-----BEGIN")) return NOT_FOUND;
  work.spent += TEXT_COST;
  if (!HEAD.test(latin1(b, p + 10, Math.min(end, p + MAX_HEAD_LENGTH)))) return NOT_FOUND;
  return matches.propose(API_KEY, p, privateKeyEnd(b, p, end), UNIQUE_FORM);
}

/** Reads only up to the last line of this key, because another key may follow. */
function privateKeyEnd(b: Uint8Array, start: number, end: number): number {
  const text = b.subarray(start, end);
  for (let at = text.indexOf(DASH); at >= 0; at = text.indexOf(DASH, at + 1)) {
    if (!hasTextAt(text, at, text.length, "-----END")) continue;
    work.spent += TEXT_COST;
    const foot = FOOT.exec(latin1(text, at + 8, Math.min(text.length, at + MAX_HEAD_LENGTH)));
    if (foot !== null) return start + at + 8 + foot[0].length;
  }
  return end;
}

/** Finds the private part of a key of PuTTY, from the `-` of `Private-Lines:` at `p` to the code that signs it. */
function findPuttyKey(b: Uint8Array, p: number): number {
  const { end } = matches;
  if (p - 7 < matches.lastEnd || !hasTextAt(b, p - 7, end, "Private-Lines:")) return NOT_FOUND;
  const size = Buffer.from(b.buffer, b.byteOffset + p, end - p).indexOf("Private-MAC");
  work.spent += TEXT_COST + end - p;
  return matches.propose(API_KEY, p - 7, size < 0 ? end : p + size, UNIQUE_FORM);
}

/** The private members of a JSON Web Key. */
const MEMBER = /"(?:[dkpq]|d[pq]|qi)"$/;
const MEMBER_VALUE = /^: ?"([\w-]{22,1400})"/;
const MAX_MEMBER_VALUE = 1404;
/** How far from it the type of the key may be. */
const MAX_KEY_SIZE = 2048;

/** Whether the `:` at `p` may follow the name of such a member. */
export function mayFollowMember(b: Uint8Array, p: number): boolean {
  return b[p - 1] === QUOTE && (b[p - 3] === QUOTE || b[p - 4] === QUOTE);
}

/** Finds the private part of a JSON Web Key behind the `:` at `p`: `{"kty":"OKP","d":"..."}`. */
export function findKeyMember(b: Uint8Array, p: number): number {
  const { end, floor } = matches;
  if (!mayFollowMember(b, p)) return NOT_FOUND;
  work.spent += 2 * TEXT_COST;
  if (!MEMBER.test(latin1(b, Math.max(floor, p - 4), p))) return NOT_FOUND;
  const value = MEMBER_VALUE.exec(latin1(b, p, Math.min(end, p + MAX_MEMBER_VALUE)));
  if (value === null) return NOT_FOUND;
  work.spent += 2 * MAX_KEY_SIZE;
  if (!latin1(b, Math.max(floor, p - MAX_KEY_SIZE), Math.min(end, p + MAX_KEY_SIZE)).includes('"kty"'))
    return NOT_FOUND;
  const start = p + value[0].length - 1 - value[1]!.length;
  return matches.propose(API_KEY, start, start + value[1]!.length, UNIQUE_FORM);
}
