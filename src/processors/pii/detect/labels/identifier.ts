/**
 * Returns the length of the identifier at the beginning of the text: capital letters and digits, in groups that single
 * spaces, dashes, dots or slashes separate. It has `least` to `most` letters and digits, and at least `minDigits`
 * digits. Returns 0 if there is none.
 *
 * After a space, a group belongs to the identifier only if it has a digit, so that words after a number stay. A number
 * with a decimal point, a path and a time are no identifiers.
 */
export function identifierEnd(text: string, least: number, most: number, minDigits: number): number {
  let end = 0;
  let characters = 0;
  let digits = 0;
  let groups = 0;
  for (let at = 0; at < text.length; ) {
    const group = GROUP.exec(text.slice(at, at + MAX_GROUP));
    if (group === null) break;
    const size = group[0].length;
    const counted = countDigits(group[0]);
    const isLetters = counted === 0;
    const isLast = size === 1 && groups >= 3; // AB 12 34 56 C
    if (end > 0 && isLetters && ((text[at - 1] === " " && !isLast) || size > 3)) break;
    groups++;
    if (characters + size > most)
      return characters >= least && text[at - 1] === " " ? finish(text, end, digits, minDigits) : 0;
    characters += size;
    digits += counted;
    end = at + size;
    if (!SEPARATORS.includes(text[end] ?? "\n")) break;
    at = end + 1;
  }
  return characters < least ? 0 : finish(text, end, digits, minDigits);
}

const MAX_GROUP = 36;
const GROUP = /^(?:[A-Z\d]+|[a-z]{1,3}\d[\da-z]*)(?![a-z_])/;
const SEPARATORS = " -./";

function finish(text: string, end: number, digits: number, minDigits: number): number {
  if (digits < minDigits || /^\d+\.\d+(?:-\d+\.\d+)?$/.test(text.slice(0, end))) return 0;
  const close = /^\([\dA]\)/.exec(text.slice(end, end + 3)); // the check digit of Hong Kong
  const stop = close === null ? end : end + 3;
  return /^(?:[\w@]|:\S|[/.-]\w|%)/.test(text.slice(stop, stop + 2)) ? 0 : stop;
}

function countDigits(text: string): number {
  let count = 0;
  for (const c of text) if (c >= "0" && c <= "9") count++;
  return count;
}
