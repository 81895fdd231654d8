import { HINT_NAME, HINT_PERSON } from "../text/detectors.js";
import {
  AMBIGUOUS,
  GIVEN_NAMES,
  GREETINGS,
  NAME_LABELS,
  NOT_NAMES,
  PARTICLES,
  PERSON_LABEL,
  STRONG_LABEL,
  SURNAMES,
  THING_LABEL,
  TITLES,
} from "./name-lists.js";
import {
  ASSIGN_GAP,
  BLANK_GAP,
  CAPS_WORD,
  COMMA_GAP,
  DOT_GAP,
  HYPHEN_GAP,
  INITIAL,
  JOINT_GAP,
  LINE_GAP,
  LOWER_WORD,
  labelsBefore,
  NO_GAP,
  NUMBER_TOKEN,
  type TextPlace,
  TITLE_WORD,
  type Tokens,
} from "./tokens.js";

/**
 * Finds names of people. A run of capitalised words is a name if it contains a known given name that something follows,
 * if it ends with a known surname, or if the text before it says so: a title, a greeting, or a label such as
 * `first_name=`. A single known name does not count, because most such words have other meanings. Each run is short and
 * is checked once.
 */
export function findPersonNames(tokens: Tokens, hints: number): TextPlace[] {
  if ((hints & HINT_NAME) !== 0 && isNameOnly(tokens)) return [[tokens.starts[0]!, tokens.ends.at(-1)!]];
  const found: TextPlace[] = [];
  for (let i = 0; i < tokens.count; ) {
    const place = findNameAt(tokens, i, hints);
    if (place === undefined) i++;
    else {
      found.push([tokens.starts[place.first]!, tokens.ends[place.last]!]);
      i = place.last + 1;
    }
  }
  return found;
}

/** A run of tokens, including the last one. */
interface Run {
  readonly first: number;
  readonly last: number;
}

const MAX_RUN = 5;

/** Whether the value of a name field consists only of words, and not of too many. */
function isNameOnly({ text, kinds, count }: Tokens): boolean {
  return count > 0 && count <= MAX_RUN + 1 && !kinds.includes(NUMBER_TOKEN) && !/[@/\\=<>{}_*:]/.test(text);
}

function findNameAt(tokens: Tokens, i: number, hints: number): Run | undefined {
  const { kinds, folded } = tokens;
  const label = labelAt(tokens, i, hints);
  if (label === STRONG_LABEL) return labelledRun(tokens, i);
  if (kinds[i] !== TITLE_WORD && kinds[i] !== CAPS_WORD && kinds[i] !== INITIAL) return undefined;
  if (NOT_NAMES.has(folded[i]!) || GREETINGS.has(folded[i]!) || isTitle(tokens, i)) return undefined;
  const run = runFrom(tokens, i);
  if (follows(tokens, i, TITLES, TITLE_WORD)) return run;
  const reversed = reversedName(tokens, i);
  if (reversed !== undefined) return reversed;
  const isGreeted = follows(tokens, i, GREETINGS);
  const known = knownRun(tokens, run, label !== 0 || isGreeted);
  if (known !== undefined) return known;
  // The name itself is unknown, but the text before and after it says that it is one.
  const isName =
    (label === PERSON_LABEL && isAlone(tokens, run)) || (isGreeted && run.last > i && endsGreeting(tokens, run));
  return isName && kinds[i] === TITLE_WORD ? run : undefined;
}

function endsGreeting({ text, ends }: Tokens, { last }: Run): boolean {
  const behind = text[ends[last]!];
  return behind === undefined || behind === "," || behind === "!" || behind === "\n";
}

/** Whether the word at `i` directly follows one of these words. */
function follows({ folded, gaps, kinds }: Tokens, i: number, words: ReadonlySet<string>, kind?: number): boolean {
  if (i === 0 || (gaps[i] !== BLANK_GAP && gaps[i] !== DOT_GAP && gaps[i] !== COMMA_GAP)) return false;
  return words.has(folded[i - 1]!) && (kind === undefined || kinds[i - 1] === kind);
}

function isTitle({ folded, kinds }: Tokens, i: number): boolean {
  return kinds[i] === TITLE_WORD && TITLES.has(folded[i]!);
}

function labelAt(tokens: Tokens, i: number, hints: number): number {
  if (i === 0) return (hints & HINT_PERSON) !== 0 ? THING_LABEL : 0;
  let label = 0;
  for (const one of labelsBefore(tokens, i)) {
    const kind = NAME_LABELS.get(one) ?? 0;
    if (kind === STRONG_LABEL) return kind;
    if (kind !== 0 && label !== PERSON_LABEL) label = kind;
  }
  return label;
}

/** Finds the value of a label that announces a name, in upper or lower case. */
function labelledRun(tokens: Tokens, i: number): Run | undefined {
  const { kinds, gaps, folded, text, ends, starts } = tokens;
  if (kinds[i] === NUMBER_TOKEN || PLACEHOLDERS.has(folded[i]!)) return undefined;
  const isLower = kinds[i] === LOWER_WORD;
  let last = i;
  while (last + 1 < tokens.count && last - i < MAX_RUN) {
    const gap = gaps[last + 1]!;
    const isReversed = gap === COMMA_GAP && last === i && kinds[i + 1] === TITLE_WORD;
    if (!(isJoined(gap) || gap === DOT_GAP || isReversed) || kinds[last + 1] === NUMBER_TOKEN) break;
    if (!isLower && kinds[last + 1] === LOWER_WORD && !PARTICLES.has(folded[last + 1]!)) break;
    if (isNextLabel(tokens, last + 1)) break;
    last++;
  }
  while (last > i && PARTICLES.has(folded[last]!)) last--;
  // The text continues like code: a path, a call, a variable.
  const behind = text[ends[last]!];
  if (behind !== undefined && /[/(@{[*$]/.test(behind)) return undefined;
  return /[/$%{<*@]/.test(text[starts[i]! - 1] ?? " ") ? undefined : { first: i, last };
}

const PLACEHOLDERS = new Set(
  "null none undefined unknown true false string required missing empty invalid is was not must redacted".split(" "),
);

/** Whether a value follows this word; then the word is a label and not a value. */
function isNextLabel({ gaps, count, folded, kinds }: Tokens, i: number): boolean {
  if (i + 1 < count && gaps[i + 1] === ASSIGN_GAP) return true;
  return i + 2 < count && gaps[i + 1] === JOINT_GAP && gaps[i + 2] === ASSIGN_GAP && kinds[i] === LOWER_WORD
    ? folded[i] !== ""
    : false;
}

function isJoined(gap: number): boolean {
  return gap === BLANK_GAP || gap === HYPHEN_GAP;
}

/** Returns the capitalised words from `i` on that may be one name: either all in capitals, or none of them. */
function runFrom({ kinds, gaps, folded, count }: Tokens, i: number): Run {
  const style = kinds[i] === CAPS_WORD ? CAPS_WORD : TITLE_WORD;
  let last = i;
  let next = i + 1;
  while (next < count && next - i < MAX_RUN) {
    const gap = gaps[next]!;
    const isAfterInitial = gap === DOT_GAP && kinds[next - 1] === INITIAL;
    if (!isJoined(gap) && !isAfterInitial && !(gap === NO_GAP && kinds[next - 1] === INITIAL)) break;
    const kind = kinds[next]!;
    if (kind === style || kind === INITIAL) {
      if (NOT_NAMES.has(folded[next]!)) break;
      last = next;
    } else if (kind !== LOWER_WORD || gap !== BLANK_GAP || !PARTICLES.has(folded[next]!)) break;
    next++;
  }
  return { first: i, last };
}

/** Returns the run if its known words make it a name. */
function knownRun(tokens: Tokens, run: Run, isAnnounced: boolean): Run | undefined {
  const { kinds, folded } = tokens;
  const { first, last } = run;
  const word = folded[first]!;
  const isSure = !AMBIGUOUS.has(word);
  if (last === first) return isAnnounced && isSure && (GIVEN_NAMES.has(word) || SURNAMES.has(word)) ? run : undefined;
  const isCaps = kinds[first] === CAPS_WORD;
  const hasSurname = hasAny(tokens, first + 1, last, SURNAMES);
  if (GIVEN_NAMES.has(word) && (hasSurname || (!isCaps && (isSure || isAnnounced)))) return run;
  // Tanaka Yuki, Kovács Anna; Иванов Иван Петрович.
  const isSurname = SURNAMES.has(word) || RUSSIAN_SURNAME.test(word);
  if (isSurname && hasUnambiguous(tokens, first + 1, last, GIVEN_NAMES) && (isSure || !isCaps)) return run;
  // An unknown given name before a known surname. The first word of a sentence is capitalised anyway, so it does not
  // count.
  if (!hasUnambiguous(tokens, first + 1, last, SURNAMES)) return undefined;
  return isAnnounced || isAlone(tokens, run) || (!isCaps && !beginsSentence(tokens, first)) ? run : undefined;
}

const RUSSIAN_SURNAME = /^[а-я]{3,}(?:ов|ова|ев|ева|ин|ина|ский|ская|енко)$/;

function hasAny({ folded }: Tokens, from: number, to: number, names: ReadonlySet<string>): boolean {
  for (let i = from; i <= to; i++) if (names.has(folded[i]!)) return true;
  return false;
}

function hasUnambiguous({ folded }: Tokens, from: number, to: number, names: ReadonlySet<string>): boolean {
  for (let i = from; i <= to; i++) if (names.has(folded[i]!) && !AMBIGUOUS.has(folded[i]!)) return true;
  return false;
}

/** Finds names such as "Schmidt, Anna". Both words must be known, and one of them must be unambiguous. */
function reversedName(tokens: Tokens, i: number): Run | undefined {
  const { gaps, folded, kinds, count } = tokens;
  if (i + 1 >= count || gaps[i + 1] !== COMMA_GAP || !SURNAMES.has(folded[i]!)) return undefined;
  if ((kinds[i + 1] !== TITLE_WORD && kinds[i + 1] !== CAPS_WORD) || !GIVEN_NAMES.has(folded[i + 1]!)) return undefined;
  if (AMBIGUOUS.has(folded[i]!) && AMBIGUOUS.has(folded[i + 1]!)) return undefined;
  return { first: i, last: runFrom(tokens, i + 1).last };
}

function beginsSentence({ gaps, kinds }: Tokens, i: number): boolean {
  if (i === 0) return true;
  const gap = gaps[i]!;
  return gap === DOT_GAP || gap === LINE_GAP || (gap !== BLANK_GAP && kinds[i - 1] !== LOWER_WORD);
}

/** Whether the run is everything between two quotes, between two separators, or in the whole text. */
function isAlone({ text, starts, ends }: Tokens, { first, last }: Run): boolean {
  const before = text[starts[first]! - 1] ?? "\n";
  const behind = text[ends[last]!] ?? "\n";
  return /["'\\;|\n=,]/.test(before) && /["'\\;|\n&,]/.test(behind);
}
