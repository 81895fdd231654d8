import { z } from "zod";
import type { DeadLetterQuery, Selection } from "#contract/operations";
import { badRequest } from "./http-error.js";
import type { Actor } from "./operator.js";
import { FILTERS, readDeadLetterQuery } from "./parameters.js";

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
