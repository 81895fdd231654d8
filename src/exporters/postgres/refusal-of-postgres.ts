import { Refusal } from "../../plugin.js";
import { postgresErrorMessage, sqlState } from "../../runtime/kit.js";

interface ServerError {
  readonly message: string;
  readonly column?: string;
}

/** Data that a column cannot hold, a rule of the table's that it breaks, and what is larger than the server can store. */
const DATA_CLASSES: ReadonlySet<string> = new Set(["22", "23", "54"]);

/**
 * What the server says no to for good is data: values that it cannot hold, rules of a table that they break. All else may be
 * mended (the server is away, the disk is full, a right or a table is missing), and nothing is wrong with the data.
 */
export function refusalOfPostgres(error: unknown, peer: string, ownColumns: ReadonlySet<string>): Refusal {
  const state = sqlState(error);
  const message = `${peer}: ${postgresErrorMessage(error)}`;
  if (state === undefined) return new Refusal("transient", message, { blame: "backend", cause: error });
  const isData = DATA_CLASSES.has(state.slice(0, 2)) && !isAboutTable(state, error as ServerError, ownColumns);
  if (!isData) return new Refusal("transient", message, { status: state, cause: error });
  const category = state.startsWith("23") ? "business" : "schema";
  return new Refusal("permanent", message, { status: state, category, cause: error });
}

/** A column of others that must be filled, or a partition that is not there: it is the table that must be mended. */
function isAboutTable(state: string, { column, message }: ServerError, ownColumns: ReadonlySet<string>): boolean {
  if (state === "23502") return column !== undefined && !ownColumns.has(column);
  return state === "23514" && message.startsWith("no partition of relation");
}
