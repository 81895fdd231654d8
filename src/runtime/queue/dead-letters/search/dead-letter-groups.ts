import { setImmediate } from "node:timers/promises";
import type { Clock } from "#contract";
import type { DeadLetterGroups } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { type Controls, queriedControls } from "../dead-letters.js";
import type { QueueControl } from "../exporter-control.js";
import { CauseTally, TREND_BUCKET_MS } from "./cause-tally.js";
import type { FailureIndexes } from "./failure-indexes.js";
import type { CheckedQuery } from "./match-records.js";

/** The maximum number of groups listed. */
const MAX_GROUPS = 1000;
/** The first request is answered after at most this time, with what is known by then. */
const MAX_WAIT_MS = 100;
/** The maximum wait for a new count if there is an older one. With few dead letters the new one is ready in time. */
const MAX_WAIT_FOR_NEWER_MS = 15;
/** The minimum time for which counts of record searches are reused. */
const MIN_FRESH_MS = 2000;
/**
 * An open console may use about a fiftieth of the CPU time, so counts over more entries are reused for longer: for each
 * entry, fifty times the 6 us that it takes. The time is not measured, because on a busy machine most of it belongs to
 * other processes.
 */
const FRESH_MS_PER_ENTRY = 0.3;
/**
 * If there are fewer dead letters than counted, a user is replaying or deleting and wants to see the effect, so the
 * count is reused for a shorter time.
 */
const FRESH_FACTOR_IF_FEWER = 0.1;
/** Number of queries whose counts are kept. */
const MAX_COUNTS = 4;
/** A count is abandoned if it was not requested in this time. */
const ABANDONED_MS = 30_000;
/** Rows counted without a pause; this takes a few milliseconds. */
const ROWS_PER_SLICE = 50_000;

interface Count {
  readonly tally: CauseTally;
  readonly at: number;
  /** Number of dead letters at the start of the count. */
  readonly present: number;
  looked: number;
  isComplete: boolean;
}

/**
 * Counts dead letters by cause (signature, exporter and reason) from the rows in the index. Filters on records need all
 * candidates to be read. That is done in the background, once for all who ask, and they get the last complete count at
 * once, or the partial count if there is none yet.
 */
export class DeadLetterGrouping {
  private readonly controls: Controls;
  private readonly indexes: FailureIndexes;
  private readonly clock: Clock;
  /** Counts by query, the most recently used last. */
  private readonly counts = new Map<string, RecordCount>();

  constructor(controls: Controls, indexes: FailureIndexes, clock: Clock) {
    this.controls = controls;
    this.indexes = indexes;
    this.clock = clock;
  }

  /** Returns the largest groups first. */
  async list({ limit = MAX_GROUPS, ...query }: CheckedQuery): Promise<DeadLetterGroups> {
    const controls = queriedControls(this.controls, query);
    const { tally, isComplete, looked, at } =
      query.test === undefined ? await this.countRows(controls, query) : await this.countFor(query).current();
    const { groups, total } = await tally.list(Math.min(limit, MAX_GROUPS));
    return { groups, total, others: tally.others, isComplete, looked, at, bucketMs: TREND_BUCKET_MS };
  }

  private async countRows(controls: readonly QueueControl[], query: CheckedQuery): Promise<Count> {
    await waitAtMost(MAX_WAIT_MS, this.indexes.ready(controls), this.clock);
    const count = startCount(this.clock.now(), controls);
    for (const control of controls) {
      const index = this.indexes.of(control);
      count.looked += index.rows.size;
      count.isComplete &&= index.isComplete;
      const { sure } = index.rows.select(query);
      for (let from = 0; from < sure.length; from += ROWS_PER_SLICE) {
        if (from > 0) await setImmediate();
        count.tally.add(index, sure.subarray(from, from + ROWS_PER_SLICE));
      }
    }
    return count;
  }

  private countFor(query: CheckedQuery): RecordCount {
    const key = JSON.stringify(Object.entries(query).sort());
    const count = this.counts.get(key) ?? new RecordCount(this.controls, this.indexes, query, this.clock);
    this.counts.delete(key);
    this.counts.set(key, count);
    const [oldest] = this.counts.keys();
    if (oldest !== undefined && this.counts.size > MAX_COUNTS) this.counts.delete(oldest);
    return count;
  }
}

function startCount(at: number, controls: readonly QueueControl[]): Count {
  const present = controls.reduce((sum, { store }) => sum + store.stats.failed.entries, 0);
  return { tally: new CauseTally(at), at, present, looked: 0, isComplete: true };
}

/** The count of a query with filters on records. It is repeated on demand when it is outdated. */
class RecordCount {
  private readonly controls: Controls;
  private readonly indexes: FailureIndexes;
  private readonly query: CheckedQuery;
  private readonly clock: Clock;
  private counted: Count | undefined;
  private counting: { readonly count: Count; readonly done: Promise<void> } | undefined;
  private askedAt = 0;

  constructor(controls: Controls, indexes: FailureIndexes, query: CheckedQuery, clock: Clock) {
    this.controls = controls;
    this.indexes = indexes;
    this.query = query;
    this.clock = clock;
  }

  async current(): Promise<Count> {
    this.askedAt = this.clock.monotonic();
    if (this.counted !== undefined && this.isFresh(this.counted)) return this.counted;
    this.counting ??= this.start();
    const { count, done } = this.counting;
    await waitAtMost(this.counted === undefined ? MAX_WAIT_MS : MAX_WAIT_FOR_NEWER_MS, done, this.clock);
    return this.counted ?? count;
  }

  private isFresh({ at, looked, present }: Count): boolean {
    const isFewer = startCount(at, queriedControls(this.controls, this.query)).present < present;
    const share = isFewer ? FRESH_FACTOR_IF_FEWER : 1;
    return Math.abs(this.clock.now() - at) < Math.max(MIN_FRESH_MS, looked * FRESH_MS_PER_ENTRY * share);
  }

  private start() {
    const controls = queriedControls(this.controls, this.query);
    const count = { ...startCount(this.clock.now(), controls), isComplete: false };
    return { count, done: this.count(count, controls) };
  }

  private async count(count: Count, controls: readonly QueueControl[]): Promise<void> {
    try {
      const test = this.query.test!;
      await this.indexes.ready(controls);
      for (const control of controls) {
        const refs = await this.indexes.matching(control, this.query);
        for await (const { found, looked } of this.indexes.search(control, refs, test)) {
          if (this.clock.monotonic() - this.askedAt > ABANDONED_MS) return;
          count.looked += looked;
          count.tally.add(this.indexes.of(control), found);
        }
      }
      count.isComplete = true;
      this.counted = count;
    } finally {
      this.counting = undefined;
    }
  }
}
