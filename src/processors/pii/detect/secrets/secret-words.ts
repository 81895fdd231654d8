import { DASH, DOT } from "../text/ascii.js";
import { CHARACTER_BITS, isBefore, LETTER } from "../text/characters.js";
import { work } from "../text/work.js";

/** No known word. */
export const NO_WORD = 0;
/** A word whose value is always a secret, whatever it looks like. */
export const STRONG_WORD = 1;
/** A word whose value may also be a status, so the value must look like a secret. */
export const WEAK_WORD = 2;
/** A weak word after which a scheme may come first: `Authorization: Token abc`. */
export const AUTHORIZATION_WORD = 3;
/** A weak word that counts only in the query of a URL. */
export const QUERY_WORD = 4;
/** A word that names with values follow. */
export const COOKIE_WORD = 5;

/** Words for values that are not secrets but can be recognised only by their name. */
export const BIRTH_WORD = 6;
export const PASSPORT_WORD = 7;
export const ACCOUNT_WORD = 8;

/**
 * The endings of names of secrets. The `_` may be written as `-`, `.` or a space, or left out. A `^` means that no
 * letter may stand before the word.
 */
const WORDS: readonly (readonly [kind: number, words: string])[] = [
  [STRONG_WORD, "password passwd passphrase pwd ^pass client_secret secret_key private_key api_key account_key"],
  [STRONG_WORD, "shared_access_key secret_access_key encryption_key signing_key subscription_key secret_key_base"],
  [STRONG_WORD, "auth_key session_key master_key storage_key license_key ingestion_key instrumentation_key"],
  [WEAK_WORD, "secret token access_key credential credentials session session_id ^sid sessid connect_sid signature"],
  [AUTHORIZATION_WORD, "auth authorization"],
  [QUERY_WORD, "^key ^code ^sig ^hmac"],
  [COOKIE_WORD, "cookie"],
  [
    BIRTH_WORD,
    "^dob date_of_birth birth_date birthday ^born ^geboren geburtsdatum birthdate ^born_on fecha_de_nacimiento",
  ],
  [BIRTH_WORD, "date_de_naissance ^birth data_di_nascita data_de_nascimento geboortedatum"],
  [PASSPORT_WORD, "^passport passport_number passport_no passport_num passport_id reisepass passeport pasaporte"],
  [ACCOUNT_WORD, "account_number account_no bank_account bank_account_number acct_no acct_number routing_number ^aba"],
  [ACCOUNT_WORD, "sort_code kontonummer bankkonto ^ifsc ifsc_code ^clabe ^bsb ^blz numero_de_cuenta"],
];

/** A node of a trie that reads words backwards. */
class WordNode {
  readonly next: (WordNode | undefined)[] = new Array(26).fill(undefined);
  /** Whether `_` may stand before the letters read so far. */
  isJoint = false;
  /** Whether no letter may stand before the word. */
  isWhole = false;
  kind = NO_WORD;
}

const ROOT = new WordNode();
/** The last three letters of the words, or their last two with a separator before them. */
const ENDINGS = new Uint8Array(1 << 15);

function endingOf(a: number, b: number, c: number): number {
  return ((a & 31) << 10) | ((b & 31) << 5) | (c & 31);
}

/** Characters that may separate the parts of a word. */
const JOINTS = "-._ ";

/** Characters allowed between a word and the sign after it: quotes, a backslash, a space, a tab, or the dot of `no.` */
const AFTER_WORD = new Uint8Array(256);
for (const c of "\"'\\ \t.") AFTER_WORD[c.charCodeAt(0)] = 1;

/** Whether one of the words could stand before the `=` or `:` at `p`. Three letters rule out most signs. */
export function mayFollowWord(b: Uint8Array, p: number): boolean {
  if (p < 4) return true;
  const c = b[p - 1]!;
  if ((CHARACTER_BITS[c]! & LETTER) !== 0) return ENDINGS[endingOf(b[p - 3]!, b[p - 2]!, c)] !== 0;
  if (AFTER_WORD[c] === 0) return false;
  const before = b[p - 2]!;
  return (CHARACTER_BITS[before]! & LETTER) === 0 || ENDINGS[endingOf(b[p - 4]!, b[p - 3]!, before)] !== 0;
}

for (const [kind, words] of WORDS) for (const word of words.split(" ")) addWord(word, kind);

function addWord(word: string, kind: number): void {
  let node = ROOT;
  for (let i = word.length - 1; i >= 0 && word[i] !== "^"; i--) {
    if (word[i] === "_") {
      node.isJoint = true;
      continue;
    }
    const letter = word.charCodeAt(i) - 97;
    node.next[letter] ??= new WordNode();
    node = node.next[letter];
  }
  node.kind = kind;
  node.isWhole = word.startsWith("^");
  const letters = word.replace(/[_^]/g, "");
  const thirds = [letters.at(-3)!, ...(word.at(-3) === "_" ? JOINTS : "")];
  for (const third of thirds)
    ENDINGS[endingOf(third.charCodeAt(0), word.charCodeAt(word.length - 2), word.charCodeAt(word.length - 1))] = 1;
}

/** Returns the kind of the longest word that ends before `end`, ignoring case. `wordStart` then holds its start. */
export function wordEndingAt(b: Uint8Array, end: number, floor: number): number {
  let node = ROOT;
  let kind = NO_WORD;
  let p = end - 1;
  for (; p >= floor; p--) {
    const c = b[p]!;
    if (node.isJoint && (c === DASH || c === DOT || c === 95 || c === 32)) continue;
    if (c === DOT && p === end - 1) continue; // no.
    const letter = (c | 32) - 97;
    if (letter < 0 || letter > 25) break;
    const next = node.next[letter];
    if (next === undefined) break;
    node = next;
    if (node.kind === NO_WORD || (node.isWhole && isBefore(b, p, floor, LETTER))) continue;
    kind = node.kind;
    wordStart = p;
  }
  work.spent += end - p;
  return kind;
}

export let wordStart = 0;
