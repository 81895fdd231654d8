import { z } from "zod";
import { DEAD_LETTER_QUERY, type DeadLetterQuery, RECORD_FILTERS, type Selection } from "#contract/operations";
import { badRequest, HttpError } from "./http-error.js";
import type { Actor } from "./operator.js";

/** Filters for dead letters, as query parameters or as members of an object. */
export const FILTERS: readonly string[] = Object.keys(DEAD_LETTER_QUERY);

/** Allows each of the known parameters once, and no others. */
export function readParameters(query: URLSearchParams, known: readonly string[]): Readonly<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const [name, value] of query) {
    if (!known.includes(name))
      throw badRequest(`unknown parameter ${JSON.stringify(name)}; there are: ${known.join(", ") || "none"}`);
    if (Object.hasOwn(values, name)) throw badRequest(`${name} was given twice`);
    values[name] = value;
  }
  return values;
}

/**
 * Checks only the form of the values, and whether the actor may search in records. The admin checks their meaning.
 * Actors who see masked names search by masked names.
 */
export function readDeadLetterQuery(values: Readonly<Record<string, unknown>>, actor: Actor): DeadLetterQuery {
  const filter = RECORD_FILTERS.find((name) => values[name] !== undefined);
  if (filter !== undefined) requireReveal(actor, `the filter ${filter} looks into records`);
  const query: Record<string, string | number | boolean> = {};
  for (const [name, kind] of Object.entries(DEAD_LETTER_QUERY)) {
    const value = values[name];
    if (value !== undefined) query[name] = READERS[kind](name, value);
  }
  if (query["event"] !== undefined && !actor.roles.has("reveal")) query["matchesMasked"] = true;
  return query as DeadLetterQuery;
}

/** Throws an `HttpError` unless the actor may see unmasked records. `why` names what would show them. */
export function requireReveal({ name, roles }: Actor, why: string): void {
  if (roles.has("reveal")) return;
  throw new HttpError("forbidden", `${why}: this needs the role reveal, which ${JSON.stringify(name)} does not have`);
}

const READERS = { text: readText, time: readTime, number: readNumber, flag: readBoolean } as const;

function readBoolean(name: string, value: unknown): boolean {
  return typeof value === "boolean" ? value : readFlag(name, readText(name, value));
}

function readText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  throw badRequest(`${name} must be a text`);
}

/** Accepts an ISO time, or milliseconds since the epoch. */
export function readTime(name: string, value: unknown): number {
  const isNumber = typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value));
  const isTime = typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value);
  const time = isNumber ? Number(value) : isTime ? Date.parse(value) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw badRequest(`${name} must be a time such as 2026-01-31T08:00:00Z, or milliseconds since 1970`);
}

export function readNumber(name: string, value: unknown): number {
  if (typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value))) return Number(value);
  throw badRequest(`${name} must be a number`);
}

/** Reads a whole number from 1 to `max`. */
export function readCount(name: string, text: string | undefined, byDefault: number, max: number): number {
  if (text === undefined) return byDefault;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw badRequest(`${name} must be a number from 1 to ${max}`);
}

export function readFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "false") return false;
  if (value === "true" || value === "") return true;
  throw badRequest(`${name} must be true or false`);
}

/** A selection of dead letters: ids, a query, or explicitly all. */
export const selectionFields = {
  ids: z.array(z.string()).optional(),
  query: z.record(z.string(), z.unknown()).optional(),
  all: z.boolean().optional(),
  dryRun: z.boolean().optional(),
  dry_run: z.boolean().optional().meta({ description: "The older spelling of dryRun." }),
};

interface SelectionBody {
  readonly ids?: readonly string[] | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly all?: boolean | undefined;
}

export function readSelection({ ids, query, all }: SelectionBody, actor: Actor): Selection {
  if (ids !== undefined) {
    if (query !== undefined || all) throw badRequest("give ids or a query, not both");
    return { ids };
  }
  const filters = readFilters(query, actor);
  const isEmpty = Object.keys(filters).length === 0;
  if (isEmpty && !all) throw badRequest('nothing is selected: give ids or a query, or "all": true for everything');
  return { query: filters };
}

export function readFilters(query: SelectionBody["query"] = {}, actor: Actor): DeadLetterQuery {
  const unknown = Object.keys(query).find((name) => !FILTERS.includes(name));
  if (unknown !== undefined)
    throw badRequest(`query: unknown filter ${JSON.stringify(unknown)}; there are: ${FILTERS.join(", ")}`);
  return readDeadLetterQuery(query, actor);
}
