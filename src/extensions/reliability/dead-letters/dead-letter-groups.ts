import type { Clock } from "../../../plugin.js";
import type { DeadLetterGroup, DeadLetterGroups, DeadLetterQuery, Entry } from "../../../runtime/kit.js";
import { waitAtMost } from "../../../runtime/kit.js";
import { type Controls, controlOf, foundMatcher, queriedControls, walkDeadLetters } from "./dead-letters.js";
import { payloadMatcher } from "./payload-matcher.js";

/** Messages can be made up by others: no more kinds than this are told apart. */
const MAX_GROUPS = 1000;
/** Whoever asks first is answered by then, with what is known. */
const MAX_WAIT_MS = 100;
/** The same when there is an older count: of few dead letters the new one is ready by then. */
const MAX_WAIT_FOR_NEWER_MS = 15;
/** What was counted is good for so long at least. */
const MIN_FRESH_MS = 2000;
/**
 * A console that stays open may take about a fiftieth of the time, so a count is good for longer the more it looked at: of each,
 * fifty times the 15 us that it takes. Time is not measured, for on a busy machine it is mostly time of others.
 */
const FRESH_MS_PER_ENTRY = 0.75;
/** The same where payloads must be read. */
const FRESH_MS_PER_PAYLOAD = 3;
/** There are fewer than were counted: somebody replays or deletes, and looks what became of it. */
const FRESH_SHARE_OF_FEWER = 0.1;
/** Kinds of filters whose counts are kept. */
const MAX_COUNTS = 4;
/** A count that nobody has asked for so long is given up. */
const ABANDONED_MS = 30_000;
export const TREND_BUCKETS = 24;
const MIN_BUCKET_MS = 60_000;

type MutableGroup = { -readonly [Key in keyof DeadLetterGroup]: DeadLetterGroup[Key] } & { trend: number[] };

interface Count {
  readonly groups: Map<string, MutableGroup>;
  readonly at: number;
  /** Where the last bucket of all trends ends, and how long each is. */
  readonly trendEnd: number;
  /** How many dead letters there were. */
  readonly present: number;
  looked: number;
  isComplete: boolean;
}

/**
 * Dead letters by cause: signature, exporter and reason. Counting reads all of them, which takes seconds when there are a
 * hundred thousand. So it is done in the background, for all who ask, and whoever asks gets the last count at once; while
 * there is none yet, what was counted so far. Filters that are about the causes choose among those of one count for all; for
 * others there is a count of their own.
 */
export class DeadLetterGrouping {
  private readonly controls: Controls;
  private readonly clock: Clock;
  /** By their filters, those asked for last at the end. */
  private readonly counts = new Map<string, FilteredCount>();

  constructor(controls: Controls, clock: Clock) {
    this.controls = controls;
    this.clock = clock;
  }

  /** The largest first. */
  async list(query: DeadLetterQuery): Promise<DeadLetterGroups> {
    if (query.exporter !== undefined) controlOf(this.controls, query.exporter);
    const { exporter: _, reason: __, category: ___, signature: ____, limit = MAX_GROUPS, ...filters } = query;
    const count = await this.countFor(filters).current();
    const groups = [...count.groups.values()].filter((group) => isWanted(group, query));
    groups.sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt);
    const { isComplete, looked, at } = count;
    return { groups: groups.slice(0, limit), total: groups.length, isComplete, looked, at, bucketMs: MIN_BUCKET_MS };
  }

  private countFor(filters: DeadLetterQuery): FilteredCount {
    const key = JSON.stringify(Object.entries(filters).sort());
    const count = this.counts.get(key) ?? new FilteredCount(this.controls, filters, this.clock);
    this.counts.delete(key);
    this.counts.set(key, count);
    const [oldest] = this.counts.keys();
    if (this.counts.size > MAX_COUNTS) this.counts.delete(oldest!);
    return count;
  }
}

/** The dead letters that some filters find, counted again when that is due and somebody asks. */
class FilteredCount {
  private readonly controls: Controls;
  private readonly filters: DeadLetterQuery;
  private readonly clock: Clock;
  private counted: Count | undefined;
  private counting: { readonly count: Count; readonly done: Promise<void> } | undefined;
  private askedAt = 0;

  constructor(controls: Controls, filters: DeadLetterQuery, clock: Clock) {
    this.controls = controls;
    this.filters = filters;
    this.clock = clock;
  }

  async current(): Promise<Count> {
    this.askedAt = this.clock.monotonic();
    if (this.counted === undefined || !this.isFresh(this.counted)) {
      this.counting ??= this.start();
      const { count, done } = this.counting;
      await waitAtMost(this.counted === undefined ? MAX_WAIT_MS : MAX_WAIT_FOR_NEWER_MS, done, this.clock);
      return this.counted ?? count;
    }
    return this.counted;
  }

  private isFresh({ at, looked, present }: Count): boolean {
    const each = payloadMatcher(this.filters) === undefined ? FRESH_MS_PER_ENTRY : FRESH_MS_PER_PAYLOAD;
    const share = this.present() < present ? FRESH_SHARE_OF_FEWER : 1;
    return Math.abs(this.clock.now() - at) < Math.max(MIN_FRESH_MS, looked * each * share);
  }

  private present(): number {
    return queriedControls(this.controls, {}).reduce((sum, { store }) => sum + store.stats.failed.entries, 0);
  }

  private start() {
    const at = this.clock.now();
    const trendEnd = Math.ceil((at + 1) / MIN_BUCKET_MS) * MIN_BUCKET_MS;
    const present = this.present();
    const count: Count = { groups: new Map(), at, trendEnd, present, looked: 0, isComplete: false };
    return { count, done: this.count(count) };
  }

  private async count(count: Count): Promise<void> {
    try {
      const matches = foundMatcher(this.filters);
      for (const control of queriedControls(this.controls, {})) {
        for await (const stored of walkDeadLetters(control.store)) {
          if (this.clock.monotonic() - this.askedAt > ABANDONED_MS) return;
          count.looked++;
          if (await matches({ ...stored, control })) addTo(count, stored.entry);
        }
      }
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
