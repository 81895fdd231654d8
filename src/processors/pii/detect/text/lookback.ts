import { CLOSE_BRACKET, CLOSE_PAREN, STAR } from "./ascii.js";
import { latin1 } from "./characters.js";
import { matches } from "./matches.js";
import { TEXT_COST, work } from "./work.js";

const MAX_LOOKBACK = 28;

/**
 * Does a word like this stand shortly before `p`, with neither digits nor anything treated in between? `words` is held
 * against UTF-8 read as Latin-1, in lower case.
 */
export function followsWord(b: Uint8Array, p: number, words: RegExp): boolean {
  const floor = Math.max(matches.floor, p - MAX_LOOKBACK);
  let start = p;
  while (start > floor) {
    const c = b[start - 1]!;
    if ((c >= 48 && c <= 57) || c === STAR || c === CLOSE_PAREN || c === CLOSE_BRACKET) break;
    start--;
  }
  work.spent += 2 * TEXT_COST;
  return words.test(latin1(b, start, p).toLowerCase());
}

/** A pattern of words in any script, for `followsWord`. */
export function wordsInLatin1(words: readonly string[]): RegExp {
  return new RegExp(words.map((word) => Buffer.from(word, "utf8").toString("latin1").toLowerCase()).join("|"));
}
