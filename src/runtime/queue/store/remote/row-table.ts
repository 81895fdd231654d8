import type { EntryRef, NoteNumber } from "../store.js";

/**
 * Stores the rows of one queue on a server, which does not look at their content. Only the agent that opened the table
 * can change it: all commits of an agent that was wrongly taken for dead are refused.
 *
 * Methods reject with a `StoreError`. After one with the code "io" or "locked" the table must be opened again.
 */
export interface RowTable {
  /**
   * Takes ownership of the queue and reads the heads of its rows. `onLost` is called if the connection is lost later.
   */
  open(onLost: (error: unknown) => void): Promise<RowContents>;
  /** Sets the id that the queue's values are encrypted for. */
  setQueueId(id: string): Promise<void>;
  /** Writes all of the change or nothing. No two parts of a change may have the same ref or the same note. */
  commit(change: RowChange): Promise<void>;
  /** Returns the payloads that exist. */
  payloads(refs: readonly EntryRef[]): Promise<ReadonlyMap<EntryRef, Buffer>>;
  /** Returns the notes, ordered by number. */
  notes(): Promise<NoteRow[]>;
  close(): Promise<void>;
}

export interface RowContents {
  readonly isNew: boolean;
  /** Prefix of the ids of the queue's entries. */
  readonly tag: string;
  /** The largest ref ever assigned. */
  readonly lastRef: EntryRef;
  /** The id that the values are encrypted for, in hexadecimal; undefined if nothing was ever encrypted. */
  readonly queueId: string | undefined;
  /** Pending and failed rows, ordered by ref. */
  readonly rows: readonly { readonly ref: EntryRef; readonly head: string }[];
  /** Number of rows that were set aside earlier. */
  readonly setAside: number;
}

/** The states of rows. Rows that are set aside stay in the table but are not read any more. */
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
  /** Rows that change and may get another ref. Their payload stays. */
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
