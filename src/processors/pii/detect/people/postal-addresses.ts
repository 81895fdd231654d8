import { HINT_ADDRESS } from "../text/detectors.js";
import {
  ADDRESS_LABELS,
  BOXES,
  COMPOUND_ENDINGS,
  HOUSE_NUMBER_WORDS,
  NOT_STREETS,
  STREET_PREFIXES,
  STREET_SUFFIXES,
  UNITS,
} from "./address-words.js";
import { PARTICLES } from "./name-lists.js";
import {
  BLANK_GAP,
  CAPS_WORD,
  COMMA_GAP,
  DOT_GAP,
  HYPHEN_GAP,
  INITIAL,
  LINE_GAP,
  LOWER_WORD,
  labelsBefore,
  MIXED_WORD,
  NUMBER_TOKEN,
  type TextPlace,
  TITLE_WORD,
  type Tokens,
} from "./tokens.js";

/**
 * Finds postal addresses: a street (a typical street word with a number next to it) and the unit, postcode and town
 * after it; a post office box; or the value of a label such as `address=` if it contains words and a number. Only a few
 * tokens around each such word are read, so the time is linear.
 */
export function findPostalAddresses(tokens: Tokens, hints: number): TextPlace[] {
  const { starts, ends, count, text } = tokens;
  if ((hints & HINT_ADDRESS) !== 0 && looksLikeAddress(tokens, 0, count - 1)) return [[0, text.length]];
  const found: TextPlace[] = [];
  let after = 0;
  for (let i = 0; i < count; i++) {
    const run = findAddressAt(tokens, i, after);
    if (run === undefined) continue;
    found.push([starts[run.first]!, ends[run.last]!]);
    after = run.last + 1;
    i = run.last;
  }
  return found;
}

interface AddressRun {
  readonly first: number;
  readonly last: number;
}

/** Finds the address around token `i`, without anything before `floor`. */
function findAddressAt(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const labelled = labelledAddress(tokens, i);
  if (labelled !== undefined) return labelled;
  const word = tokens.folded[i]!;
  const street =
    (STREET_SUFFIXES.has(word) && suffixStreet(tokens, i, floor)) ||
    (STREET_PREFIXES.has(word) && prefixStreet(tokens, i, floor)) ||
    (isCompound(tokens, i) && compoundStreet(tokens, i, floor)) ||
    (BOXES.has(word) && postOfficeBox(tokens, i, floor)) ||
    undefined;
  if (street === undefined) return isTownAhead(tokens, i) ? streetBefore(tokens, i, floor) : undefined;
  const last = tailEnd(tokens, street.last);
  return STREET_PREFIXES.get(word) === "with postcode" && !hasPostcode(tokens, street.last + 1, last)
    ? undefined
    : { first: street.first, last };
}

/** Ambiguous street words count if a postcode follows them. */
function hasPostcode({ kinds, starts, ends }: Tokens, from: number, to: number): boolean {
  for (let i = from; i <= to; i++) if (kinds[i] === NUMBER_TOKEN && ends[i]! - starts[i]! >= 4) return true;
  return false;
}

/** Whether token `i` is a house number that a postcode and a town follow, as in `12, 10117 Berlin`. */
function isTownAhead(tokens: Tokens, i: number): boolean {
  const { kinds, gaps, starts, ends, count } = tokens;
  if (i + 2 >= count || !isHouseNumber(tokens, i, 4) || (gaps[i + 1] !== COMMA_GAP && gaps[i + 1] !== LINE_GAP))
    return false;
  const size = ends[i + 1]! - starts[i + 1]!;
  return kinds[i + 1] === NUMBER_TOKEN && size === 5 && gaps[i + 2] === BLANK_GAP && kinds[i + 2] === TITLE_WORD;
}

/** Finds the street before such a number, whatever its name, as in Unter den Linden 77, 10117 Berlin. */
function streetBefore(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const { kinds, gaps, folded } = tokens;
  let first = i;
  for (let k = i; k > floor && i - k < MAX_WORDS && (gaps[k] === BLANK_GAP || gaps[k] === HYPHEN_GAP); k--) {
    if (isCapital(kinds[k - 1])) first = k - 1;
    else if (!PARTICLES.has(folded[k - 1]!)) break;
  }
  return first === i ? undefined : { first, last: tailEnd(tokens, i) };
}

const MAX_WORDS = 4;

function isCapital(kind: number | undefined): boolean {
  return kind === TITLE_WORD || kind === CAPS_WORD || kind === INITIAL;
}

function isHouseNumber({ kinds, starts, ends }: Tokens, i: number, maxLength = 6): boolean {
  return kinds[i] === NUMBER_TOKEN && ends[i]! - starts[i]! <= maxLength;
}

/** Finds 221B Baker Street or 1600 Pennsylvania Ave NW. */
function suffixStreet(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const { kinds, gaps, folded, count } = tokens;
  if (!isCapital(kinds[i])) return undefined;
  for (let k = i - 1; k >= floor && i - k <= MAX_WORDS + 1; k--) {
    const gap = gaps[k + 1]!;
    if (gap !== BLANK_GAP && gap !== DOT_GAP && gap !== HYPHEN_GAP && !(gap === COMMA_GAP && kinds[k] === NUMBER_TOKEN))
      return undefined;
    if (kinds[k] === NUMBER_TOKEN)
      return i - k > 1 && isHouseNumber(tokens, k)
        ? { first: startOfNumber(tokens, k, floor), last: direction() }
        : undefined;
    if (!isCapital(kinds[k]) && !PARTICLES.has(folded[k]!)) return undefined;
  }
  return undefined;

  function direction(): number {
    const isNext = i + 1 < count && (gaps[i + 1] === BLANK_GAP || gaps[i + 1] === DOT_GAP);
    return isNext && /^(?:n|s|e|w|nw|ne|sw|se|north|south|east|west)$/.test(folded[i + 1]!) && isCapital(kinds[i + 1])
      ? i + 1
      : i;
  }
}

/** Returns the first token of a house number, including text before it such as in 12-14 or Flat 3. */
function startOfNumber(tokens: Tokens, k: number, floor: number): number {
  const { kinds, gaps, folded } = tokens;
  let first = k;
  if (first - 1 >= floor && gaps[first] === HYPHEN_GAP && isHouseNumber(tokens, first - 1)) first--;
  if (
    first - 2 >= floor &&
    gaps[first] === COMMA_GAP &&
    kinds[first - 1] === NUMBER_TOKEN &&
    UNITS.has(folded[first - 2]!)
  )
    first -= 2;
  return first;
}

/** Finds 12 rue de la Paix, Calle Mayor 5 or Via Roma, 12. */
function prefixStreet(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const { kinds, gaps, folded, count } = tokens;
  let last = i;
  let hasName = false;
  while (last + 1 < count && last - i < MAX_WORDS + 2) {
    const gap = gaps[last + 1]!;
    if (gap !== BLANK_GAP && gap !== HYPHEN_GAP && gap !== DOT_GAP) break;
    const kind = kinds[last + 1]!;
    if (isCapital(kind)) hasName = true;
    else if (
      kind !== LOWER_WORD ||
      !(PARTICLES.has(folded[last + 1]!) || /^(?:des|les|los|las|degli|dei|delle|l|d|dell)/.test(folded[last + 1]!))
    )
      break;
    last++;
  }
  while (last > i && kinds[last] === LOWER_WORD) last--;
  if (!hasName) return undefined;
  const behind = numberBehind(tokens, last);
  if (behind !== undefined) return { first: i, last: behind };
  const before = i - 1 >= floor && /^(?:bis|ter|quater)$/.test(folded[i - 1]!) ? i - 2 : i - 1;
  const gap = gaps[before + 1];
  const isNumbered = before >= floor && (gap === BLANK_GAP || gap === COMMA_GAP) && isHouseNumber(tokens, before);
  return isNumbered ? { first: before, last } : undefined;
}

/** Returns the token of a number after token `i`, perhaps with `n°` between them. */
function numberBehind(tokens: Tokens, i: number): number | undefined {
  const { gaps, folded, count } = tokens;
  let k = i + 1;
  if (k < count && HOUSE_NUMBER_WORDS.has(folded[k]!)) k++;
  if (k >= count || !isHouseNumber(tokens, k, 4)) return undefined;
  const gap = gaps[i + 1]!;
  if (gap !== BLANK_GAP && gap !== COMMA_GAP && gap !== DOT_GAP) return undefined;
  return k + 1 < count && gaps[k + 1] === HYPHEN_GAP && isHouseNumber(tokens, k + 1) ? k + 1 : k;
}

function isCompound({ folded, kinds }: Tokens, i: number): boolean {
  return isCapital(kinds[i]) && COMPOUND_ENDINGS.test(folded[i]!) && !NOT_STREETS.has(folded[i]!);
}

/** Finds Hauptstraße 5, Lange Str. 12 or Keizersgracht 123. */
function compoundStreet(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const { kinds, gaps, folded, starts, ends } = tokens;
  const number = numberBehind(tokens, i);
  if (number === undefined || ends[number]! - starts[number]! > 5) return undefined;
  let first = i;
  const isJoint = (k: number) => gaps[k] === BLANK_GAP || gaps[k] === HYPHEN_GAP;
  const isWhole = COMPOUND_ENDINGS.exec(folded[i]!)![0].length === folded[i]!.length;
  while (first - 1 >= floor && i - first < 3 && isJoint(first) && kinds[first - 1] === TITLE_WORD) {
    if (!isWhole && gaps[first] !== HYPHEN_GAP) break;
    first--;
  }
  return isWhole && first === i ? undefined : { first, last: number };
}

/** Finds PO Box 12 or Postfach 12 34. */
function postOfficeBox(tokens: Tokens, i: number, floor: number): AddressRun | undefined {
  const { gaps, folded, kinds, count } = tokens;
  const number = numberBehind(tokens, i);
  if (number === undefined || !isCapital(kinds[i])) return undefined;
  const last =
    number + 1 < count && gaps[number + 1] === BLANK_GAP && kinds[number + 1] === NUMBER_TOKEN ? number + 1 : number;
  if (folded[i] !== "box") return { first: i, last };
  if (i - 1 >= floor && folded[i - 1] === "po") return { first: i - 1, last };
  return i - 2 >= floor && folded[i - 1] === "o" && folded[i - 2] === "p" ? { first: i - 2, last } : undefined;
}

const MAX_TAIL = 10;
/** Postcodes with letters: Britain, Canada and the Netherlands. Other postcodes are numbers. */
const LETTERED_POSTCODE =
  /^(?:[A-Z]{1,2}\d[A-Z\d]?(?: |%20|\+)?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2})(?![A-Za-z\d])/;

/** Returns the last token of the text after a street: unit, town, state, postcode, town. */
function tailEnd(tokens: Tokens, street: number): number {
  const { kinds, gaps, folded, starts, ends, text, count } = tokens;
  let end = street;
  let hasPostcode = false;
  let towns = 0;
  for (let k = street + 1; k < count && k <= street + MAX_TAIL; k++) {
    const gap = gaps[k]!;
    if (gap !== BLANK_GAP && gap !== COMMA_GAP && gap !== LINE_GAP && gap !== HYPHEN_GAP && gap !== DOT_GAP) break;
    if (k === street + 1 && gap === DOT_GAP && !/^(?:st|ave|rd|blvd|dr|ln|ct|pl)$/.test(folded[street]!)) break;
    const kind = kinds[k]!;
    if (UNITS.has(folded[k]!) && k + 1 < count && (kinds[k + 1] === NUMBER_TOKEN || kinds[k + 1] === INITIAL)) {
      end = ++k;
      continue;
    }
    const lettered = hasPostcode ? null : LETTERED_POSTCODE.exec(text.slice(starts[k]!, starts[k]! + 12));
    if (lettered !== null) {
      const stop = starts[k]! + lettered[0].length;
      while (k + 1 < count && ends[k]! < stop) k++;
      end = k;
      hasPostcode = true;
      towns = 0;
    } else if (kind === NUMBER_TOKEN) {
      const size = ends[k]! - starts[k]!;
      if (hasPostcode ? gap !== HYPHEN_GAP : size < 4 || size > 6) break;
      hasPostcode = true;
      towns = 0;
      end = k;
    } else if (isCapital(kind)) {
      if (++towns > 3 || (gap === BLANK_GAP && end === street && !hasPostcode)) break;
      // A town follows a comma, a line end or a postcode; the other words of its name follow a space.
      end = k;
    } else if (kind === MIXED_WORD || kind !== LOWER_WORD || !PARTICLES.has(folded[k]!)) break;
  }
  return end;
}

/** Finds the value of a label such as `shipping_address`, up to the closing quote or the end of the line. */
function labelledAddress(tokens: Tokens, i: number): AddressRun | undefined {
  if (!labelsBefore(tokens, i).some((label) => ADDRESS_LABELS.has(label))) return undefined;
  const { text, starts, ends, count, gaps, kinds } = tokens;
  const quote = /["']/.exec(text[starts[i]! - 1] ?? "")?.[0];
  let last = i;
  while (last + 1 < count && last - i < 24) {
    const between = text.slice(ends[last]!, starts[last + 1]!);
    if (between.length > 4 || (quote === undefined ? /[=;&|"{}[\]]|: /.test(between) : between.includes(quote))) break;
    if (
      quote === undefined &&
      gaps[last + 2] !== undefined &&
      /^=/.test(text.slice(ends[last + 1]!, starts[last + 2]!))
    )
      break;
    if (quote === undefined && gaps[last + 1] === LINE_GAP && kinds[last + 1] === LOWER_WORD) break;
    last++;
  }
  return looksLikeAddress(tokens, i, last) ? { first: i, last } : undefined;
}

/**
 * Whether the tokens contain a number, a word of three letters or more and a space, and do not look like a URL or host.
 */
function looksLikeAddress({ text, starts, ends, kinds, gaps }: Tokens, first: number, last: number): boolean {
  if (last <= first) return false;
  let hasNumber = false;
  let hasWord = false;
  let hasBlank = false;
  for (let i = first; i <= last; i++) {
    if (kinds[i] === NUMBER_TOKEN) hasNumber ||= ends[i]! - starts[i]! <= 7;
    else hasWord ||= isCapital(kinds[i]) && ends[i]! - starts[i]! >= 3;
    if (i > first) hasBlank ||= gaps[i] === BLANK_GAP || gaps[i] === COMMA_GAP || gaps[i] === LINE_GAP;
  }
  return hasNumber && hasWord && hasBlank && !/:\/\/|@|\d\.\d|::|0x/.test(text.slice(starts[first]!, ends[last]!));
}
