import { AdminError, type DeadLetterQuery, type Selection } from "../../plugin.js";
import { type Controls, type Found, matcher, search, searched, walk } from "./dead-letters.js";
import { checkQuery } from "./query.js";
import type { ReplayPlan } from "./replay.js";

const MOST_IDS = 10_000;

/** The entry of this id, in whatever store and state it is. */
export async function findEntry(controls: Controls, id: string): Promise<Found | undefined> {
  for (const control of searched(controls, {})) {
    const stored = await control.store.find(id);
    if (stored !== undefined) return { ...stored, control };
  }
  return undefined;
}

/**
 * What a selection names at this moment: what becomes a dead letter later is not part of it, so that a replay of all ends
 * even if everything fails again. Ids are taken once each.
 */
export async function select(controls: Controls, selection: Selection): Promise<ReplayPlan> {
  return "ids" in selection ? selectIds(controls, selection.ids) : selectQuery(controls, selection.query);
}

export async function selectIds(controls: Controls, ids: readonly string[]): Promise<ReplayPlan> {
  if (ids.length === 0) throw new AdminError("bad_request", "no ids were given");
  if (ids.length > MOST_IDS) throw new AdminError("bad_request", `more than ${MOST_IDS} ids were given: use filters`);
  const unique = [...new Set(ids)];
  const found: Found[] = [];
  const missing: string[] = [];
  for (const id of unique) {
    const entry = await findEntry(controls, id);
    if (entry?.entry.state === "failed") found.push(entry);
    else missing.push(id);
  }
  found.sort((a, b) => (a.control.id < b.control.id ? -1 : a.control.id > b.control.id ? 1 : a.ref - b.ref));
  return { total: unique.length, candidates: each(found), missing };
}

async function* each<T>(all: readonly T[]): AsyncGenerator<T> {
  yield* all;
}

async function selectQuery(controls: Controls, query: DeadLetterQuery): Promise<ReplayPlan> {
  const candidates = await candidatesOf(controls, query);
  let total = 0;
  for await (const _ of search(controls, query)) total++;
  return { total: Math.min(total, query.limit ?? total), candidates };
}

/** Those that a query finds of what is there at this moment, the oldest first, without counting them. */
export async function candidatesOf(controls: Controls, query: DeadLetterQuery): Promise<AsyncIterable<Found>> {
  checkQuery(query);
  if (query.cursor !== undefined) throw new AdminError("bad_request", "a cursor selects nothing: use filters or ids");
  const last = new Map<string, number>();
  for (const { id, store } of searched(controls, query)) {
    last.set(id, (await store.failed(undefined, 1, "newest"))[0]?.ref ?? -1);
  }
  return upTo(controls, query, last, query.limit ?? Number.POSITIVE_INFINITY);
}

async function* upTo(
  controls: Controls,
  query: DeadLetterQuery,
  last: ReadonlyMap<string, number>,
  most: number,
): AsyncGenerator<Found> {
  const matches = matcher(query);
  let left = most;
  for (const control of searched(controls, query)) {
    for await (const stored of walk(control.store)) {
      if (left === 0) return;
      if (stored.ref > (last.get(control.id) ?? -1)) break;
      if (!matches(stored.entry)) continue;
      left--;
      yield { ...stored, control };
    }
  }
}
