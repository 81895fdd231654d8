import { DEAD_LETTER_QUERY, type DeadLetterQuery } from "#contract/operations";
import { parseDuration } from "#contract/schema";
import type { OptionValues } from "../command.js";
import { UsageError } from "../terminal.js";

/** Converts the filters on the command line to a query. */
export function queryOf(values: OptionValues, now: number): DeadLetterQuery {
  const query: Record<string, string | number | boolean> = {};
  for (const [name, kind] of Object.entries(DEAD_LETTER_QUERY)) {
    const text = values[name];
    if (kind === "flag" && text === true) query[name] = true;
    if (typeof text !== "string") continue;
    if (kind === "text") query[name] = text;
    else query[name] = kind === "time" ? parseTime(name, text, now) : parsePositiveNumber(name, text);
  }
  if (values["oldest"] === true) query["order"] = "oldest";
  return query as DeadLetterQuery;
}

/** Requires a filter or `--all`: leaving out both must not select everything. */
export function selectionQuery(values: OptionValues, now: number): DeadLetterQuery {
  const query = queryOf(values, now);
  const { limit: _, ...filters } = query;
  const hasFilters = Object.keys(filters).length > 0;
  if (values["all"] === true && hasFilters) throw new UsageError("--all and filters cannot be used together");
  if (values["all"] !== true && !hasFilters)
    throw new UsageError("nothing is selected", "give filters, or --all for everything");
  return query;
}

export function parsePositiveNumber(name: string, text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number > 0) return number;
  throw new UsageError(`--${name} ${text} is not a number above 0`);
}

/** Parses entries per second; 0 means no limit. */
export function parseRate(text: string): number {
  const rate = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(rate) && rate >= 0) return rate;
  throw new UsageError(`--rate ${text} is not a number: give entries per second, or 0 for no limit`);
}

/** Parses an ISO time (local unless it has a zone), or a duration before now. */
export function parseTime(name: string, text: string, now: number): number {
  const ago = /^\d+$/.test(text) ? undefined : parseDuration(text);
  if (ago !== undefined) return now - ago;
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text.length === 10 ? `${text}T00:00` : text) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new UsageError(`--${name} ${text} is not a time`, "write 2026-01-31T08:00, or 2h for two hours ago");
}

/** The revision of an entry (its number of edits) given with --revision; undefined when there is none. */
export function revisionOption({ revision }: OptionValues): number | undefined {
  if (revision === undefined) return undefined;
  if (/^\d{1,9}$/.test(revision as string)) return Number(revision);
  throw new UsageError(`--revision ${revision as string} is not a number`);
}
