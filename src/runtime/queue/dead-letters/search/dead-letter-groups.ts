import { setImmediate } from "node:timers/promises";
import type { Clock } from "#contract";
import { waitAtMost } from "#contract";
import type { DeadLetterGroups, DeadLetterQuery } from "#contract/operations";
import type { QueueControl } from "../../operate/exporter-control.js";
import { type Controls, queriedControls } from "../dead-letters.js";
import { CauseTally, TREND_BUCKET_MS } from "./cause-tally.js";
import type { FailureIndexes } from "./failure-indexes.js";
import { recordTest } from "./record-test.js";

/** No more kinds than this are listed. */
const MAX_GROUPS = 1000;
/** Whoever asks first is answered by then, with what is known. */
const MAX_WAIT_MS = 100;
/** The same when there is an older count: of few dead letters the new one is ready by then. */
const MAX_WAIT_FOR_NEWER_MS = 15;
/** What was found in records is good for so long at least. */
const MIN_FRESH_MS = 2000;
/**
 * A console that stays open may take about a fiftieth of the time, so a count is good for longer the more it looked at: of each,
 * fifty times the 6 us that it takes. Time is not measured, for on a busy machine it is mostly time of others.
 */
const FRESH_MS_PER_ENTRY = 0.3;
/** There are fewer than were counted: somebody replays or deletes, and looks what became of it. */
const FRESH_SHARE_OF_FEWER = 0.1;
/** Kinds of filters whose counts are kept. */
const MAX_COUNTS = 4;
/** A count that nobody has asked for so long is given up. */
const ABANDONED_MS = 30_000;
/** Rows that are counted without a pause: some milliseconds. */
const ROWS_TOGETHER = 50_000;

interface Count {
  readonly tally: CauseTally;
  readonly at: number;
  /** How many dead letters there were. */
  readonly present: number;
  looked: number;
  isComplete: boolean;
}

/**
 * Dead letters by cause: signature, exporter and reason, counted by the rows that are known of them. Where filters ask for
 * what is in records, all that the others leave must be read: that is done in the background, for all who ask, and whoever
 * asks gets the last count at once; while there is none yet, what was counted so far.
 */
export class DeadLetterGrouping {
  private readonly controls: Controls;
  private readonly indexes: FailureIndexes;
  private readonly clock: Clock;
  /** By their filters, those asked for last at the end. */
  private readonly counts = new Map<string, RecordCount>();

  constructor(controls: Controls, indexes: FailureIndexes, clock: Clock) {
    this.controls = controls;
    this.indexes = indexes;
    this.clock = clock;
  }

  /** The largest first. */
  async list({ limit = MAX_GROUPS, ...query }: DeadLetterQuery): Promise<DeadLetterGroups> {
    const controls = queriedControls(this.controls, query);
    const { tally, isComplete, looked, at } =
      recordTest(query) === undefined ? await this.countRows(controls, query) : await this.countFor(query).current();
    const { groups, total } = await tally.list(Math.min(limit, MAX_GROUPS));
    return { groups, total, others: tally.others, isComplete, looked, at, bucketMs: TREND_BUCKET_MS };
  }

  private async countRows(controls: readonly QueueControl[], query: DeadLetterQuery): Promise<Count> {
    await waitAtMost(MAX_WAIT_MS, this.indexes.ready(controls), this.clock);
    const count = startCount(this.clock.now(), controls);
    for (const control of controls) {
      const index = this.indexes.of(control);
      count.looked += index.rows.size;
      count.isComplete &&= index.isComplete;
      const { sure } = index.rows.select(query);
      for (let from = 0; from < sure.length; from += ROWS_TOGETHER) {
        if (from > 0) await setImmediate();
        count.tally.add(index, sure.subarray(from, from + ROWS_TOGETHER));
      }
    }
    return count;
  }

  private countFor(query: DeadLetterQuery): RecordCount {
    const key = JSON.stringify(Object.entries(query).sort());
    const count = this.counts.get(key) ?? new RecordCount(this.controls, this.indexes, query, this.clock);
    this.counts.delete(key);
    this.counts.set(key, count);
    const [oldest] = this.counts.keys();
    if (this.counts.size > MAX_COUNTS) this.counts.delete(oldest!);
    return count;
  }
}

function startCount(at: number, controls: readonly QueueControl[]): Count {
  const present = controls.reduce((sum, { store }) => sum + store.stats.failed.entries, 0);
  return { tally: new CauseTally(at), at, present, looked: 0, isComplete: true };
}

/** The dead letters that filters find which look into records, counted again when that is due and somebody asks. */
class RecordCount {
  private readonly controls: Controls;
  private readonly indexes: FailureIndexes;
  private readonly query: DeadLetterQuery;
  private readonly clock: Clock;
  private counted: Count | undefined;
  private counting: { readonly count: Count; readonly done: Promise<void> } | undefined;
  private askedAt = 0;

  constructor(controls: Controls, indexes: FailureIndexes, query: DeadLetterQuery, clock: Clock) {
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
    const share = isFewer ? FRESH_SHARE_OF_FEWER : 1;
    return Math.abs(this.clock.now() - at) < Math.max(MIN_FRESH_MS, looked * FRESH_MS_PER_ENTRY * share);
  }

  private start() {
    const controls = queriedControls(this.controls, this.query);
    const count = { ...startCount(this.clock.now(), controls), isComplete: false };
    return { count, done: this.count(count, controls) };
  }

  private async count(count: Count, controls: readonly QueueControl[]): Promise<void> {
    try {
      const test = recordTest(this.query)!;
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
