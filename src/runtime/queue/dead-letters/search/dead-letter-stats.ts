import { setImmediate } from "node:timers/promises";
import type { DeadLetterStats } from "#contract/operations";
import type { EntryRef } from "../../store/store.js";
import { ZERO_AMOUNT } from "../../store/store.js";
import { type Controls, queriedControls, readDeadLetter } from "../dead-letters.js";
import type { QueueControl } from "../exporter-control.js";
import type { FailureIndexes } from "./failure-indexes.js";
import { type CountRow, causeOf, type KnownCause } from "./failure-rows.js";
import type { CheckedQuery } from "./match-records.js";

type SignatureGroup = {
  -readonly [Key in keyof DeadLetterStats["signatures"][number]]: DeadLetterStats["signatures"][number][Key];
};

/** A group, and the place of its newest dead letter, which supplies the message and the example. */
interface Counted {
  readonly group: SignatureGroup;
  newest: EntryRef;
  control: QueueControl;
}

/** Senders can make up messages, so the number of groups is limited. Further ones count only in the totals. */
const MAX_GROUPS = 1000;
/** Rows counted without a pause; this takes a few milliseconds. */
const ROWS_PER_SLICE = 20_000;
/** Number of entries that are read at a time. */
const READS_AT_ONCE = 64;

/**
 * Counts the matches of a query by reason, category, exporter and signature. The most frequent signatures come first.
 */
export async function countDeadLetters(
  controls: Controls,
  query: CheckedQuery,
  indexes: FailureIndexes,
): Promise<DeadLetterStats> {
  const queried = queriedControls(controls, query);
  await indexes.ready(queried);
  const tally = new StatsTally();
  for (const control of queried) {
    for await (const refs of foundRefs(indexes, control, query)) {
      const unknown: { ref: EntryRef; at: number; items: number; bytes: number }[] = [];
      const count: CountRow = (cause, ref, at, items, bytes) => {
        if (cause === undefined) unknown.push({ ref, at, items, bytes });
        else tally.add(control, cause, ref, at, items, bytes);
      };
      indexes.of(control).rows.count(refs, count);
      for (const { ref, at, items, bytes } of unknown) {
        const stored = await readDeadLetter(control.store, ref);
        if (stored !== undefined) tally.add(control, causeOf(stored.entry), ref, at, items, bytes);
      }
    }
  }
  return tally.list();
}

/** Yields the matches in one queue, in chunks. */
async function* foundRefs(
  indexes: FailureIndexes,
  control: QueueControl,
  query: CheckedQuery,
): AsyncGenerator<Iterable<EntryRef>> {
  const refs = await indexes.matching(control, query);
  const { test } = query;
  if (test !== undefined) {
    for await (const { found } of indexes.search(control, refs, test)) yield found;
    return;
  }
  for (let from = 0; from < refs.length; from += ROWS_PER_SLICE) {
    if (from > 0) await setImmediate();
    yield refs.subarray(from, from + ROWS_PER_SLICE);
  }
}

class StatsTally {
  private readonly total = { ...ZERO_AMOUNT };
  private oldestAt: number | undefined;
  private readonly byReason = new Map<string, number>();
  private readonly byCategory = new Map<string, number>();
  private readonly byExporter = new Map<string, number>();
  private readonly counted = new Map<string, Counted>();

  add(control: QueueControl, cause: KnownCause, ref: EntryRef, at: number, items: number, bytes: number): void {
    const { total } = this;
    total.entries++;
    total.items += items;
    total.bytes += bytes;
    if (this.oldestAt === undefined || at < this.oldestAt) this.oldestAt = at;
    increment(this.byReason, cause.reason);
    if (this.byCategory.size < MAX_GROUPS) increment(this.byCategory, cause.category);
    increment(this.byExporter, cause.exporter);
    const counted = this.counted.get(cause.signature) ?? this.open(control, cause, ref, at);
    if (counted === undefined) return;
    const { group } = counted;
    group.entries++;
    group.items += items;
    if (at < group.firstAt) group.firstAt = at;
    if (at >= group.lastAt) {
      group.lastAt = at;
      counted.newest = ref;
      counted.control = control;
    }
  }

  async list(): Promise<DeadLetterStats> {
    const all = [...this.counted.values()];
    for (let from = 0; from < all.length; from += READS_AT_ONCE)
      await Promise.all(all.slice(from, from + READS_AT_ONCE).map(describeByNewest));
    return {
      ...this.total,
      oldestAt: this.oldestAt,
      byReason: Object.fromEntries(this.byReason),
      byCategory: Object.fromEntries(this.byCategory),
      byExporter: Object.fromEntries(this.byExporter),
      signatures: all.map(({ group }) => group).sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt),
    };
  }

  private open(control: QueueControl, cause: KnownCause, ref: EntryRef, at: number): Counted | undefined {
    if (this.counted.size >= MAX_GROUPS) return undefined;
    const { signature, exporter, error } = cause;
    const group = { signature, exporter, class: error.class, message: error.message, exampleId: "" };
    const counted = { group: { ...group, entries: 0, items: 0, firstAt: at, lastAt: at }, newest: ref, control };
    this.counted.set(signature, counted);
    return counted;
  }
}

/** If the newest one is gone meanwhile, the group keeps the message of another and has no example. */
async function describeByNewest({ group, newest, control }: Counted): Promise<void> {
  const stored = await readDeadLetter(control.store, newest);
  if (stored?.entry.failure === undefined) return;
  group.message = stored.entry.failure.error.message;
  group.exampleId = stored.entry.id;
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
