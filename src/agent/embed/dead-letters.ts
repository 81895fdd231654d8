import {
  type Admin,
  AdminError,
  DEAD_LETTER_QUERY,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type Entry,
  type ImportReport,
  type Selection,
} from "#contract/operations";

/** The dead letters, for programs. All methods reject with an `AdminError`, also while Sluice does not run. */
export class DeadLetters {
  private readonly admin: () => Admin;

  constructor(admin: () => Admin) {
    this.admin = admin;
  }

  /** Lists dead letters, newest first; the `cursor` of a page gives the next one. */
  async list(query: DeadLetterQuery = {}): Promise<DeadLetterPage> {
    return this.admin().listDeadLetters(checkedQuery(query));
  }

  async get(id: string): Promise<Entry | undefined> {
    return this.admin().deadLetter(id);
  }

  /** The records of a dead letter as OTLP/JSON, with nothing masked. */
  async payload(id: string): Promise<string | undefined> {
    return this.admin().payload(id, { reveal: true });
  }

  /** Groups dead letters by failure. */
  async stats(query: DeadLetterQuery = {}): Promise<DeadLetterStats> {
    return this.admin().deadLetterStats(checkedQuery(query));
  }

  /** Deletes permanently; returns how many. */
  async delete(selection: Selection, options?: { readonly dryRun?: boolean }): Promise<number> {
    return this.admin().deleteDeadLetters(checkedSelection(selection), options);
  }

  /** Yields one line of JSON per dead letter, in the format that `import` reads. */
  async *export(query: DeadLetterQuery = {}): AsyncGenerator<string> {
    yield* this.admin().exportDeadLetters(checkedQuery(query), { reveal: true });
  }

  async import(lines: AsyncIterable<string>): Promise<ImportReport> {
    return this.admin().importDeadLetters(lines);
  }
}

export function notRunning(): AdminError {
  return new AdminError("unavailable", "Sluice is not running: await sluice.start()");
}

/**
 * Returns the query if it has only known keys. A misspelt key would select all dead letters, and a program without
 * types would then delete them. Throws an `AdminError`.
 */
function checkedQuery(query: DeadLetterQuery): DeadLetterQuery {
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
