import type { Entry } from "#contract/operations";
import { hasState } from "../format/entry.js";
import type { EntryRef, Note, NoteNumber, StoreError } from "../store.js";
import type { EntryTable, TableChange } from "./entry-table.js";

/** A change whose caller waits for it. `apply` changes the state in memory once the server has the change. */
export interface WantedChange
  extends Partial<Pick<TableChange, "inserts" | "moves" | "deletes" | "notes" | "removedNotes">> {
  readonly apply: () => void;
}

interface WaitingChange {
  readonly wanted: WantedChange;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const MAX_ROWS = 500;
const MAX_BYTES = 8 * 1024 * 1024;
/** How long acknowledgements wait for other changes to be written with. */
const LAZY_MS = 50;
/** How long to wait before changes that the server did not take are tried again. */
const RETRY_MS = 1000;

/**
 * Writes changes in order. Changes that come while a commit is under way are written together in the next. Changes
 * without a waiting caller (acknowledgements, updates, notes) are included and kept until they are written. No
 * acknowledgement is written before earlier notes.
 *
 * An update is written once, in its newest form, and not in the same commit as another change of its entry. When that
 * change is written, updates that wait are older than it, or of a state that the entry no longer has, and are dropped.
 */
export class TableWriter {
  private readonly table: EntryTable;
  private readonly lastRef: () => EntryRef;
  private waiting: WaitingChange[] = [];
  private readonly acknowledged = new Set<EntryRef>();
  private readonly updated = new Map<EntryRef, Entry>();
  private readonly newNotes = new Map<NoteNumber, Note>();
  private readonly removedNotes = new Set<NoteNumber>();
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Whether the last commit failed. */
  private hasFailed = false;
  /** Why nothing can be written, if so. */
  private problem: StoreError | undefined;

  constructor(table: EntryTable, lastRef: () => EntryRef) {
    this.table = table;
    this.lastRef = lastRef;
  }

  /** Resolves when the server has the change. */
  write(wanted: WantedChange): Promise<void> {
    if (this.problem !== undefined) return Promise.reject(this.problem);
    return new Promise((resolve, reject) => {
      this.waiting.push({ wanted, resolve, reject });
      this.start();
    });
  }

  acknowledge(ref: EntryRef): void {
    this.updated.delete(ref);
    this.acknowledged.add(ref);
    this.startSoon();
  }

  update(ref: EntryRef, entry: Entry): void {
    this.updated.set(ref, entry);
    this.startSoon();
  }

  addNote(note: Note): void {
    this.newNotes.set(note.number, note);
    this.startSoon();
  }

  /**
   * A note that counts as unwritten may be on the server already, because the answer to its commit was lost. So it is
   * removed there too.
   */
  removeNotes(numbers: readonly NoteNumber[]): void {
    for (const number of numbers) {
      this.newNotes.delete(number);
      this.removedNotes.add(number);
    }
    if (numbers.length > 0) this.startSoon();
  }

  /** To be called when an entry is set aside. */
  forgetUpdate(ref: EntryRef): void {
    this.updated.delete(ref);
  }

  isAcknowledged(ref: EntryRef): boolean {
    return this.acknowledged.has(ref);
  }

  /**
   * Returns what is known about an entry that was read from the server. A change of state whose answer was lost is newer
   * than an update of the former state.
   */
  latest(ref: EntryRef, entry: Entry): Entry {
    const updated = this.updated.get(ref);
    if (updated === undefined || hasState(updated, entry.state)) return updated ?? entry;
    this.updated.delete(ref);
    return entry;
  }

  /** Rejects waiting and new changes. Changes without a waiting caller are kept. */
  stop(problem: StoreError): void {
    this.problem = problem;
    for (const { reject } of this.waiting.splice(0)) reject(problem);
  }

  resume(): void {
    this.problem = undefined;
    this.start();
  }

  /** Resolves when everything is written or cannot be. */
  async flush(): Promise<void> {
    // A run that is about to end does not see newer changes.
    do {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.start();
      while (this.running !== undefined) await this.running;
    } while (this.problem === undefined && !this.hasFailed && this.waiting.length + this.lazyCount > 0);
    clearTimeout(this.timer);
  }

  private startSoon(ms = LAZY_MS): void {
    if (this.running !== undefined) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.start();
    }, ms).unref();
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      if (this.problem !== undefined) return;
      // A caller of the last commit may have added its next change already.
      if (this.waiting.length > 0) this.start();
      else if (this.lazyCount > 0) this.startSoon(RETRY_MS);
    });
  }

  private async run(): Promise<void> {
    await Promise.resolve(); // changes of one moment become one commit
    while (this.problem === undefined && this.waiting.length + this.lazyCount > 0) if (!(await this.commit())) return;
  }

  private get lazyCount(): number {
    return this.acknowledged.size + this.updated.size + this.newNotes.size + this.removedNotes.size;
  }

  private async commit(): Promise<boolean> {
    const { taken, change, updates } = this.nextChange();
    try {
      await this.table.commit(change);
    } catch (error) {
      this.hasFailed = true;
      for (const { reject } of taken) reject(error);
      return taken.length > 0;
    }
    this.hasFailed = false;
    for (const ref of change.deletes) this.acknowledged.delete(ref);
    for (const { number } of change.notes) this.newNotes.delete(number);
    for (const number of change.removedNotes) this.removedNotes.delete(number);
    for (const [ref, entry] of updates) if (this.updated.get(ref) === entry) this.updated.delete(ref);
    for (const { wanted, resolve } of taken) {
      for (const { from } of wanted.moves ?? []) this.updated.delete(from);
      for (const ref of wanted.deletes ?? []) this.updated.delete(ref);
      wanted.apply();
      resolve();
    }
    return true;
  }

  /** Collects as many changes as can be written together. No ref is used twice. */
  private nextChange() {
    const touched = new Set<EntryRef>();
    const inserts: TableChange["inserts"][number][] = [];
    const moves: TableChange["moves"][number][] = [];
    const deletes: EntryRef[] = [];
    const wantedNotes: Note[] = [];
    const removedNotes: NoteNumber[] = [];
    let bytes = 0;
    let count = 0;
    for (const { wanted } of this.waiting) {
      const rows = countRows(wanted);
      if (count > 0 && (touched.size + rows > MAX_ROWS || bytes > MAX_BYTES)) break;
      if (count > 0 && isTouched(wanted, touched)) break;
      for (const insert of wanted.inserts ?? []) {
        touched.add(insert.ref);
        bytes += insert.payload.length;
        inserts.push(insert);
      }
      for (const move of wanted.moves ?? []) {
        touched.add(move.from);
        moves.push(move);
      }
      for (const ref of wanted.deletes ?? []) {
        touched.add(ref);
        deletes.push(ref);
      }
      wantedNotes.push(...(wanted.notes ?? []));
      removedNotes.push(...(wanted.removedNotes ?? []));
      count++;
    }
    const taken = this.waiting.splice(0, count);
    const updates = takeUntouched(this.updated.keys(), touched).map((ref) => [ref, this.updated.get(ref)!] as const);
    for (const [ref, entry] of updates) {
      touched.add(ref);
      moves.push({ from: ref, to: ref, entry });
    }
    const lazyNotes = this.nextNotes();
    const mayAcknowledge = lazyNotes.length === this.newNotes.size;
    if (mayAcknowledge) for (const ref of takeUntouched(this.acknowledged, touched)) deletes.push(ref);
    removedNotes.push(...[...this.removedNotes].slice(0, MAX_ROWS));
    const notes = [...lazyNotes, ...wantedNotes];
    const change: TableChange = { lastRef: this.lastRef(), inserts, moves, deletes, notes, removedNotes };
    return { taken, change, updates };
  }

  private nextNotes(): Note[] {
    const notes: Note[] = [];
    let bytes = 0;
    for (const note of this.newNotes.values()) {
      if (notes.length >= MAX_ROWS || bytes > MAX_BYTES) break;
      bytes += note.bytes.length;
      notes.push(note);
    }
    return notes;
  }
}

/** Returns the first refs that no other part of the commit uses. */
function takeUntouched(refs: Iterable<EntryRef>, touched: ReadonlySet<EntryRef>): EntryRef[] {
  const taken: EntryRef[] = [];
  for (const ref of refs) {
    if (taken.length >= MAX_ROWS) break;
    if (!touched.has(ref)) taken.push(ref);
  }
  return taken;
}

function countRows({ inserts = [], moves = [], deletes = [] }: WantedChange): number {
  return inserts.length + moves.length + deletes.length;
}

/** Inserts are not checked, because no other change knows their refs yet. */
function isTouched({ moves = [], deletes = [] }: WantedChange, touched: ReadonlySet<EntryRef>): boolean {
  return moves.some(({ from }) => touched.has(from)) || deletes.some((ref) => touched.has(ref));
}
