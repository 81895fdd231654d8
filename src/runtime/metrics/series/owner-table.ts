import { ByteTable } from "./byte-table.js";

const MAX_OWNERS = 100_000;
/** The limit for the bytes of all owners; a single one may be as long as a request. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Cached facts about resources, scopes and metrics, by their bytes. Every owner has an id that is never reused and that
 * represents it in the keys of a `SeriesTable`. When there are too many, all are forgotten: an owner that returns gets
 * a new id, and its series are looked up again.
 */
export class OwnerTable<Owner extends { readonly id: number }> {
  private table = new ByteTable();
  private owners: Owner[] = [];
  private readonly maxOwners: number;

  constructor(maxOwners = MAX_OWNERS) {
    this.maxOwners = maxOwners;
  }

  /** The owner with these bytes under a parent (0 for none), or undefined. */
  find(parent: number, b: Uint8Array, start: number, end: number): Owner | undefined {
    const slot = this.table.find(parent, b, start, end);
    return slot < 0 ? undefined : this.owners[slot];
  }

  add(parent: number, b: Uint8Array, start: number, end: number, owner: Owner): Owner {
    if (this.table.size >= this.maxOwners || this.table.byteLength >= MAX_BYTES) {
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
