import { proposeSecret } from "../secrets/assigned-secret.js";
import { assigned } from "../secrets/assigned-value.js";
import { EQUALS, LESS } from "../text/ascii.js";
import { CHARACTER_BITS, latin1, WORD } from "../text/characters.js";
import { ASSIGNED_SECRET } from "../text/detectors.js";
import { LABEL, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { work } from "../text/work.js";
import { BIRTH_LABEL, COOKIE_LABEL, PASSWORD_LABEL } from "./label-words.js";
import { findLabelledValue } from "./labelled-value.js";
import { labelOfKey } from "./labels.js";

/** Work units of looking for a tag. */
const TAG_COST = 10;
const MAX_TAG = 120;
const MAX_VALUE = 400;

/** Finds the value of the XML element whose start tag ends with the `>` at `p`: `<password>tiger</password>`. */
export function findInElement(b: Uint8Array, p: number): number {
  if (b[p - 1] === EQUALS || b[p + 1] === LESS) return NOT_FOUND;
  const open = tagStart(b, p);
  if (open < 0) return NOT_FOUND;
  let nameEnd = open + 1;
  while (nameEnd < p && ((CHARACTER_BITS[b[nameEnd]!]! & WORD) !== 0 || NAME_SIGNS.includes(b[nameEnd]!))) nameEnd++;
  const kind = labelOfKey(latin1(b, open + 1, nameEnd));
  if (kind === 0 || kind === COOKIE_LABEL) return NOT_FOUND;
  const start = p + 1;
  const close = valueEnd(b, start);
  if (close < 0) return NOT_FOUND;
  if (kind >= BIRTH_LABEL) return findLabelledValue(b, kind, start, LABEL | SIGN);
  if (!matches.isEnabled(ASSIGNED_SECRET)) return NOT_FOUND;
  assigned.start = start;
  assigned.stop = close;
  assigned.isQuoted = false;
  return proposeSecret(b, kind, LABEL | SIGN, kind === PASSWORD_LABEL);
}

const NAME_SIGNS: readonly number[] = [...":-."].map((c) => c.charCodeAt(0));

/** Returns the position of the `<` of the tag that ends at `p`, or -1 if it is no start tag. */
function tagStart(b: Uint8Array, p: number): number {
  const floor = Math.max(matches.lastEnd, p - MAX_TAG);
  let open = p - 1;
  while (open >= floor && b[open] !== LESS && b[open] !== 62) open--;
  work.spent += TAG_COST + p - open;
  if (open < floor || b[open] !== LESS || b[open + 1] === 47 || b[p - 1] === 47) return -1;
  return open;
}

/** Returns the position of the end tag after the value at `p`, or -1. */
function valueEnd(b: Uint8Array, p: number): number {
  const limit = Math.min(matches.end, p + MAX_VALUE);
  let q = p;
  while (q < limit && b[q] !== LESS && b[q] !== 10) q++;
  work.spent += q - p;
  return q < limit && b[q] === LESS && q > p ? q : -1;
}
