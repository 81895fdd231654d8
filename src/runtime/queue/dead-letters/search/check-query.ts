import {
  AdminError,
  type DeadLetterLanguage,
  type DeadLetterQuery,
  FAILURE_REASONS,
  type Selection,
} from "#contract/operations";
import { SIGNALS } from "#otlp/signals";
import { MAX_PAGE_SIZE } from "../dead-letters.js";
import { type CheckedQuery, type CheckedSelection, recordTest } from "./record-test.js";

export function checkSelection(selection: Selection, language: DeadLetterLanguage): CheckedSelection {
  return "ids" in selection ? selection : { query: checkQuery(selection.query, language) };
}

/** Throws an `AdminError` that says what to write if the query is invalid. */
export function checkQuery(query: DeadLetterQuery, language: DeadLetterLanguage): CheckedQuery {
  const { reason, signal, limit, since, until, order } = query;
  checkOneOf("reason", reason, FAILURE_REASONS);
  checkOneOf("signal", signal, SIGNALS);
  checkOneOf("order", order, ["oldest", "newest"]);
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_SIZE)) {
    throw new AdminError("bad_request", `limit must be a number from 1 to ${MAX_PAGE_SIZE}`);
  }
  const test = recordTest(query, language);
  for (const [name, time] of Object.entries({ since, until })) {
    if (time !== undefined && !Number.isFinite(time)) throw new AdminError("bad_request", `${name} is no time`);
  }
  if (since !== undefined && until !== undefined && since >= until) {
    throw new AdminError("bad_request", "since must be before until");
  }
  return { ...query, test };
}

function checkOneOf(name: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return;
  throw new AdminError("bad_request", `${name} ${JSON.stringify(value)} is not known; there are: ${known.join(", ")}`);
}
