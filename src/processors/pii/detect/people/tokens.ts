/** Kinds of tokens, by their letters and digits. This one is all lower case. */
export const LOWER_WORD = 0;
/** `Anna`, `McDonald`, `O'Brien`, `5th`. */
export const TITLE_WORD = 1;
/** `ANNA`. */
export const CAPS_WORD = 2;
/** `A`. */
export const INITIAL = 3;
/** `NullPointer`. */
export const MIXED_WORD = 4;
/** `12`, `12b`. */
export const NUMBER_TOKEN = 5;

/** Kinds of gaps before a token. This one means that nothing is between the tokens. */
export const NO_GAP = 0;
/** A space, or `+` or `%20` in its place. */
export const BLANK_GAP = 1;
export const HYPHEN_GAP = 2;
/** A dot and a space. */
export const DOT_GAP = 3;
/** A comma, perhaps with a space. */
export const COMMA_GAP = 4;
/** `_` or a dot. */
export const JOINT_GAP = 5;
/** `=` or `:`, with quotes and spaces. */
export const ASSIGN_GAP = 6;
/** A line end, perhaps written as an escape. */
export const LINE_GAP = 7;
const OTHER_GAP = 8;

const ESCAPED = "%[C-Fc-f][\\dA-Fa-f](?:%[89ABab][\\dA-Fa-f])+";
const TOKEN = new RegExp(
  `%(?![C-Fc-f])[\\dA-Fa-f]{2}|(?:\\p{L}|${ESCAPED})(?:[\\p{L}\\p{M}]|${ESCAPED}|['’](?=\\p{L}))*|\\d+(?:st|nd|rd|th)\\b|\\d+(?:\\p{L}(?!\\p{L}))?`,
  "gu",
);

/**
 * The words and numbers of a text, in order, with the gaps between them. Words that are longer than any name are left
 * out.
 */
export class Tokens {
  readonly text: string;
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly kinds: number[] = [];
  readonly gaps: number[] = [];
  /** The words in lower case, without accents. */
  readonly folded: string[] = [];

  constructor(text: string) {
    this.text = text;
    let before = 0;
    for (const match of text.matchAll(TOKEN)) {
      const [word] = match;
      if (word.charCodeAt(0) === PERCENT_SIGN && word.length === 3) continue; // escapes such as %20
      const start = match.index + escapeLength(text, match.index, word);
      const end = match.index + word.length;
      this.add(start, end, start === match.index ? word : word.slice(1), gapKind(text, before, start));
      before = end;
    }
  }

  get count(): number {
    return this.starts.length;
  }

  private add(start: number, end: number, word: string, gap: number): void {
    this.starts.push(start);
    this.ends.push(end);
    this.gaps.push(gap);
    const plain = word.length > MAX_WORD ? "" : word.includes("%") ? unescaped(word) : word;
    this.kinds.push(kindOf(plain));
    this.folded.push(fold(plain));
  }
}

const PERCENT_SIGN = 37;
const MAX_WORD = 60;

/** Returns 1 if the word begins with the `n`, `r` or `t` of an escape such as `\n`, which is not part of the word. */
function escapeLength(text: string, at: number, word: string): number {
  return at > 0 && text.charCodeAt(at - 1) === 92 && /^[nrt]\p{Lu}/u.test(word) ? 1 : 0;
}

function unescaped(word: string): string {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  ø: "o",
  ł: "l",
  æ: "ae",
  ı: "i",
  đ: "d",
  ё: "е",
};

/** Folds a word to the form in which the lists hold it. */
function fold(word: string): string {
  const lower = word.toLowerCase();
  if (!/[^a-z\d]/.test(lower)) return lower;
  return lower
    .normalize("NFD")
    .replace(/([a-z])\p{M}+/gu, "$1")
    .normalize("NFC")
    .replace(/['’ßøłæıđё]/g, (c) => PLAIN_LETTERS[c] ?? "");
}

function kindOf(word: string): number {
  const first = word.charCodeAt(0);
  if (first >= 48 && first <= 57) return /^\d+(?:st|nd|rd|th)$/.test(word) ? TITLE_WORD : NUMBER_TOKEN;
  if (!/^\p{Lu}/u.test(word)) return LOWER_WORD;
  if (word.length === 1) return INITIAL;
  if (/^\p{Lu}['’]?[\p{Ll}\p{M}]+$/u.test(word)) return TITLE_WORD;
  if (/^[\p{Lu}\p{M}'’]+$/u.test(word)) return CAPS_WORD;
  return /^(?:Mc|Mac|De|Di|Le|La|Van|Fitz|\p{L}['’])\p{Lu}[\p{Ll}\p{M}]+$/u.test(word) ? TITLE_WORD : MIXED_WORD;
}

const MAX_GAP = 16;
const ASSIGN = /^["'\\ \t\])]*(?:=>?|:)["'\\ \t[(]*$/;
const LINE = /^,?(?: ?\\[nr]| ?[\r\n])+[ \t]*$/;

function gapKind(text: string, from: number, to: number): number {
  if (to === from) return NO_GAP;
  if (to - from > MAX_GAP) return OTHER_GAP;
  const gap = text.slice(from, to);
  switch (gap) {
    case " ":
    case "+":
    case "%20":
    case "\u00a0":
      return BLANK_GAP;
    case "-":
    case "‐":
      return HYPHEN_GAP;
    case ". ":
    case ".+":
    case ".%20":
      return DOT_GAP;
    case ", ":
    case ",":
    case ",+":
    case "%2C%20":
    case "%2C+":
    case ",%20":
      return COMMA_GAP;
    case "_":
    case ".":
      return JOINT_GAP;
  }
  if (ASSIGN.test(gap)) return ASSIGN_GAP;
  return LINE.test(gap) ? LINE_GAP : OTHER_GAP;
}

/** A range of characters in a text. */
export type TextPlace = [start: number, end: number];

/** Returns possible labels before token `i`: one to three words joined, such as `first_name` or `firstName`. */
export function labelsBefore({ folded, gaps, kinds }: Tokens, i: number): readonly string[] {
  if (i === 0 || gaps[i] !== ASSIGN_GAP) return [];
  const labels: string[] = [];
  let label = "";
  for (let k = i - 1; k >= 0 && k > i - 5; k--) {
    if (kinds[k] === NUMBER_TOKEN) {
      if (k !== i - 1) break; // address_line_1
    } else {
      label = folded[k]! + label;
      labels.push(label);
    }
    const gap = gaps[k]!;
    if (gap !== JOINT_GAP && gap !== BLANK_GAP && gap !== HYPHEN_GAP && gap !== NO_GAP) break;
  }
  return labels;
}
