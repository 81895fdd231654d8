import type { Tree } from "#otlp/bytes";

/** How the counts of an exponential histogram's buckets are distributed to buckets with explicit bounds. */
export const DISTRIBUTIONS = ["upper", "midpoint", "uniform", "random"] as const;
export type Distribution = (typeof DISTRIBUTIONS)[number];

type Spread = (counts: bigint[], count: bigint, low: number, high: number, bounds: readonly number[]) => void;

/** Index of the first bound that is at least as large, or the last. */
function bucketOf(value: number, bounds: readonly number[]): number {
  const index = bounds.findIndex((bound) => value <= bound);
  return index < 0 ? bounds.length - 1 : index;
}

const SPREADS: Readonly<Record<Distribution, Spread>> = {
  upper(counts, count, _, high, bounds) {
    counts[bucketOf(high, bounds)]! += count;
  },
  midpoint(counts, count, low, high, bounds) {
    const middle = (low + high) / 2;
    const index = bucketOf(middle, bounds);
    counts[middle <= bounds[index]! && index > 0 ? index - 1 : index]! += count;
  },
  uniform(counts, count, low, high, bounds) {
    const [start, end] = [bucketOf(low, bounds), bucketOf(high, bounds)];
    const buckets = BigInt(end - start + 1);
    let rest = count % buckets;
    for (let i = start; i <= end; i++) {
      counts[i]! += count / buckets + (rest > 0n ? 1n : 0n);
      if (rest > 0n) rest--;
    }
  },
  random(counts, count, low, high, bounds) {
    const [start, end] = [bucketOf(low, bounds), bucketOf(high, bounds)];
    let rest = count;
    for (let i = start; i < end; i++) {
      const from = Math.max(low, i === 0 ? low : bounds[i - 1]!);
      const share = Math.max(0, Math.min(high, bounds[i]!) - from) / (high - low);
      const some = BigInt(Math.floor(Math.random() * Number(count) * share));
      const taken = some < rest ? some : rest;
      counts[i]! += taken;
      rest -= taken;
    }
    counts[start + Math.floor(Math.random() * (end - start + 1))]! += rest;
  },
};

/**
 * The counts by bound for a point of an exponential histogram. Only its positive buckets count, and zeros if a bound is
 * 0.
 */
export function explicitCounts(point: Tree, bounds: readonly number[], distribution: Distribution): bigint[] {
  const counts = bounds.map(() => 0n);
  if (bounds[0] === 0) counts[0]! += BigInt((point["zeroCount"] as bigint | undefined) ?? 0n);
  const positive = (point["positive"] ?? {}) as Tree;
  const offset = Number(positive["offset"] ?? 0);
  const factor = Math.LN2 * 2 ** -Number(point["scale"] ?? 0);
  for (const [i, raw] of ((positive["bucketCounts"] ?? []) as bigint[]).entries()) {
    const count = BigInt(raw);
    const [low, high] = [Math.exp((offset + i) * factor), Math.exp((offset + i + 1) * factor)];
    if (low > bounds.at(-1)!) {
      counts[bounds.length - 1]! += count;
      continue;
    }
    const inside = bounds.findIndex((bound, j) => j > 0 && low > bounds[j - 1]! && high <= bound);
    if (inside > 0) counts[inside - 1]! += count;
    else SPREADS[distribution](counts, count, low, high, bounds);
  }
  return counts;
}
