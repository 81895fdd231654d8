/** Code points as sorted, disjoint ranges: lowest, highest, lowest, highest and so on. */
export type CharSet = readonly number[];

export const MAX_CODE_POINT = 0x10ffff;

/** Builds a set from ranges in any order, joined where they touch. */
export function charSet(ranges: readonly (readonly [low: number, high: number])[]): CharSet {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0]);
  const set: number[] = [];
  for (const [low, high] of sorted) {
    const last = set.length - 1;
    if (last > 0 && low <= set[last]! + 1) set[last] = Math.max(set[last]!, high);
    else set.push(low, high);
  }
  return set;
}

export function union(...sets: readonly CharSet[]): CharSet {
  return charSet(sets.flatMap(rangesOf));
}

export function complement(set: CharSet): CharSet {
  const result: number[] = [];
  let from = 0;
  for (let i = 0; i < set.length; i += 2) {
    if (set[i]! > from) result.push(from, set[i]! - 1);
    from = set[i + 1]! + 1;
  }
  if (from <= MAX_CODE_POINT) result.push(from, MAX_CODE_POINT);
  return result;
}

export function contains(set: CharSet, point: number): boolean {
  for (let i = 0; i < set.length; i += 2) if (point >= set[i]! && point <= set[i + 1]!) return true;
  return false;
}

export function highest(set: CharSet): number {
  return set[set.length - 1] ?? -1;
}

/**
 * The set with the other case of every letter: of ASCII, and of the two letters beyond it whose other case is ASCII.
 * Returns undefined for other letters, which would need tables.
 */
export function withBothCases(set: CharSet): CharSet | undefined {
  const more: [number, number][] = [];
  for (const [low, high] of rangesOf(set)) {
    if (high > 127) return undefined;
    for (let c = low; c <= high; c++) {
      if (c >= 65 && c <= 90) more.push([c + 32, c + 32]);
      else if (c >= 97 && c <= 122) more.push([c - 32, c - 32]);
      if (c === 0x4b || c === 0x6b) more.push([KELVIN_SIGN, KELVIN_SIGN]);
      if (c === 0x53 || c === 0x73) more.push([LONG_S, LONG_S]);
    }
  }
  return more.length === 0 ? set : union(set, charSet(more));
}

const KELVIN_SIGN = 0x212a;
const LONG_S = 0x17f;

function rangesOf(set: CharSet): [low: number, high: number][] {
  const ranges: [number, number][] = [];
  for (let i = 0; i < set.length; i += 2) ranges.push([set[i]!, set[i + 1]!]);
  return ranges;
}
