import type { DeadLetterQuery } from "../../runtime/kit.js";
import { badRequest } from "./http-error.js";

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const TEXT_FILTERS = ["exporter", "reason", "category", "signature", "signal", "event", "cursor", "order"] as const;
const TIME_FILTERS = ["since", "until"] as const;

/** Filters of dead letters as query parameters, or as the members of an object. */
export const FILTERS: readonly string[] = [...TEXT_FILTERS, ...TIME_FILTERS, "limit"];

/** Each parameter once, and none but these. */
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

/** What the values mean is checked by the admin; here only their form is. */
export function readDeadLetterQuery(values: Readonly<Record<string, unknown>>): DeadLetterQuery {
  const query: Mutable<DeadLetterQuery> = {};
  for (const name of TEXT_FILTERS) {
    const value = values[name];
    if (typeof value === "string") Object.assign(query, { [name]: value });
    else if (value !== undefined) throw badRequest(`${name} must be a text`);
  }
  for (const name of TIME_FILTERS) if (values[name] !== undefined) query[name] = readTime(name, values[name]);
  if (values["limit"] !== undefined) query.limit = readLimit(values["limit"]);
  return query;
}

/** An ISO time, or milliseconds since the epoch. */
function readTime(name: string, value: unknown): number {
  const isNumber = typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value));
  const isTime = typeof value === "string" && /^\d{4}-\d\d-\d\d/.test(value);
  const time = isNumber ? Number(value) : isTime ? Date.parse(value) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw badRequest(`${name} must be a time such as 2026-01-31T08:00:00Z, or milliseconds since 1970`);
}

function readLimit(value: unknown): number {
  if (typeof value === "number" || (typeof value === "string" && /^\d+$/.test(value))) return Number(value);
  throw badRequest("limit must be a number");
}

export function readFlag(name: string, value: string | undefined): boolean {
  if (value === undefined || value === "false") return false;
  if (value === "true" || value === "") return true;
  throw badRequest(`${name} must be true or false`);
}
