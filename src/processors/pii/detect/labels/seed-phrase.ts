import { hasTextAt, latin1 } from "../text/characters.js";
import { CRYPTO_ADDRESS } from "../text/detectors.js";
import { FORM, LABEL, SIGN } from "../text/evidence.js";
import { matches, NOT_FOUND } from "../text/matches.js";
import { TEXT_COST, work } from "../text/work.js";
import { WALLET_LABEL } from "./label-words.js";
import { labelEndingAt } from "./labels.js";

const PHRASE = "hrase";
const WORDS = "ords";
/** Twelve to twenty-four short words, after the word that names them. */
// At most 264 characters.
const SEED =
  /^(?:phrase|words)["')\]]*(?: (?:is|are|was|were|as|used))?[ :=]{1,3}["'[(]{0,2}((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![a-z])/i;
const WORDS_BEFORE =
  /(?:\b(?:12|15|18|21|24)|twelve|twenty.?four|seed|recovery|restore|backup|secret|wallet|mnemonic)[ -]$/i;
const MAX_LENGTH = 264;

/** Whether `phrase` or `words` begins at `p`. */
export function beginsPhrase(b: Uint8Array, p: number): boolean {
  return hasTextAt(b, p + 1, matches.end, (b[p]! | 32) === 112 ? PHRASE : WORDS);
}

/** Finds the words of a wallet behind `phrase` or `words` at `p`: `recovery phrase abstract bamboo ...`. */
export function findSeedPhrase(b: Uint8Array, p: number): number {
  if (!matches.isEnabled(CRYPTO_ADDRESS) || p < matches.lastEnd) return NOT_FOUND;
  work.spent += 3 * TEXT_COST;
  const isPhrase = (b[p]! | 32) === 112;
  const isNamed = isPhrase
    ? labelEndingAt(b, p + 1 + PHRASE.length, matches.lastEnd) === WALLET_LABEL
    : WORDS_BEFORE.test(latin1(b, Math.max(matches.lastEnd, p - 16), p));
  if (!isNamed) return NOT_FOUND;
  const seed = SEED.exec(latin1(b, p, Math.min(matches.end, p + MAX_LENGTH)));
  if (seed === null) return NOT_FOUND;
  const start = p + seed[0].length - seed[1]!.length;
  return matches.propose(CRYPTO_ADDRESS, start, p + seed[0].length, FORM | LABEL | SIGN);
}
