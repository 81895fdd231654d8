import type { Entry } from "../../../../runtime/kit.js";
import type { EntryRef } from "../store.js";

/**
 * Where a server keeps the entries of one queue. Whoever has opened it is the only one who can change it: one who was
 * taken for dead, and is not, finds every commit refused.
 *
 * Methods reject with a `StoreError`; after one with the code "io" or "locked" the table has to be opened again.
 */
export interface EntryTable {
  /** Takes the queue over and reads what is known of its entries. `onLost` is told when the server is lost afterwards. */
  open(onLost: (error: unknown) => void): Promise<TableContents>;
  /** All of it or nothing. No two parts of a change are about the same ref. */
  commit(change: TableChange): Promise<void>;
  /** Those that are there. */
  payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Uint8Array>>;
  close(): Promise<void>;
}

export interface TableContents {
  readonly isNew: boolean;
  /** What the ids of its entries begin with. */
  readonly tag: string;
  /** The largest ref that was ever given. */
  readonly lastRef: EntryRef;
  /** In the order of their refs. */
  readonly entries: readonly (readonly [EntryRef, Entry])[];
  /** Entries that cannot be read; they are left where they are. */
  readonly corrupt: number;
}

export interface TableChange {
  readonly lastRef: EntryRef;
  readonly inserts: readonly { readonly ref: EntryRef; readonly entry: Entry; readonly payload: Uint8Array }[];
  /** Entries that change, and may get another ref; their payload stays. */
  readonly moves: readonly { readonly from: EntryRef; readonly to: EntryRef; readonly entry: Entry }[];
  readonly deletes: readonly EntryRef[];
}
