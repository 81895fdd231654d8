import type { JournalNotes } from "#contract/operators";
import type { TraceFate } from "./earlier-decisions.js";
import { EarlierDecisions } from "./earlier-decisions.js";

/** A journal entry whose spans were divided into parts that are settled separately. */
export interface SplitEntry {
  readonly position: number;
  /** Parts that are not settled yet. */
  openParts: number;
  /** True if a part was refused for now, so the whole entry will be read again. */
  willComeAgain: boolean;
  /**
   * True if a part was refused permanently. Unless another part is read again, the spans that were not accepted become
   * a dead letter.
   */
  isRefusedPermanently: boolean;
}

/** An entry, some of its traces, and the number of its parts with these traces. */
export type EntryTraces = readonly [entry: SplitEntry, traces: readonly string[], parts: number];

/** The decision about a trace. */
interface NotedDecision {
  readonly id: string;
  readonly isSampled: boolean;
}

/**
 * The notes that a sampler writes into the journal of its pipeline, so that no trace is decided twice when an entry
 * is read again after a refusal or a crash:
 *
 * - the decisions, before any of them takes effect: spans of a dropped trace are discarded, those of a sampled trace
 *   are passed on;
 * - the sampled traces of an entry that were delivered while other traces of it were not: they are not passed on
 *   again.
 *
 * The notes cover every trace of an unfinished entry, including decisions of earlier runs, however many decisions were
 * made since. An entry may be refused for hours, and half of a trace must not be decided by itself.
 *
 * Only an entry that arrives as one delivery is known by its position. Spans of an entry that was split or merged on
 * the way may arrive twice.
 */
export class DecisionNotes {
  private readonly journal: JournalNotes;
  /** The states of the traces of each entry, by the entry's position. */
  private readonly fates = new Map<number, Map<string, TraceFate>>();
  private earlier: EarlierDecisions | undefined;

  /** `remembered` is the number of decisions that are useful after a restart. */
  constructor(journal: JournalNotes, remembered: number) {
    this.journal = journal;
    journal.limitUnneededBytes(remembered * MAX_BYTES_PER_DECISION);
  }

  /** Calls `remember` with every noted decision, oldest first. */
  restore(remember: (id: string, isSampled: boolean) => void): void {
    const { firstPosition } = this.journal;
    const earlier = new EarlierDecisions(firstPosition);
    for (const { bytes, after } of this.journal.read()) {
      const reader = new NoteReader(bytes);
      const kind = reader.byte();
      if (kind === DECIDED)
        for (const { id, isSampled } of reader.decisions()) {
          remember(id, isSampled);
          earlier.add(id, isSampled, after);
        }
      else if (kind === DELIVERED)
        for (const [position, ids] of reader.deliveries())
          if (position >= firstPosition) this.setFates(position, ids, "delivered");
    }
    this.earlier = earlier;
  }

  /**
   * Registers an entry that arrived in this many parts. `lateKept` and `lateDropped` are its traces that were decided
   * before. These decisions are noted again on first arrival: if the entry is read again after a restart, later decisions about other spans of
   * the same traces must not be applied to it. Returns undefined if the position is unknown or the entry has ended.
   */
  split(
    position: number | undefined,
    parts: number,
    lateKept: readonly string[],
    lateDropped: readonly string[],
  ): SplitEntry | undefined {
    if (position === undefined) return undefined;
    const entry = { position, openParts: parts, willComeAgain: false, isRefusedPermanently: false };
    if (this.hasEnded(entry)) return undefined;
    const known = this.fates.get(position);
    const unknown = (ids: readonly string[]) => (known === undefined ? ids : ids.filter((id) => !known.has(id)));
    this.decided(unknown(lateKept), unknown(lateDropped));
    this.setFates(position, lateKept, "sampled");
    this.setFates(position, lateDropped, "dropped");
    return entry;
  }

  /** Notes the decisions about these traces. */
  decided(sampled: readonly string[], dropped: readonly string[]): void {
    if (this.earlier?.isNeededFrom(this.journal.firstPosition) === false) this.earlier = undefined;
    if (sampled.length + dropped.length > 0) this.journal.write(encodeDecisions(sampled, dropped));
  }

  /** Returns undefined if the state is not known for this entry. */
  fateOf(position: number | undefined, id: string): TraceFate | undefined {
    if (position === undefined) return undefined;
    return this.fates.get(position)?.get(id) ?? this.earlier?.fateOf(position, id);
  }

  /** True for spans of a sampled trace that no exporter has yet. */
  isOwed(position: number, id: string): boolean {
    const fate = this.fates.get(position)?.get(id);
    return fate !== "delivered" && fate !== "dropped";
  }

  /** Call this when the entry has left the journal. */
  ended(position: number): void {
    this.fates.delete(position);
  }

  /** Records that these parts of entries were accepted, because their traces were delivered or dropped. */
  accepted(parts: readonly EntryTraces[], fate: "delivered" | "dropped"): void {
    const traces = new Map<SplitEntry, string[]>();
    for (const [entry, ids, count] of parts) {
      entry.openParts -= count;
      const known = traces.get(entry);
      if (known === undefined) traces.set(entry, [...ids]);
      else known.push(...ids);
    }
    const open = [...traces].filter(([entry]) => !this.hasEnded(entry));
    for (const [{ position }, ids] of open) this.setFates(position, ids, fate);
    if (open.length > 0 && fate === "delivered") this.journal.write(encodeDeliveries(open));
  }

  /**
   * Records that these parts of entries were refused. A permanently refused part becomes a dead letter and is not
   * read again.
   */
  refused(parts: readonly EntryTraces[], isPermanent: boolean): void {
    for (const [entry, ids, count] of parts) {
      entry.openParts -= count;
      entry.willComeAgain ||= !isPermanent;
      entry.isRefusedPermanently ||= isPermanent;
      if (!this.hasEnded(entry)) this.setFates(entry.position, ids, "sampled");
    }
  }

  /**
   * An entry whose parts were all accepted has left the journal. Other entries are read again, or `isOwed` will be
   * asked about them.
   */
  private hasEnded({ position, openParts, willComeAgain, isRefusedPermanently }: SplitEntry): boolean {
    if (openParts > 0 || willComeAgain || isRefusedPermanently) return false;
    this.fates.delete(position);
    return true;
  }

  private setFates(position: number, ids: readonly string[], fate: TraceFate): void {
    if (ids.length === 0) return;
    const known = this.fates.get(position) ?? new Map<string, TraceFate>();
    this.fates.set(position, known);
    for (const id of ids) known.set(id, fate);
  }
}

/** The first byte of a note. Notes with other first bytes come from a later version and are skipped. */
const DECIDED = 1;
const DELIVERED = 2;
const ID_BYTES = 16;
/**
 * Includes the journal's overhead for a note with a single decision, and for another note that the trace was delivered.
 */
const MAX_BYTES_PER_DECISION = 500;

function encodeDecisions(sampled: readonly string[], dropped: readonly string[]): Uint8Array {
  const note = Buffer.allocUnsafe(5 + (sampled.length + dropped.length) * ID_BYTES);
  note[0] = DECIDED;
  let at = note.writeUInt32LE(sampled.length, 1);
  for (const id of sampled) at += note.write(id, at, "latin1");
  for (const id of dropped) at += note.write(id, at, "latin1");
  return note;
}

function encodeDeliveries(delivered: readonly (readonly [entry: SplitEntry, traces: readonly string[]])[]): Uint8Array {
  const length = delivered.reduce((sum, [, ids]) => sum + 12 + ids.length * ID_BYTES, 1);
  const note = Buffer.allocUnsafe(length);
  note[0] = DELIVERED;
  let at = 1;
  for (const [{ position }, ids] of delivered) {
    at = note.writeDoubleLE(position, at);
    at = note.writeUInt32LE(ids.length, at);
    for (const id of ids) at += note.write(id, at, "latin1");
  }
  return note;
}

class NoteReader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(note: Uint8Array) {
    this.bytes = Buffer.from(note.buffer, note.byteOffset, note.length);
  }

  byte(): number {
    return this.bytes[this.at++] ?? 0;
  }

  *decisions(): Generator<NotedDecision> {
    const sampled = this.number();
    for (let i = 0; this.at < this.bytes.length; i++) yield { id: this.id(), isSampled: i < sampled };
  }

  *deliveries(): Generator<[position: number, ids: string[]]> {
    while (this.at < this.bytes.length) {
      const position = this.bytes.readDoubleLE(this.at);
      this.at += 8;
      yield [position, Array.from({ length: this.number() }, () => this.id())];
    }
  }

  private number(): number {
    const value = this.bytes.readUInt32LE(this.at);
    this.at += 4;
    return value;
  }

  private id(): string {
    const id = this.bytes.toString("latin1", this.at, this.at + ID_BYTES);
    this.at += ID_BYTES;
    return id;
  }
}
