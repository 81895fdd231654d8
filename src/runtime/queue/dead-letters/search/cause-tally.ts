import type { DeadLetterGroup } from "#contract/operations";
import type { EntryRef } from "../../store/store.js";
import type { FailureIndex } from "./failure-index.js";
import type { KnownCause } from "./failure-rows.js";

const TREND_BUCKETS = 24;
export const TREND_BUCKET_MS = 60_000;

type Tallied = { -readonly [Key in "entries" | "items" | "firstAt" | "lastAt"]: DeadLetterGroup[Key] } & {
  readonly cause: KnownCause;
  readonly trend: number[];
  /** The last dead letter of the group, and the index that has it. */
  newest: EntryRef;
  index: FailureIndex;
};

/** Counts dead letters by signature, reason and exporter. */
export class CauseTally {
  /** End of the last bucket of all trends. */
  private readonly trendEnd: number;
  private readonly groups = new Map<string, Tallied>();
  /** Number of dead letters whose cause is not known. */
  others = 0;
  private readonly groupOf = new Map<KnownCause, Tallied>();

  constructor(at: number) {
    this.trendEnd = Math.ceil((at + 1) / TREND_BUCKET_MS) * TREND_BUCKET_MS;
  }

  /** Adds dead letters of one queue. */
  add(index: FailureIndex, refs: Iterable<EntryRef>): void {
    index.rows.count(refs, (cause, ref, at, items) => {
      if (cause === undefined) {
        this.others++;
        return;
      }
      const group = this.groupOf.get(cause) ?? this.open(cause, index, ref, at);
      group.entries++;
      group.items += items;
      if (at < group.firstAt) group.firstAt = at;
      if (at >= group.lastAt) {
        group.lastAt = at;
        group.newest = ref;
        group.index = index;
      }
      const bucket = TREND_BUCKETS - 1 - Math.floor((this.trendEnd - 1 - at) / TREND_BUCKET_MS);
      if (bucket >= 0 && bucket < TREND_BUCKETS) group.trend[bucket]!++;
    });
  }

  /** Returns the largest groups first. */
  async list(limit: number): Promise<{ readonly groups: DeadLetterGroup[]; readonly total: number }> {
    const sorted = [...this.groups.values()].sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt);
    return { groups: await Promise.all(sorted.slice(0, limit).map(toGroup)), total: sorted.length };
  }

  private open(cause: KnownCause, index: FailureIndex, ref: EntryRef, at: number): Tallied {
    const key = `${cause.reason} ${cause.exporter} ${cause.signature}`;
    const trend = new Array<number>(TREND_BUCKETS).fill(0);
    const group = this.groups.get(key) ?? {
      cause,
      trend,
      entries: 0,
      items: 0,
      firstAt: at,
      lastAt: at,
      newest: ref,
      index,
    };
    this.groups.set(key, group);
    this.groupOf.set(cause, group);
    return group;
  }
}

async function toGroup(tallied: Tallied): Promise<DeadLetterGroup> {
  const { cause, index, newest, entries, items, firstAt, lastAt, trend } = tallied;
  const exampleId = await index.idOf(newest);
  return { ...cause, entries, items, firstAt, lastAt, exampleId, trend };
}
