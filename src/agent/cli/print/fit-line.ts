/** Fits lines with colours into a width. */

// Linear: what begins with this character ends before the next one.
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
const PARTS = /\u001b\[[0-9;]*m|[\s\S]/gu;
const RESET = "\u001b[0m";
/** Characters that take two columns: most of East Asia, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
/** Characters that take no column of their own. */
const NARROW = /\p{Mark}|[\u200b-\u200d]/u;

function widthOf(part: string): number {
  if (part.startsWith("\u001b") || NARROW.test(part)) return 0;
  return WIDE.test(part) ? 2 : 1;
}

/** How many columns a line takes. */
export function lineWidth(line: string): number {
  return (line.match(PARTS) ?? []).reduce((sum, part) => sum + widthOf(part), 0);
}

/** The line, cut to the width; the last character is then an ellipsis. */
export function cutLine(line: string, columns: number): string {
  if (lineWidth(line) <= columns) return line;
  let width = 0;
  let cut = "";
  for (const [part] of line.matchAll(PARTS)) {
    if (width + widthOf(part) > columns - 1) break;
    width += widthOf(part);
    cut += part;
  }
  return `${cut}…${cut.includes("\u001b") ? RESET : ""}`;
}

/** The line in several lines of at most that width, broken between words where possible. Colours go on. */
export function wrapLine(line: string, columns: number, indent = ""): string[] {
  const lines: string[] = [];
  let [rest, colour, lead] = [line, "", ""];
  for (;;) {
    const end = breakAt(rest, columns - lead.length);
    const head = rest.slice(0, end).trimEnd();
    const isLast = end >= rest.length;
    lines.push(`${lead}${colour}${isLast ? rest : head}`);
    if (isLast) return lines;
    // Linear: what begins with this character ends before the next one.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
    colour = (colour + head).match(/\u001b\[[0-9;]*m/g)?.at(-1) ?? "";
    if (colour === RESET) colour = "";
    else if (colour !== "") lines[lines.length - 1] += RESET;
    rest = rest.slice(end).trimStart();
    lead = indent;
  }
}

/** Returns the end of the part that fits: after its last space, if that is beyond half of the width. */
function breakAt(text: string, columns: number): number {
  let [width, at, space, widthAtSpace] = [0, 0, 0, 0];
  for (const [part] of text.matchAll(PARTS)) {
    width += widthOf(part);
    if (width > Math.max(columns, 2)) return widthAtSpace * 2 >= columns ? space : at;
    at += part.length;
    if (part === " ") [space, widthAtSpace] = [at, width];
  }
  return text.length;
}
