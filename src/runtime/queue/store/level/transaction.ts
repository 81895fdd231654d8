import type { Entry } from "#contract/operations";
import type { Batch } from "#otlp";
import {
  addRef,
  adjustAmount,
  chunksOf,
  createEntry,
  type EntryHead,
  type EntryInfo,
  encodeMeta,
  entryId,
  hasState,
  headOf,
  infoOf,
  isIndexed,
  type Meta,
  NO_REFS,
  subtractRef,
} from "../format/entry.js";
import { encodeFacts } from "../format/failure-facts.js";
import { chunkKey, frame, idKey, META_KEY, quarantineKey, RANGES, refKey, seal } from "../format/layout.js";
import {
  type Amount,
  type EntryRef,
  type NewEntry,
  type Note,
  type NoteNumber,
  noSuchEntry,
  type StoredEntry,
  StoreError,
  ZERO_AMOUNT,
} from "../store.js";

/** The target of a transaction: LevelDB's chained batch. Keys and values are copied immediately. */
export interface KeyValueWriter {
  put(key: Uint8Array, value: Uint8Array): unknown;
  del(key: Uint8Array): unknown;
}

/** Bytes that a commit removes, and the ref where they are stored. */
export interface RemovedPayload {
  readonly ref: EntryRef;
  readonly bytes: number;
}

/**
 * The changes of one commit. A transaction sees its own changes and changes nothing else: counters and infos are taken
 * over only after LevelDB has written everything. A method that throws has changed nothing.
 */
export class Transaction {
  /** Entries as this transaction leaves them; null for removed ones. */
  readonly infos = new Map<EntryRef, EntryInfo | null>();
  /** Those entries that are dead letters or were updated. */
  readonly entries = new Map<EntryRef, Entry>();
  readonly removed: RemovedPayload[] = [];
  readonly meta: { -readonly [K in keyof Meta]: Meta[K] };
  private onlyAdds = true;
  private readonly writer: KeyValueWriter;
  private readonly protect: (value: Uint8Array) => Uint8Array;
  private readonly lookUp: (ref: EntryRef) => EntryInfo | undefined;

  /** `protect` returns each value as it is written. */
  constructor(
    writer: KeyValueWriter,
    meta: Meta,
    lookUp: (ref: EntryRef) => EntryInfo | undefined,
    protect: (value: Uint8Array) => Uint8Array = seal,
  ) {
    this.protect = protect;
    this.writer = writer;
    this.meta = { ...meta };
    this.lookUp = lookUp;
  }

  /**
   * Writes the counters; to be called last. Commits that only add entries to the end may omit them, because those
   * entries can be counted on opening. This makes filling a queue cheap: LevelDB need not merge tables that have no key
   * in common.
   */
  finish(mayOmitMeta: boolean): { wroteMeta: boolean } {
    if (mayOmitMeta && this.onlyAdds) return { wroteMeta: false };
    this.meta.commits += 1;
    this.write(META_KEY, encodeMeta(this.meta));
    return { wroteMeta: true };
  }

  /** Makes `finish` write the counters. LevelDB syncs nothing if there is nothing to write. */
  requireMeta(): void {
    this.onlyAdds = false;
  }

  /** Whether this transaction has changed the entry. */
  hasChanged(ref: EntryRef): boolean {
    return this.infos.has(ref);
  }

  info(ref: EntryRef): EntryInfo | undefined {
    const changed = this.infos.get(ref);
    return changed === undefined ? this.lookUp(ref) : (changed ?? undefined);
  }

  put(fresh: NewEntry, givenId: string | undefined): StoredEntry {
    const ref = this.nextRef();
    const entry = createEntry(fresh, givenId ?? entryId(this.meta.tag, ref), this.meta.exporter);
    const chunks = this.putPayload(ref, entry, fresh.batch);
    const head = { entry, chunks };
    if (entry.state === "failed") this.putFailed(ref, head);
    if (entry.state === "failed" || isIndexed(entry.id, ref)) this.onlyAdds = false;
    this.indexId(entry.id, ref);
    this.setInfo(ref, infoOf(ref, head, false), entry.state === "failed" ? entry : undefined);
    return { ref, entry };
  }

  remove(ref: EntryRef): void {
    const info = this.info(ref);
    if (info === undefined) return;
    this.onlyAdds = false;
    this.writer.del(refKey(RANGES.entry, ref));
    if (info.changed) this.writer.del(refKey(RANGES.update, ref));
    if (info.state === "failed") this.writer.del(refKey(RANGES.failed, ref));
    if (isIndexed(info.id, ref)) this.writer.del(idKey(info.id));
    this.removePayload(ref, info);
    this.setInfo(ref, null);
    this.removed.push({ ref: info.origin, bytes: info.bytes });
  }

  /** Writes deletion marks for these keys once more. */
  markDeleted(keys: readonly Uint8Array[]): void {
    this.onlyAdds = false;
    for (const key of keys) this.writer.del(key);
  }

  /**
   * Ignores an update that was made when the entry was in another state. It is older than the change of state, and comes
   * after it only if a commit that was reported as failed had been written. Returns false then.
   */
  update(ref: EntryRef, entry: Entry): boolean {
    const info = this.info(ref);
    if (info === undefined || !hasState(entry, info.state)) return false;
    this.onlyAdds = false;
    const changed = { ...entry, state: info.state };
    const head = headOf(ref, changed, info);
    const isFailed = info.state === "failed";
    if (isFailed) this.putFailed(ref, head);
    else this.write(refKey(RANGES.update, ref), frame(RANGES.update, ref, 0, head, []));
    this.setInfo(ref, infoOf(ref, head, info.changed || !isFailed), changed);
    return true;
  }

  fail(ref: EntryRef, entry: Entry): void {
    const info = this.requireInfo(ref);
    this.onlyAdds = false;
    const head = headOf(ref, { ...entry, state: "failed" }, info);
    this.putFailed(ref, head);
    if (info.changed) this.writer.del(refKey(RANGES.update, ref));
    this.setInfo(ref, infoOf(ref, head, false), head.entry);
    this.meta.failedHead = Math.min(this.meta.failedHead, ref);
  }

  replace(ref: EntryRef, replacements: readonly NewEntry[], ids: readonly (string | undefined)[]): StoredEntry[] {
    this.requireInfo(ref);
    this.remove(ref);
    return replacements.map((replacement, i) => this.put(replacement, ids[i]));
  }

  replay(changes: ReadonlyMap<EntryRef, Entry>): StoredEntry[] {
    for (const ref of changes.keys()) {
      if (this.requireInfo(ref).state !== "failed")
        throw new StoreError("not_found", `entry ${ref} is not a dead letter`);
    }
    return [...changes].map(([ref, entry]) => this.moveToEnd(ref, entry));
  }

  /** Removes an unreadable entry and keeps `values`, what is left of it, under other keys. */
  quarantine(ref: EntryRef, values: readonly (readonly [Uint8Array, Uint8Array])[]): void {
    this.onlyAdds = false;
    for (const [key, value] of values) {
      this.write(quarantineKey(ref, key), value);
      this.writer.del(key);
    }
    this.remove(ref);
    this.meta.corrupt += 1;
  }

  /** Corrects the counters for pending entries that no longer exist. */
  uncountLostPending({ entries, items, bytes }: Amount): void {
    this.onlyAdds = false;
    const { pending } = this.meta;
    this.meta.pending = {
      entries: pending.entries - entries,
      items: pending.items - items,
      bytes: pending.bytes - bytes,
    };
    this.meta.corrupt += entries;
  }

  /** Returns a payload to its original entry if the replayed one is gone. */
  restoreOrigin(origin: EntryRef): void {
    this.writer.del(refKey(RANGES.moved, origin));
    this.meta.moved -= 1;
    this.meta.head = Math.min(this.meta.head, origin);
  }

  /** Notes are not counted, so a commit that only adds notes may omit the counters. */
  putNote(number: NoteNumber, { owner, after, bytes }: Omit<Note, "number">): void {
    this.write(refKey(RANGES.note, number), frame(RANGES.note, number, 0, { owner, after }, [bytes]));
  }

  removeNote(number: NoteNumber): void {
    this.writer.del(refKey(RANGES.note, number));
  }

  private moveToEnd(from: EntryRef, entry: Entry): StoredEntry {
    this.onlyAdds = false;
    const info = this.requireInfo(from);
    const ref = this.nextRef();
    const replayed: Entry = { ...entry, state: "pending" };
    const head = headOf(ref, replayed, info);
    this.write(refKey(RANGES.entry, ref), frame(RANGES.entry, ref, 0, head, []));
    this.writer.del(refKey(RANGES.failed, from));
    if (isIndexed(info.id, from)) this.writer.del(idKey(info.id));
    this.indexId(entry.id, ref);
    this.write(refKey(RANGES.moved, info.origin), frame(RANGES.moved, info.origin, 0, { owner: ref }, []));
    if (from === info.origin) this.meta.moved += 1;
    else this.writer.del(refKey(RANGES.entry, from));
    this.setInfo(from, null);
    this.setInfo(ref, infoOf(ref, head, false));
    return { ref, entry: replayed };
  }

  private write(key: Uint8Array, value: Uint8Array): void {
    this.writer.put(key, this.protect(value));
  }

  private putFailed(ref: EntryRef, head: EntryHead): void {
    this.write(refKey(RANGES.failed, ref), frame(RANGES.failed, ref, 0, head, encodeFacts(head.entry)));
  }

  private putPayload(ref: EntryRef, entry: Entry, batch: Batch): number {
    const [first, ...rest] = chunksOf(batch);
    for (const [i, chunk] of rest.entries())
      this.write(chunkKey(ref, i + 1), frame(RANGES.chunk, ref, i + 1, undefined, chunk));
    this.write(refKey(RANGES.entry, ref), frame(RANGES.entry, ref, 0, { entry, chunks: rest.length }, first!));
    return rest.length;
  }

  private removePayload(ref: EntryRef, info: EntryInfo): void {
    for (let n = 1; n <= info.chunks; n++) this.writer.del(chunkKey(info.origin, n));
    if (info.origin === ref) return;
    this.writer.del(refKey(RANGES.entry, info.origin));
    this.writer.del(refKey(RANGES.moved, info.origin));
    this.meta.moved -= 1;
  }

  private indexId(id: string, ref: EntryRef): void {
    if (isIndexed(id, ref)) this.write(idKey(id), frame(RANGES.id, 0, 0, { id, ref }, []));
  }

  private nextRef(): EntryRef {
    this.meta.last += 1;
    return this.meta.last;
  }

  private requireInfo(ref: EntryRef): EntryInfo {
    const info = this.info(ref);
    if (info === undefined) throw noSuchEntry(ref);
    return info;
  }

  private setInfo(ref: EntryRef, info: EntryInfo | null, entry?: Entry): void {
    const before = this.info(ref);
    if (before !== undefined) this.count(before, -1);
    if (info !== null) this.count(info, 1);
    this.sumRef(ref, Number(info !== null) - Number(before !== undefined));
    this.infos.set(ref, info);
    if (entry !== undefined) this.entries.set(ref, entry);
    else this.entries.delete(ref);
  }

  private sumRef(ref: EntryRef, change: number): void {
    const { refSum, pending, failed } = this.meta;
    if (pending.entries + failed.entries === 0) this.meta.refSum = NO_REFS;
    else if (refSum !== undefined && change !== 0)
      this.meta.refSum = change > 0 ? addRef(refSum, ref) : subtractRef(refSum, ref);
  }

  private count(info: EntryInfo, sign: 1 | -1): void {
    const amount = adjustAmount(this.meta[info.state], info, sign);
    this.meta[info.state] = amount.entries <= 0 ? ZERO_AMOUNT : amount;
  }
}
