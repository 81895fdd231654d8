import { DOT } from "../text/ascii.js";
import {
  ALNUM,
  BASE64URL,
  DIGIT,
  HEX,
  hasTextAt,
  isAt,
  isBefore,
  isInWord,
  LETTER,
  LOWER,
  latin1,
  runEnd,
  UPPER,
} from "../text/characters.js";
import { API_KEY, ASSIGNED_SECRET } from "../text/detectors.js";
import { FORM, LABEL, RANDOM, UNIQUE_FORM } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { hasNext, runs } from "../text/runs.js";
import { TEXT_COST, work } from "../text/work.js";
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
    if (last > 0) return matches.propose(API_KEY, start - 18, last, UNIQUE_FORM);
  }
  const end = shapeEnd(b, start, stop);
  return end < 0 ? NOT_FOUND : matches.propose(API_KEY, start, end, UNIQUE_FORM);
}

function shapeEnd(b: Uint8Array, start: number, stop: number): number {
  const { end } = matches;
  for (const { prefix, minLength, most, bits, isMixed } of SHAPES_BY_FIRST[b[start]!] ?? NO_SHAPES) {
    work.spent += prefix.length;
    if (!hasTextAt(b, start, end, prefix)) continue;
    const stopped = runs.end(b, start + prefix.length, bits);
    if (isMixed && !(hasNext(b, start, stopped, UPPER) && hasNext(b, start, stopped, LOWER))) continue;
    if (stopped - start >= minLength && stopped - start <= most) return encodedEnd(b, stopped, bits);
  }
  const size = stop - start;
  if (size === 40 && hasTextAt(b, stop - 4, end, "NRAL")) return stop; // New Relic
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
  return end < 0 ? NOT_FOUND : matches.propose(API_KEY, start, end, UNIQUE_FORM);
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

/** Parts of a path or query in front of a secret: links that reset passwords, confirm addresses, or call webhooks. */
const BEFORE_SECRET =
  /(?:reset|verif|confirm|activat|invit|magic|recover|unlock|password|passwd|passwort|login|sign-?in|one-?time|token|oauth|hooks?|session|sess|sid|approve|unsubscribe)[a-z-]{0,12}(?:[/_-][a-z-]{1,16})?[/=:](?:\w{1,3}=)?$|hooks?\.[\w.-]{1,32}\/(?:[\w-]{1,20}\/){0,2}$|cookies?:? \w{1,12}=$/i;
/** A token that says where the next page of a list begins. */
const PAGE_TOKEN = /(?:continuation|next|page|pagination|sync|resume|cursor|skip|delta|marker)[-_]?token["']?[=:]$/i;
/** The name of a short parameter: `?t=`, `&c=`. */
const SHORT_PARAMETER =
  /(?:reset|verif|confirm|activat|invit|magic|recover|unlock|password|login|sign-?in|auth)[\w/.-]{0,24}\?[a-z_]{1,8}=$/i;
const MIN_URL_SECRET = 20;
const MAX_CONTEXT = 48;

/**
 * Finds the random text of the word at `start` if the path or query before it says that it is a secret:
 * `/password/reset/9c89...`, `/hooks/x7k2...`, `session:ab12...`.
 */
export function findUrlSecret(b: Uint8Array, start: number): number {
  const { floor, lastEnd } = matches;
  const least = Math.max(lastEnd, start - MAX_CONTEXT);
  let first = start;
  while (first > least && isBefore(b, first, least, BASE64URL)) first--;
  const sign = first > floor ? b[first - 1]! : 0;
  if (sign !== 47 && sign !== 61 && sign !== 58) return NOT_FOUND;
  const stop = runs.end(b, first, BASE64URL);
  if (stop - first < MIN_URL_SECRET || !hasNext(b, first, stop, DIGIT) || !hasNext(b, first, stop, LETTER))
    return NOT_FOUND;
  work.spent += 2 * TEXT_COST + start - first;
  const before = latin1(b, Math.max(lastEnd, first - MAX_CONTEXT), first);
  if ((!BEFORE_SECRET.test(before) || PAGE_TOKEN.test(before)) && !SHORT_PARAMETER.test(before)) return NOT_FOUND;
  const text = latin1(b, first, Math.min(stop, first + 80));
  if (/^[a-z]+(?:[-_][a-z\d]{1,10})+$/.test(text) || /^\d+-/.test(text)) return NOT_FOUND; // words
  return matches.propose(ASSIGNED_SECRET, first, stop, FORM | LABEL | RANDOM);
}

const MIN_LENGTH = 16;
/** Longer random texts contain digits. */
const MAX_LENGTH = 256;
const CONSONANTS = /[bcdfghjklmnpqrstvwxz]{5}/;

/**
 * Whether these bytes are at least sixteen letters that form no words: scattered capitals or, if all letters have the
 * same case, five consonants in a row or hardly any vowels. Names such as `AuthenticationTokenExpired` have few
 * capitals, and words such as `internationalization` have many vowels.
 */
export function areRandomLetters(b: Uint8Array, start: number, stop: number): boolean {
  if (stop - start < MIN_LENGTH || stop - start > MAX_LENGTH) return false;
  work.spent += TEXT_COST + stop - start;
  const text = latin1(b, start, stop);
  if (!/^[A-Za-z]+$/.test(text)) return false;
  const capitals = countMatches(text, /[A-Z]/g) / text.length;
  if (capitals > 0 && capitals < 1) return capitals >= 0.3 && capitals <= 0.8 && hasScatteredCapitals(text);
  const folded = text.toLowerCase();
  return CONSONANTS.test(folded) || countMatches(folded, /[aeiouy]/g) * 4 < folded.length;
}

/** Excludes words such as `HTTPSHandshake`, whose capitals are next to each other. */
function hasScatteredCapitals(text: string): boolean {
  return countMatches(text, /[a-z][A-Z]/g) * 8 >= text.length;
}

function countMatches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
