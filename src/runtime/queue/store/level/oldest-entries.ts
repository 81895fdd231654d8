import type { Entry } from "#contract/operations";
import type { EntryInfo, Meta } from "../format/entry.js";
import type { EntryRef } from "../store.js";
import type { LevelDb } from "./level-db.js";
import { failedAfter, firstPending, loadEntry } from "./reader.js";

/** The oldest pending and the oldest failed entry of an open database. */
export class OldestEntries {
  readonly pending: OldestEntry;
  readonly failed: OldestEntry;

  /** `meta` returns the current counters. `infoOfRef` returns what is known about an entry without reading it. */
  constructor(db: LevelDb, meta: () => Meta, infoOfRef: (ref: EntryRef) => EntryInfo | undefined) {
    const findPending = async (from: EntryRef) => {
      const ref = await firstPending(db, from, meta());
      if (ref === undefined) return undefined;
      return { ref, enqueuedAt: infoOfRef(ref)?.enqueuedAt ?? (await loadEntry(db, ref))?.entry.enqueuedAt };
    };
    const findFailed = async (from: EntryRef) => {
      const [first] = await failedAfter(db, undefined, 1, "oldest", { ...meta(), failedHead: from });
      return first === undefined ? undefined : { ref: first.ref, enqueuedAt: first.entry.enqueuedAt };
    };
    const lastRef = () => meta().last;
    this.pending = new OldestEntry("pending", meta().head, findPending, lastRef);
    this.failed = new OldestEntry("failed", meta().failedHead, findFailed, lastRef);
  }

  async find({ pending, failed }: Meta): Promise<void> {
    if (pending.entries > 0) await this.pending.find();
    if (failed.entries > 0) await this.failed.find();
  }

  applyCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>, { pending, failed }: Meta): void {
    this.pending.applyCommit(infos, pending.entries);
    this.failed.applyCommit(infos, failed.entries);
  }

  /** The positions from which reads may start, for the counters. */
  get positions(): Pick<Meta, "head" | "failedHead"> {
    return { head: this.pending.searchFrom, failedHead: this.failed.searchFrom };
  }

  withPositions(meta: Meta): Meta {
    return { ...meta, ...this.positions };
  }

  /** To be called when a pending entry may be before the first known one. */
  notePendingAt(ref: EntryRef): void {
    this.pending.noteEntryAt(ref);
  }

  stop(): void {
    this.pending.stop();
    this.failed.stop();
  }
}

/** An entry found by scanning; `enqueuedAt` is undefined if it was removed before it could be read. */
interface OldestCandidate {
  readonly ref: EntryRef;
  readonly enqueuedAt: number | undefined;
}

/**
 * The oldest entry of one state. It is tracked as entries come and go. When it is gone, the next one is searched for a
 * moment later, so that a busy queue does not search at every commit.
 */
class OldestEntry {
  private firstPossibleRef: EntryRef;
  private oldestEnqueuedAt: number | undefined;
  private ref: EntryRef | undefined;
  private readonly state: Entry["state"];
  private readonly seek: (from: EntryRef) => Promise<OldestCandidate | undefined>;
  private readonly lastRef: () => EntryRef;
  private timer: NodeJS.Timeout | undefined;
  /** Entries removed during the search. */
  private removedDuringFind: Set<EntryRef> | undefined;
  /** The first ref that came into this state during the search, which may not see it. */
  private firstAddedDuringFind = Number.POSITIVE_INFINITY;

  constructor(
    state: Entry["state"],
    from: EntryRef,
    seek: (from: EntryRef) => Promise<OldestCandidate | undefined>,
    last: () => EntryRef,
  ) {
    this.state = state;
    this.firstPossibleRef = from;
    this.seek = seek;
    this.lastRef = last;
  }

  /** No entry of this state is before this ref. */
  get searchFrom(): EntryRef {
    return this.firstPossibleRef;
  }

  /** When the oldest entry was queued; undefined if there is none. */
  get enqueuedAt(): number | undefined {
    return this.oldestEnqueuedAt;
  }

  noteEntryAt(ref: EntryRef): void {
    if (ref < this.firstPossibleRef) this.firstPossibleRef = ref;
  }

  applyCommit(infos: ReadonlyMap<EntryRef, EntryInfo | null>, entries: number): void {
    for (const [ref, info] of infos) this.observe(ref, info);
    if (this.ref === undefined && this.firstPossibleRef <= this.lastRef() && this.removedDuringFind === undefined)
      this.findLater();
    if (entries === 0) this.oldestEnqueuedAt = undefined;
  }

  async find(): Promise<void> {
    this.stop();
    const from = this.firstPossibleRef;
    this.removedDuringFind = new Set();
    this.firstAddedDuringFind = Number.POSITIVE_INFINITY;
    const end = this.lastRef();
    const found = await this.seek(from).catch(() => "failed" as const);
    const removed = this.removedDuringFind;
    this.removedDuringFind = undefined;
    if (found === "failed") return;
    const wasRemoved = found !== undefined && (found.enqueuedAt === undefined || removed.has(found.ref));
    const first = found?.ref ?? end + 1;
    if (from !== this.firstPossibleRef || wasRemoved || this.firstAddedDuringFind < first) return this.findLater();
    this.firstPossibleRef = first;
    if (found === undefined) return;
    this.ref = found.ref;
    this.oldestEnqueuedAt = found.enqueuedAt;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private findLater(): void {
    this.timer ??= setTimeout(() => this.find(), FIND_DELAY_MS).unref();
  }

  private observe(ref: EntryRef, info: EntryInfo | null): void {
    if (info?.state !== this.state) {
      this.removedDuringFind?.add(ref);
      if (ref === this.ref) this.ref = undefined;
      return;
    }
    this.noteEntryAt(ref);
    this.firstAddedDuringFind = Math.min(this.firstAddedDuringFind, ref);
    if (this.oldestEnqueuedAt !== undefined && (this.ref === undefined || ref >= this.ref)) return;
    this.ref = ref;
    this.oldestEnqueuedAt = info.enqueuedAt;
  }
}

/** A search creates an iterator, which locks LevelDB, so a busy queue searches only a few times per second. */
const FIND_DELAY_MS = 200;
