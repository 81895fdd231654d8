import type { Entry } from "#contract/operations";
import {
  type Admin,
  AdminError,
  type DeadLetterPage,
  type DeadLetterQuery,
  type DeadLetterStats,
  type ImportReport,
  type Selection,
} from "#contract/operations";
import { checkedQuery, checkedSelection } from "./checked-query.js";

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
