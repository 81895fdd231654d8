import { latin1 } from "../text/characters.js";
import { TEXT_COST, work } from "../text/work.js";

const MIN_LENGTH = 16;
/** Longer ones hold digits, if they are random. */
const MAX_LENGTH = 256;
const CONSONANTS = /[bcdfghjklmnpqrstvwxz]{5}/;

/**
 * Are these bytes letters that make no word? Sixteen at least: capitals strewn about, or, in one case, five consonants in a
 * row or hardly a vowel. Names like `AuthenticationTokenExpired` have few capitals, words like `internationalization` many
 * vowels.
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

/** `HTTPSHandshake` has its capitals in one place. */
function hasScatteredCapitals(text: string): boolean {
  return countMatches(text, /[a-z][A-Z]/g) * 8 >= text.length;
}

function countMatches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
