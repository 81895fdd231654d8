import { AdminError, type DeadLetterQuery, type Selection } from "#contract/operations";
import type { EntryPlace } from "./admin-methods.js";
import type { GroupAnswer, WorkerGroup } from "./worker-group.js";

/** The part of a selection that concerns each worker. */
export type SelectionParts = ReadonlyMap<number, Selection>;

/** A worker refuses more ids than this, and none. */
const MAX_IDS = 10_000;

/** Finds the worker that has an entry. The ids of entries are unique over all workers. */
export class EntryOwners {
  private readonly group: WorkerGroup;
  private readonly firstMatches: (query: DeadLetterQuery) => Promise<readonly string[]>;

  /** `firstMatches` returns the ids of the first matches, as many as the limit of the query allows. */
  constructor(group: WorkerGroup, firstMatches: (query: DeadLetterQuery) => Promise<readonly string[]>) {
    this.group = group;
    this.firstMatches = firstMatches;
  }

  /** The worker with this entry; undefined if none has it. Rejects if a worker that may have it does not answer. */
  async of(id: string): Promise<number | undefined> {
    const { owners, unavailable } = await this.ofAll([id]);
    const owner = owners.get(id)?.worker;
    if (owner === undefined && unavailable.length > 0)
      throw new AdminError("unavailable", `worker ${unavailable[0]} does not answer, and may have this entry`);
    return owner;
  }

  /** An entry that one worker has in a queue, and another has delivered, is in the queue. */
  async ofAll(ids: readonly string[]) {
    const { answers, unavailable }: GroupAnswer<ReadonlyMap<string, EntryPlace>> = await this.group.ask(
      "entryPlaces",
      ids,
    );
    const owners = new Map<string, { readonly worker: number; readonly place: EntryPlace }>();
    for (const { worker, value } of answers)
      for (const [id, place] of value) {
        const before = owners.get(id);
        if (before === undefined || before.place === "delivered") owners.set(id, { worker, place });
      }
    return { owners, unavailable };
  }

  /**
   * Divides a selection among the workers. A query goes to all of them, unless it has a limit: then its first matches
   * are selected by their ids. Unknown ids go to the first worker, which reports them, and so does an invalid
   * selection.
   */
  async divide(selection: Selection): Promise<SelectionParts> {
    const ids = await this.idsOf(selection);
    if (ids === undefined) return new Map(this.group.numbers.map((worker) => [worker, selection]));
    if (ids.length === 0 || ids.length > MAX_IDS) return new Map([[this.group.first, selection]]);
    const { owners } = await this.ofAll(ids);
    const byWorker = new Map<number, string[]>();
    for (const id of ids) {
      const worker = owners.get(id)?.worker ?? this.group.first;
      const own = byWorker.get(worker);
      if (own === undefined) byWorker.set(worker, [id]);
      else own.push(id);
    }
    return new Map([...byWorker].map(([worker, own]) => [worker, { ids: own }]));
  }

  /** The same for a change that is not made at all if an id is not that of an entry in one of these places. */
  async divideKnown(selection: Selection, places: readonly EntryPlace[]): Promise<SelectionParts> {
    if ("ids" in selection && selection.ids.length > 0 && selection.ids.length <= MAX_IDS) {
      const { owners } = await this.ofAll(selection.ids);
      const missing = selection.ids.filter((id) => !places.includes(owners.get(id)?.place ?? "delivered"));
      if (missing.length > 0)
        throw new AdminError(
          "not_found",
          `there is no dead letter ${missing.slice(0, 5).join(", ")}; nothing was changed`,
        );
    }
    return this.divide(selection);
  }

  /** Undefined if all matches are selected. */
  private async idsOf(selection: Selection): Promise<readonly string[] | undefined> {
    if ("ids" in selection) return selection.ids;
    const { limit, cursor, ...query } = selection.query;
    if (limit === undefined || cursor !== undefined) return undefined;
    return this.firstMatches({ ...query, limit, order: "oldest" });
  }
}
