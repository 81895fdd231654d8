import type { EntryRef, NewEntry } from "../store.js";

/** Reserves ids that entries bring along, so that each id is given to only one entry. */
export class IdReservations {
  private readonly isTaken: (id: string, replaced: EntryRef | undefined) => Promise<boolean>;
  private readonly reserved = new Set<string>();

  constructor(isTaken: (id: string, replaced: EntryRef | undefined) => Promise<boolean>) {
    this.isTaken = isTaken;
  }

  /**
   * Calls `run` with the id that each entry may keep (undefined if it needs a new one), and reserves these ids
   * meanwhile. The id of `replaced` counts as free.
   */
  async withReservedIds<T>(
    fresh: readonly NewEntry[],
    run: (ids: readonly (string | undefined)[]) => Promise<T>,
    replaced?: EntryRef,
  ): Promise<T> {
    if (fresh.every(({ fields }) => fields?.id === undefined)) return run([]);
    const ids: (string | undefined)[] = [];
    try {
      for (const { fields } of fresh) ids.push(await this.reserve(fields?.id, replaced));
      return await run(ids);
    } finally {
      for (const id of ids) if (id !== undefined) this.reserved.delete(id);
    }
  }

  private async reserve(id: string | undefined, replaced: EntryRef | undefined): Promise<string | undefined> {
    if (id === undefined || this.reserved.has(id)) return undefined;
    this.reserved.add(id);
    let isFree = false;
    try {
      isFree = !(await this.isTaken(id, replaced));
    } finally {
      if (!isFree) this.reserved.delete(id);
    }
    return isFree ? id : undefined;
  }
}
