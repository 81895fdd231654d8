import { latin1 } from "../text/characters.js";
import { TEXT_COST, work } from "../text/work.js";

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
