import { AdminError, DEAD_LETTER_QUERY, type DeadLetterQuery, type Selection } from "#contract/operations";

/**
 * Returns the query if it has only known keys. A misspelt key would select all dead letters, and a program without
 * types would then delete them. Throws an `AdminError`.
 */
export function checkedQuery(query: DeadLetterQuery): DeadLetterQuery {
  if (typeof query !== "object" || query === null) throw new AdminError("bad_request", "expected a query object");
  const unknown = Object.keys(query).find((key) => !Object.hasOwn(DEAD_LETTER_QUERY, key));
  if (unknown === undefined) return query;
  throw new AdminError("bad_request", `a query has no ${unknown}, only ${Object.keys(DEAD_LETTER_QUERY).join(", ")}`);
}

export function checkedSelection(selection: Selection): Selection {
  const { ids, query, ...others } = (selection ?? {}) as { ids?: unknown; query?: DeadLetterQuery };
  const isEither = Array.isArray(ids) !== (query !== undefined);
  if (!isEither || Object.keys(others).length > 0) {
    throw new AdminError("bad_request", "expected a selection: { ids: [...] } or { query: {...} }");
  }
  if (query !== undefined) checkNoMissingValues(checkedQuery(query));
  return selection;
}

/** A filter whose value is undefined or null would select all dead letters instead of none. */
function checkNoMissingValues(query: DeadLetterQuery): void {
  const gap = Object.entries(query).find(([, value]) => value === undefined || value === null);
  if (gap === undefined) return;
  throw new AdminError("bad_request", `the query has no value for ${gap[0]}: leave it out to choose all`);
}
