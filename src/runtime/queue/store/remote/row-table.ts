import type { EntryRef, NoteNumber } from "../store.js";

/**
 * Where a server keeps the rows of one queue; what is in them it does not look at. Whoever has opened it is the only one who
 * can change it: one who was taken for dead, and is not, finds every commit refused.
 *
 * Methods reject with a `StoreError`; after one with the code "io" or "locked" the table has to be opened again.
 */
export interface RowTable {
  /** Takes the queue over and reads the heads of its rows. `onLost` is told when the server is lost afterwards. */
  open(onLost: (error: unknown) => void): Promise<RowContents>;
  /** Gives the queue the id that its values are encrypted for. */
  setQueueId(id: string): Promise<void>;
  /** All of it or nothing. No two parts of a change are about the same ref, or the same note. */
  commit(change: RowChange): Promise<void>;
  /** Those that are there. */
  payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Buffer>>;
  /** In the order of their numbers. */
  notes(): Promise<NoteRow[]>;
  close(): Promise<void>;
}

export interface RowContents {
  readonly isNew: boolean;
  /** What the ids of its entries begin with. */
  readonly tag: string;
  /** The largest ref that was ever given. */
  readonly lastRef: EntryRef;
  /** What its values are encrypted for, in hexadecimal; undefined when nothing ever was. */
  readonly queueId: string | undefined;
  /** Pending and failed ones, in the order of their refs. */
  readonly rows: readonly { readonly ref: EntryRef; readonly head: string }[];
  /** How many were set aside before. */
  readonly setAside: number;
}

/** What a row is found by: those that are set aside stay, and are not read any more. */
export const ROW_STATES = { pending: 0, failed: 1, setAside: 2 } as const;

export type RowState = (typeof ROW_STATES)[keyof typeof ROW_STATES];

export interface NoteRow {
  readonly number: NoteNumber;
  readonly value: Buffer;
}

export interface RowChange {
  readonly lastRef: EntryRef;
  readonly inserts: readonly {
    readonly ref: EntryRef;
    readonly state: RowState;
    readonly head: string;
    readonly payload: Buffer;
  }[];
  /** Rows that change, and may get another ref; their payload stays. */
  readonly moves: readonly {
    readonly from: EntryRef;
    readonly to: EntryRef;
    readonly state: RowState;
    readonly head: string;
  }[];
  readonly deletes: readonly EntryRef[];
  readonly notes: readonly NoteRow[];
  readonly removedNotes: readonly NoteNumber[];
}
