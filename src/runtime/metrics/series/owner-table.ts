import { ByteTable } from "./byte-table.js";

const MAX_OWNERS = 100_000;
/** The limit for the bytes of all owners; a single one may be as long as a request. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Cached facts about resources, scopes and metrics, by their bytes. Every owner has an id that is never reused and that
 * represents it in the keys of a `SeriesTable`. When there are too many, those are forgotten that were not looked up
 * since there were too many the last time. One that returns gets a new id, and its series begin anew.
 */
export class OwnerTable<Owner extends { readonly id: number }> {
  private table = new ByteTable();
  private owners: Owner[] = [];
  /** Those that there were when there were too many the last time. */
  private older: { readonly table: ByteTable; readonly owners: readonly Owner[] } | undefined;
  private readonly maxOwners: number;

  constructor(maxOwners = MAX_OWNERS) {
    this.maxOwners = maxOwners;
  }

  /** The owner with these bytes under a parent (0 for none), or undefined. */
  find(parent: number, b: Uint8Array, start: number, end: number): Owner | undefined {
    const slot = this.table.find(parent, b, start, end);
    return slot < 0 ? this.findOlder(parent, b, start, end) : this.owners[slot];
  }

  private findOlder(parent: number, b: Uint8Array, start: number, end: number): Owner | undefined {
    const { older } = this;
    const slot = older === undefined ? -1 : older.table.find(parent, b, start, end);
    return slot < 0 ? undefined : this.add(parent, b, start, end, older!.owners[slot]!);
  }

  add(parent: number, b: Uint8Array, start: number, end: number, owner: Owner): Owner {
    if (this.table.size >= this.maxOwners || this.table.byteLength >= MAX_BYTES) {
      this.older = { table: this.table, owners: this.owners };
      this.table = new ByteTable();
      this.owners = [];
    }
    this.owners[this.table.add(parent, b, start, end)] = owner;
    return owner;
  }
}

let lastId = 0;

/** Returns an id for a new owner. */
export function nextOwnerId(): number {
  return ++lastId;
}
