import { DOT } from "../text/ascii.js";
import { ALNUM, BASE64URL, HEX, hasTextAt, isAt, isBefore, isInWord, runEnd } from "../text/characters.js";
import { API_KEY } from "../text/detectors.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { runs } from "../text/runs.js";
import { work } from "../text/work.js";
import { encodedEnd } from "./api-key.js";
import { KEY_SHAPES, type KeyShape } from "./vendor-keys.js";

const SHAPES_BY_FIRST: readonly (readonly KeyShape[] | undefined)[] = shapesByFirst();

function shapesByFirst() {
  const lists: KeyShape[][] = new Array(256).fill(undefined);
  for (const shape of KEY_SHAPES) {
    const first = shape.prefix.charCodeAt(0);
    lists[first] = [...(lists[first] ?? []), shape];
  }
  return lists;
}

/** No shorter word can be a key without a prefix. */
export const MIN_KEY_WORD = 16;

/**
 * Finds a key in the long word [start, stop) of letters and digits: by its beginning and length, or by a mark in it.
 */
export function findKeyInWord(b: Uint8Array, start: number, stop: number): number {
  const { floor, lastEnd } = matches;
  if (start < lastEnd || isInWord(b, start, floor)) return NOT_FOUND;
  if (stop - start === 64 && b[start - 1] === DOT && start - 18 >= lastEnd) {
    const last = airtableEnd(b, start - 18, start - 1); // its first part may have no digit
    if (last > 0) return matches.add(API_KEY, start - 18, last);
  }
  const end = shapeEnd(b, start, stop);
  return end < 0 ? NOT_FOUND : matches.add(API_KEY, start, end);
}

function shapeEnd(b: Uint8Array, start: number, stop: number): number {
  const { end } = matches;
  for (const { prefix, minLength, most, bits } of SHAPES_BY_FIRST[b[start]!] ?? NO_SHAPES) {
    work.spent += prefix.length;
    if (!hasTextAt(b, start, end, prefix)) continue;
    const stopped = runs.end(b, start + prefix.length, bits);
    if (stopped - start >= minLength && stopped - start <= most) return encodedEnd(b, stopped, bits);
  }
  const size = stop - start;
  if (size === 32 && hasTextAt(b, stop, end, "-us") && runEnd(b, start, stop, HEX) === stop)
    return runEnd(b, stop + 3, end, ALNUM); // Mailchimp
  if (size >= 72 && hasTextAt(b, start + 52, end, "JQQJ99")) return stop; // Azure DevOps
  return size === 17 ? airtableEnd(b, start, stop) : discordEnd(b, start, stop);
}

function airtableEnd(b: Uint8Array, start: number, stop: number): number {
  if (!hasTextAt(b, start, matches.end, "pat") || b[stop] !== DOT) return -1;
  const last = runEnd(b, stop + 1, matches.end, HEX);
  return last - stop === 65 ? last : -1;
}

/** Finds a Discord token whose first dot is at `p`. Its first part may have no digit. */
export function findDiscordToken(b: Uint8Array, p: number): number {
  const { floor, lastEnd } = matches;
  let start = p;
  while (start > lastEnd && p - start < 29 && isBefore(b, start, floor, BASE64URL)) start--;
  work.spent += p - start;
  const end = discordEnd(b, start, p);
  return end < 0 ? NOT_FOUND : matches.add(API_KEY, start, end);
}

/** Matches a user id in base64, a time and a signature, separated by dots. */
function discordEnd(b: Uint8Array, start: number, stop: number): number {
  const { end } = matches;
  const size = stop - start;
  if (size < 23 || size > 28 || b[stop] !== DOT || b[start]! < 77 || b[start]! > 79) return -1;
  const second = runEnd(b, stop + 1, Math.min(end, stop + 8), BASE64URL);
  if (second - stop !== 7 || !isAt(b, second + 1, end, BASE64URL) || b[second] !== DOT) return -1;
  const last = runEnd(b, second + 1, end, BASE64URL);
  return last - second > 27 ? last : -1;
}

const NO_SHAPES: readonly KeyShape[] = [];
