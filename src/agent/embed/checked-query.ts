import { AdminError, DEAD_LETTER_QUERY, type DeadLetterQuery, type Selection } from "#contract/operations";

/**
 * A query that has only what a query may have. One with a misspelt key would mean all dead letters, and a program in
 * JavaScript would delete them. Throws an `AdminError`.
 */
export function checkedQuery(query: DeadLetterQuery): DeadLetterQuery {
  if (typeof query !== "object" || query === null) throw new AdminError("bad_request", "a query is an object");
  const unknown = Object.keys(query).find((key) => !Object.hasOwn(DEAD_LETTER_QUERY, key));
  if (unknown === undefined) return query;
  throw new AdminError("bad_request", `a query has no ${unknown}, only ${Object.keys(DEAD_LETTER_QUERY).join(", ")}`);
}

export function checkedSelection(selection: Selection): Selection {
  const { ids, query, ...others } = (selection ?? {}) as { ids?: unknown; query?: DeadLetterQuery };
  const isEither = Array.isArray(ids) !== (query !== undefined);
  if (!isEither || Object.keys(others).length > 0) {
    throw new AdminError("bad_request", "a selection is { ids: [...] } or { query: {...} }");
  }
  if (query !== undefined) checkNoMissingValues(checkedQuery(query));
  return selection;
}

/** A variable that holds nothing would choose all dead letters, and not those of what it was to hold. */
function checkNoMissingValues(query: DeadLetterQuery): void {
  const gap = Object.entries(query).find(([, value]) => value === undefined || value === null);
  if (gap === undefined) return;
  throw new AdminError("bad_request", `the query has no value for ${gap[0]}: leave it out to choose all`);
}
