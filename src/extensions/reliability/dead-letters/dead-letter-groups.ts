import type { Clock } from "../../../plugin.js";
import type { DeadLetterGroup, DeadLetterGroups, DeadLetterQuery, Entry } from "../../../runtime/kit.js";
import { waitAtMost } from "../../../runtime/kit.js";
import { type Controls, controlOf, searchDeadLetters } from "./dead-letters.js";

/** Messages can be made up by others: no more kinds than this are told apart. */
const MAX_GROUPS = 1000;
/** Whoever asks is answered by then, with what is known. */
const MAX_WAIT_MS = 200;
/** What was counted is good for so long. */
const FRESH_MS = 2000;
export const TREND_BUCKETS = 24;
const MIN_BUCKET_MS = 60_000;

type MutableGroup = { -readonly [Key in keyof DeadLetterGroup]: DeadLetterGroup[Key] } & { trend: number[] };

interface Count {
  readonly groups: Map<string, MutableGroup>;
  readonly at: number;
  /** Where the last bucket of all trends ends, and how long each is. */
  readonly trendEnd: number;
  isComplete: boolean;
}

/**
 * Dead letters by cause: signature, exporter and reason. Counting reads all of them, which takes seconds when there are a
 * hundred thousand. So it is done in the background, for all who ask, and whoever asks gets the last count at once; while
 * there is none yet, what was counted so far.
 */
export class DeadLetterGrouping {
  private readonly controls: Controls;
  private readonly clock: Clock;
  private counted: Count | undefined;
  private counting: { readonly count: Count; readonly done: Promise<void> } | undefined;

  constructor(controls: Controls, clock: Clock) {
    this.controls = controls;
    this.clock = clock;
  }

  /** The largest first. Only the exporter, reason, category and signature of a query are looked at. */
  async list(query: DeadLetterQuery): Promise<DeadLetterGroups> {
    if (query.exporter !== undefined) controlOf(this.controls, query.exporter);
    const now = this.clock.now();
    const isFresh = this.counted !== undefined && Math.abs(now - this.counted.at) < FRESH_MS;
    if (!isFresh) {
      this.counting ??= this.start(now);
      await waitAtMost(MAX_WAIT_MS, this.counting.done, this.clock);
    }
    const count = this.counted ?? this.counting!.count;
    const groups = [...count.groups.values()].filter((group) => isWanted(group, query));
    groups.sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt);
    const { limit = MAX_GROUPS } = query;
    const bucketMs = MIN_BUCKET_MS;
    return {
      groups: groups.slice(0, limit),
      total: groups.length,
      isComplete: count.isComplete,
      at: count.at,
      bucketMs,
    };
  }

  private start(at: number) {
    const trendEnd = Math.ceil((at + 1) / MIN_BUCKET_MS) * MIN_BUCKET_MS;
    const count: Count = { groups: new Map(), at, trendEnd, isComplete: false };
    return { count, done: this.count(count) };
  }

  private async count(count: Count): Promise<void> {
    try {
      for await (const { entry } of searchDeadLetters(this.controls, {})) addTo(count, entry);
      count.isComplete = true;
      this.counted = count;
    } finally {
      this.counting = undefined;
    }
  }
}

function isWanted(group: DeadLetterGroup, { exporter, reason, category, signature }: DeadLetterQuery): boolean {
  return (
    (exporter === undefined || group.exporter === exporter) &&
    (reason === undefined || group.reason === reason) &&
    (category === undefined || group.category === category) &&
    (signature === undefined || group.signature === signature)
  );
}

function addTo({ groups, trendEnd }: Count, { id, exporter, items, signal, failure }: Entry): void {
  const { signature, reason, category, error, at } = failure!;
  const key = `${signature} ${reason} ${exporter}`;
  let group = groups.get(key);
  if (group === undefined) {
    if (groups.size >= MAX_GROUPS) return;
    const trend = new Array<number>(TREND_BUCKETS).fill(0);
    const { class: kind, message } = error;
    const counts = { entries: 0, items: 0, firstAt: at, lastAt: at };
    group = {
      signature,
      exporter,
      reason,
      category,
      signal,
      error: { class: kind, message },
      exampleId: id,
      trend,
      ...counts,
    };
    groups.set(key, group);
  }
  group.entries++;
  group.items += items;
  group.firstAt = Math.min(group.firstAt, at);
  if (at >= group.lastAt) {
    group.lastAt = at;
    group.exampleId = id;
  }
  const bucket = TREND_BUCKETS - 1 - Math.floor((trendEnd - 1 - at) / MIN_BUCKET_MS);
  if (bucket >= 0 && bucket < TREND_BUCKETS) group.trend[bucket]!++;
}
