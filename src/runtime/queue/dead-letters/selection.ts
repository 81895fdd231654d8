import { AdminError, type Entry } from "#contract/operations";
import {
  type Controls,
  findDeadLetters,
  isDeleted,
  type LocatedEntry,
  queriedControls,
  searchDeadLetters,
} from "./dead-letters.js";
import type { CheckedQuery, CheckedSelection } from "./search/match-records.js";

/** The dead letters to replay, and an estimate of their number. */
export interface ReplayPlan {
  readonly total: number;
  readonly candidates: AsyncIterable<LocatedEntry>;
  /** Ids that are not those of dead letters. */
  readonly missing?: readonly string[];
}

const MAX_IDS = 10_000;

/** Returns the entry with this id, whatever its store and state. */
export async function findEntry(controls: Controls, id: string): Promise<LocatedEntry | undefined> {
  for (const control of queriedControls(controls, {})) {
    const stored = await control.store.find(id);
    if (stored !== undefined) return { ...stored, control };
  }
  return undefined;
}

/**
 * Resolves a selection at this moment. Entries that become dead letters later are excluded, so that a replay of
 * everything ends even if everything fails again. Duplicate ids count once.
 */
export async function selectDeadLetters(controls: Controls, selection: CheckedSelection): Promise<ReplayPlan> {
  return "ids" in selection ? selectIds(controls, selection.ids) : selectQuery(controls, selection.query);
}

export async function selectIds(
  controls: Controls,
  ids: readonly string[],
  isWanted = (entry: Entry) => !isDeleted(entry),
): Promise<ReplayPlan> {
  if (ids.length === 0) throw new AdminError("bad_request", "no ids were given");
  if (ids.length > MAX_IDS) throw new AdminError("bad_request", `more than ${MAX_IDS} ids were given: use filters`);
  const unique = [...new Set(ids)];
  const found: LocatedEntry[] = [];
  const missing: string[] = [];
  for (const id of unique) {
    const entry = await findEntry(controls, id);
    if (entry?.entry.state === "failed" && isWanted(entry.entry)) found.push(entry);
    else missing.push(id);
  }
  found.sort((a, b) => (a.control.id < b.control.id ? -1 : a.control.id > b.control.id ? 1 : a.ref - b.ref));
  return { total: unique.length, candidates: toAsyncIterable(found), missing };
}

async function* toAsyncIterable<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all;
}

async function selectQuery(controls: Controls, query: CheckedQuery): Promise<ReplayPlan> {
  const candidates = await selectCandidates(controls, query);
  let total = 0;
  for await (const _ of searchDeadLetters(controls, query)) total++;
  return { total: Math.min(total, query.limit ?? total), candidates };
}

/** Returns the current matches of a query, the oldest first, without counting them. */
export async function selectCandidates(controls: Controls, query: CheckedQuery): Promise<AsyncIterable<LocatedEntry>> {
  if (query.cursor !== undefined)
    throw new AdminError("bad_request", "a cursor cannot select dead letters: use filters or ids");
  const lastRefs = new Map<string, number>();
  for (const { id, store } of queriedControls(controls, query)) {
    lastRefs.set(id, (await store.failed(undefined, 1, "newest"))[0]?.ref ?? -1);
  }
  return candidatesUpTo(controls, query, lastRefs, query.limit ?? Number.POSITIVE_INFINITY);
}

async function* candidatesUpTo(
  controls: Controls,
  query: CheckedQuery,
  lastRefs: ReadonlyMap<string, number>,
  limit: number,
): AsyncGenerator<LocatedEntry> {
  let left = limit;
  for (const control of queriedControls(controls, query)) {
    for await (const stored of findDeadLetters(control.store, query, lastRefs.get(control.id) ?? -1)) {
      if (left === 0) return;
      left--;
      yield { ...stored, control };
    }
  }
}
