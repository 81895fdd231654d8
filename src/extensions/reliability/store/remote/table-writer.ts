import type { Entry } from "../../../../runtime/kit.js";
import type { EntryRef, StoreError } from "../store.js";
import type { EntryTable, TableChange } from "./entry-table.js";

/** A change that somebody waits for, and what it does here once the server has it. */
export interface WantedChange extends Partial<Omit<TableChange, "lastRef">> {
  readonly apply: () => void;
}

interface WaitingChange extends WantedChange {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const MAX_ROWS = 500;
const MAX_BYTES = 8 * 1024 * 1024;
/** Acknowledgements for which nobody writes are written after this. */
const LAZY_MS = 50;
/** What the server did not take is tried again after this. */
const RETRY_MS = 1000;

/**
 * Writes changes in the order they come, those that came while one commit was under way together in the next. What nobody waits for
 * (acknowledgements, updates) goes along, and is kept until it is written.
 */
export class TableWriter {
  private readonly table: EntryTable;
  private readonly lastRef: () => EntryRef;
  private waiting: WaitingChange[] = [];
  private readonly acknowledged = new Set<EntryRef>();
  private readonly updated = new Map<EntryRef, Entry>();
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Why nothing can be written. */
  private problem: StoreError | undefined;

  constructor(table: EntryTable, lastRef: () => EntryRef) {
    this.table = table;
    this.lastRef = lastRef;
  }

  /** Resolves when the server has it. */
  write(change: WantedChange): Promise<void> {
    if (this.problem !== undefined) return Promise.reject(this.problem);
    return new Promise((resolve, reject) => {
      this.waiting.push({ ...change, resolve, reject });
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

  /** Somebody writes this entry, with what was learnt of it. */
  forgetUpdate(ref: EntryRef): void {
    this.updated.delete(ref);
  }

  isAcknowledged(ref: EntryRef): boolean {
    return this.acknowledged.has(ref);
  }

  latest(ref: EntryRef, entry: Entry): Entry {
    return this.updated.get(ref) ?? entry;
  }

  /** Those who wait are refused, and those who come; what nobody waits for is kept. */
  stop(problem: StoreError): void {
    this.problem = problem;
    for (const { reject } of this.waiting.splice(0)) reject(problem);
  }

  resume(): void {
    this.problem = undefined;
    this.start();
  }

  /** Resolves when everything is written, or cannot be. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.start();
    while (this.running !== undefined) await this.running;
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
      // Who was answered by the last commit may have come with the next change already.
      if (this.waiting.length > 0) this.start();
      else if (this.acknowledged.size + this.updated.size > 0) this.startSoon(RETRY_MS);
    });
  }

  private async run(): Promise<void> {
    await Promise.resolve(); // what comes at one moment is one commit
    while (this.problem === undefined && this.waiting.length + this.acknowledged.size + this.updated.size > 0)
      if (!(await this.commit())) return;
  }

  private async commit(): Promise<boolean> {
    const { taken, change, updates } = this.nextChange();
    try {
      await this.table.commit(change);
    } catch (error) {
      for (const { reject } of taken) reject(error);
      return taken.length > 0;
    }
    for (const ref of change.deletes) this.acknowledged.delete(ref);
    for (const [ref, entry] of updates) if (this.updated.get(ref) === entry) this.updated.delete(ref);
    for (const { apply, resolve } of taken) {
      apply();
      resolve();
    }
    return true;
  }

  /** As many as may go together: no ref twice. */
  private nextChange() {
    const touched = new Set<EntryRef>();
    const taken: WaitingChange[] = [];
    let bytes = 0;
    for (const wanted of this.waiting) {
      const refs = refsOf(wanted);
      if (taken.length > 0 && (touched.size + refs.length > MAX_ROWS || bytes > MAX_BYTES)) break;
      if (refs.some((ref) => touched.has(ref))) break;
      for (const ref of refs) touched.add(ref);
      for (const { payload } of wanted.inserts ?? []) bytes += payload.length;
      taken.push(wanted);
    }
    this.waiting.splice(0, taken.length);
    const updates = [...this.updated].filter(([ref]) => !touched.has(ref)).slice(0, MAX_ROWS);
    for (const [ref] of updates) touched.add(ref);
    const acknowledged = [...this.acknowledged].filter((ref) => !touched.has(ref)).slice(0, MAX_ROWS);
    const change: TableChange = {
      lastRef: this.lastRef(),
      inserts: taken.flatMap(({ inserts = [] }) => inserts),
      moves: [
        ...taken.flatMap(({ moves = [] }) => moves),
        ...updates.map(([ref, entry]) => ({ from: ref, to: ref, entry })),
      ],
      deletes: [...taken.flatMap(({ deletes = [] }) => deletes), ...acknowledged],
    };
    return { taken, change, updates };
  }
}

function refsOf({ inserts = [], moves = [], deletes = [] }: WantedChange): EntryRef[] {
  return [...inserts.map(({ ref }) => ref), ...moves.map(({ from }) => from), ...deletes];
}
