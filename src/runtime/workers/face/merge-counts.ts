import type { DeadLetterGroup, DeadLetterGroups, DeadLetterStats } from "#contract/operations";
import { least, sums } from "./merge-status.js";

const MAX_GROUPS = 1000;

type SignatureCount = DeadLetterStats["signatures"][number];

/** Groups of the same cause are one group. Only the largest ones are listed. */
export function mergeGroups(parts: readonly DeadLetterGroups[], limit = MAX_GROUPS): DeadLetterGroups {
  const at = Math.max(...parts.map((part) => part.at));
  const { bucketMs } = parts[0]!;
  const merged = new Map<string, DeadLetterGroup>();
  for (const part of parts) {
    const late = Math.floor(at / bucketMs) - Math.floor(part.at / bucketMs);
    for (const own of part.groups) {
      const group = { ...own, trend: shifted(own.trend, late) };
      const key = `${group.reason} ${group.exporter} ${group.signature}`;
      const before = merged.get(key);
      merged.set(key, before === undefined ? group : mergeGroup(before, group));
    }
  }
  // A worker lists only its largest groups, so there may be more than are known here.
  const unlisted = parts.map(({ total, groups }) => total - groups.length);
  return {
    groups: largestFirst([...merged.values()]).slice(0, Math.min(limit, MAX_GROUPS)),
    total: merged.size + Math.max(0, ...unlisted),
    ...sums(parts, ["others", "looked"]),
    isComplete: parts.every(({ isComplete }) => isComplete),
    at,
    bucketMs,
  };
}

function mergeGroup(one: DeadLetterGroup, other: DeadLetterGroup): DeadLetterGroup {
  const trend = one.trend.map((count, bucket) => count + (other.trend[bucket] ?? 0));
  return { ...mergeCount(one, other), trend };
}

/** An earlier count has no buckets for the time since. */
function shifted(trend: readonly number[], buckets: number): readonly number[] {
  if (buckets <= 0) return trend;
  return [...trend.slice(buckets), ...new Array<number>(Math.min(buckets, trend.length)).fill(0)];
}

/** Adds up the numbers of all workers. */
export function mergeStats(parts: readonly DeadLetterStats[]): DeadLetterStats {
  const signatures = new Map<string, SignatureCount>();
  for (const count of parts.flatMap((part) => part.signatures)) {
    const before = signatures.get(count.signature);
    signatures.set(count.signature, before === undefined ? count : mergeCount(before, count));
  }
  return {
    ...sums(parts, ["entries", "items", "bytes"]),
    oldestAt: least(parts.map(({ oldestAt }) => oldestAt)),
    byReason: addUp(parts.map(({ byReason }) => byReason)),
    byCategory: addUp(parts.map(({ byCategory }) => byCategory)),
    byExporter: addUp(parts.map(({ byExporter }) => byExporter)),
    signatures: largestFirst([...signatures.values()]).slice(0, MAX_GROUPS),
  };
}

/** The newest dead letter supplies the message and the example. */
function mergeCount<T extends Pick<SignatureCount, "entries" | "items" | "firstAt" | "lastAt">>(one: T, other: T): T {
  return {
    ...(other.lastAt > one.lastAt ? other : one),
    ...sums([one, other], ["entries", "items"]),
    firstAt: Math.min(one.firstAt, other.firstAt),
    lastAt: Math.max(one.lastAt, other.lastAt),
  };
}

function largestFirst<T extends { readonly entries: number; readonly lastAt: number }>(groups: T[]): T[] {
  return groups.sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt);
}

/** Adds up numbers by their keys. */
export function addUp(parts: readonly Readonly<Record<string, number | undefined>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const [key, count] of parts.flatMap((part) => Object.entries(part)))
    total[key] = (total[key] ?? 0) + (count ?? 0);
  return total;
}
