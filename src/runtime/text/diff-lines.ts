/** A line of two compared texts: in both, only in the first, or only in the second. */
export interface DiffLine {
  readonly kind: "same" | "gone" | "new";
  readonly text: string;
}

/** Above this many pairs of lines the middle is shown as replaced, because comparing would take too long. */
const MAX_PAIRS = 4_000_000;

/** The changes from one value to another, line by line of their JSON. */
export function diffValues(before: unknown, after: unknown): DiffLine[] {
  return diffLines(linesOf(before), linesOf(after));
}

export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return [
    ...before.slice(0, start).map(same),
    ...diffMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

function diffMiddle(before: readonly string[], after: readonly string[]): DiffLine[] {
  if (before.length * after.length > MAX_PAIRS) {
    return [
      ...before.map((text): DiffLine => ({ kind: "gone", text })),
      ...after.map((text): DiffLine => ({ kind: "new", text })),
    ];
  }
  // longest[i][j]: the number of lines that both rests from there have in common, in order.
  const width = after.length + 1;
  const longest = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        before[i] === after[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: "same", text: before[i++]! });
      j++;
    } else if (
      j >= after.length ||
      (i < before.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)
    ) {
      lines.push({ kind: "gone", text: before[i++]! });
    } else lines.push({ kind: "new", text: after[j++]! });
  }
  return lines;
}

function linesOf(value: unknown): string[] {
  return value === undefined ? [] : JSON.stringify(value, null, 2).split("\n");
}

/** Only lines near a change; undefined stands for omitted lines. All lines if nothing has changed. */
export function withContext<Line extends DiffLine>(lines: readonly Line[], context = 3): (Line | undefined)[] {
  const isNear = lines.map(() => false);
  for (const [i, { kind }] of lines.entries()) {
    if (kind !== "same") isNear.fill(true, Math.max(i - context, 0), i + context + 1);
  }
  if (!isNear.includes(true)) return [...lines];
  return lines.flatMap((line, i) => (isNear[i] ? [line] : isNear[i - 1] || i === 0 ? [undefined] : []));
}
