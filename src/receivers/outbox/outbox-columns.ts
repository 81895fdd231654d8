import { quoteName } from "#brokers/postgres";
import type { OutboxColumns } from "./config.js";

/** Quoted names of the columns; empty for those that the table does not have. `position` is never empty. */
export type QuotedColumns = Readonly<Record<keyof OutboxColumns, string>>;

/** The column of earlier failures always has this name. */
export const HISTORY = quoteName("failure_history");

export function quoteColumns(columns: OutboxColumns): QuotedColumns {
  const named = { ...columns, position: columns.position || columns.id };
  return Object.fromEntries(
    Object.entries(named).map(([what, name]) => [what, name && quoteName(name)]),
  ) as QuotedColumns;
}

/**
 * The changes that a replay makes to a failed row, as the list after SET: its cycle goes into the history, and its counters start
 * again. `by` and `generation` are SQL expressions; a generation that is null counts one up.
 */
export function replayChanges(c: QuotedColumns, by: string, generation: string): string {
  const facts = [
    ["attempts", c.attempts],
    ["last_error", c.last_error],
    ["first_failed_at", c.first_failed_at],
    ["failed_at", c.finished_at],
    ["generation", c.generation],
    ["replayed_at", "now()"],
    ["replayed_by", by],
  ].filter(([, value]) => value !== "");
  const cycle = facts.map(([name, value]) => `'${name}', ${value}`).join(", ");
  const changes = [
    `${HISTORY} = ${HISTORY} || jsonb_build_array(jsonb_build_object(${cycle}))`,
    `${c.attempts} = 0`,
    `${c.last_error} = NULL`,
    ...(c.first_failed_at ? [`${c.first_failed_at} = NULL`] : []),
    ...(c.finished_at ? [`${c.finished_at} = NULL`] : []),
    ...(c.generation ? [`${c.generation} = COALESCE(${generation}, ${c.generation} + 1)`] : []),
  ];
  return changes.join(", ");
}

/** The condition for rows that are not deleted, to be appended to others. */
export function notDeleted(c: QuotedColumns): string {
  return c.deleted_at ? ` AND ${c.deleted_at} IS NULL` : "";
}
