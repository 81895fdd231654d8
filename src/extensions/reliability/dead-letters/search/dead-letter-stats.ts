import type { DeadLetterQuery, DeadLetterStats, Entry } from "../../../../runtime/kit.js";
import { ZERO_AMOUNT } from "../../store/amounts.js";
import { type Controls, searchDeadLetters } from "../dead-letters.js";

type SignatureGroup = {
  -readonly [Key in keyof DeadLetterStats["signatures"][number]]: DeadLetterStats["signatures"][number][Key];
};

/** Messages can be made up by others: no more kinds than this are told apart; the rest count in the totals only. */
const MAX_GROUPS = 1000;

/** Counts what a query finds, by reason, category, exporter and signature; the most frequent signatures come first. */
export async function countDeadLetters(controls: Controls, query: DeadLetterQuery): Promise<DeadLetterStats> {
  const total = { ...ZERO_AMOUNT };
  let oldestAt: number | undefined;
  const byReason = new Map<string, number>();
  const byCategory = new Map<string, number>();
  const byExporter = new Map<string, number>();
  const groups = new Map<string, SignatureGroup>();
  for await (const { entry } of searchDeadLetters(controls, query)) {
    total.entries++;
    total.items += entry.items;
    total.bytes += entry.bytes;
    oldestAt = Math.min(oldestAt ?? Number.POSITIVE_INFINITY, entry.failure!.at);
    increment(byReason, entry.failure!.reason);
    if (byCategory.size < MAX_GROUPS) increment(byCategory, entry.failure!.category);
    increment(byExporter, entry.exporter);
    addToGroup(groups, entry);
  }
  return {
    ...total,
    oldestAt,
    byReason: Object.fromEntries(byReason),
    byCategory: Object.fromEntries(byCategory),
    byExporter: Object.fromEntries(byExporter),
    signatures: [...groups.values()].sort((a, b) => b.entries - a.entries || b.lastAt - a.lastAt),
  };
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function addToGroup(groups: Map<string, SignatureGroup>, { id, exporter, items, failure }: Entry): void {
  const { signature, error, at } = failure!;
  const group = groups.get(signature);
  if (group === undefined) {
    if (groups.size >= MAX_GROUPS) return;
    const { class: kind, message } = error;
    groups.set(signature, {
      signature,
      exporter,
      class: kind,
      message,
      entries: 1,
      items,
      firstAt: at,
      lastAt: at,
      exampleId: id,
    });
    return;
  }
  group.entries++;
  group.items += items;
  group.firstAt = Math.min(group.firstAt, at);
  if (at >= group.lastAt) Object.assign(group, { lastAt: at, message: error.message, exampleId: id });
}
