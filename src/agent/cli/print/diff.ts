import { type DiffLine, diffValues, type Paint, printable, withContext } from "#text";

const MAX_LINES = 200;
const MAX_TEXT = 300;

/** Differences between two values for display: removed lines begin with a minus, added lines with a plus. */
export function diffText(before: unknown, after: unknown, paint: Paint): string[] {
  const lines = withContext(diffValues(before, after));
  if (lines.every((line) => line?.kind === "same")) return ["  nothing changes"];
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    if (line === undefined) return paint("dim", "  ...");
    const text = printable(line.text.length > MAX_TEXT ? `${line.text.slice(0, MAX_TEXT)}...` : line.text);
    if (line.kind === "same") return `  ${text}`;
    return line.kind === "new" ? paint("green", `+ ${text}`) : paint("red", `- ${text}`);
  });
  return lines.length > MAX_LINES ? [...shown, `  ${lines.length - MAX_LINES} more lines`] : shown;
}

/** Differences between two texts in the format of `diff -u`; empty when they are equal. */
export function unifiedDiff(name: string, lines: readonly DiffLine[], paint: Paint): string[] {
  if (lines.every(({ kind }) => kind === "same")) return [];
  const hunks: NumberedLine[][] = [];
  for (const line of [undefined, ...withContext(numbered(lines))]) {
    if (line === undefined) hunks.push([]);
    else hunks.at(-1)!.push(line);
  }
  const texts = hunks.filter((hunk) => hunk.length > 0).flatMap((hunk) => hunkText(hunk, paint));
  return [paint("bold", `--- ${name}`), paint("bold", `+++ ${name}`), ...texts];
}

/**
 * A line with its numbers in both texts (for a removed or added line: the number of the next line in the other text).
 */
interface NumberedLine extends DiffLine {
  readonly before: number;
  readonly after: number;
}

function numbered(lines: readonly DiffLine[]): NumberedLine[] {
  let [before, after] = [1, 1];
  return lines.map((line) => ({
    ...line,
    before: line.kind === "new" ? before : before++,
    after: line.kind === "gone" ? after : after++,
  }));
}

const MARKS = { same: " ", gone: "-", new: "+" } as const;
const COLOURS = { gone: "red", new: "green" } as const;

function hunkText(hunk: readonly NumberedLine[], paint: Paint): string[] {
  const count = (other: DiffLine["kind"]) => hunk.filter(({ kind }) => kind !== other).length;
  const { before, after } = hunk[0]!;
  const head = paint("dim", `@@ -${before},${count("new")} +${after},${count("gone")} @@`);
  const texts = hunk.map(({ kind, text }) => {
    const line = MARKS[kind] + printable(text);
    return kind === "same" ? line : paint(COLOURS[kind], line);
  });
  return [head, ...texts];
}
