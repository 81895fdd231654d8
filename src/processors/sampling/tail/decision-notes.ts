import type { JournalNotes } from "#contract/operators";
import { EarlierDecisions } from "./earlier-decisions.js";

/** An entry of the journal whose spans go different ways. */
export interface SplitEntry {
  readonly position: number;
  /** Ways that have not come to an end. */
  openParts: number;
  /** One of them was refused for now: all of the entry will come again. */
  comesAgain: boolean;
  /** One of them was refused for good: if none is for now, what nobody has taken becomes a dead letter. */
  isGivenUp: boolean;
}

/** An entry, and traces of it. */
export type EntryTraces = readonly [entry: SplitEntry, traces: readonly string[]];

/** What became of a trace of an entry: somebody has it, it is wanted and nobody has it, or it is not wanted. */
export type TraceFate = "delivered" | "sampled" | "dropped";

/** What was decided of a trace. */
export interface NotedDecision {
  readonly id: string;
  readonly isSampled: boolean;
}

/**
 * What a sampler writes into the journal of its pipeline, so that nothing is decided twice when an entry comes again,
 * after a refusal or a crash:
 *
 * - what was decided, before anybody is told of it: spans of a dropped trace are let go, those of a sampled one passed on;
 * - which sampled traces of an entry have been delivered while others of it have not: those are not passed on again.
 *
 * It knows what became of every trace of an entry that has not ended, however many decisions were made since, also those of
 * earlier runs: an entry may be refused for hours, and the half of a trace must not be decided by itself.
 *
 * Only an entry that came as one delivery is known by its position. Spans of one that was split or merged on the way may
 * arrive twice.
 */
export class DecisionNotes {
  private readonly journal: JournalNotes;
  /** By position, what became of traces of that entry. */
  private readonly fates = new Map<number, Map<string, TraceFate>>();
  private earlier: EarlierDecisions | undefined;

  /** `remembered`: so many decisions are of use after a restart. */
  constructor(journal: JournalNotes, remembered: number) {
    this.journal = journal;
    journal.keepAtMost(remembered * MAX_BYTES_PER_DECISION);
  }

  /** Tells every decision that was noted, oldest first. */
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
   * An entry has come, and goes so many ways; these of its traces were decided before. That is noted, when it comes for the first
   * time: should it come once more after a restart, later decisions on other spans of them must not be taken for theirs.
   * Undefined when its place is not known, or it has ended.
   */
  split(position: number | undefined, parts: number, late: readonly NotedDecision[]): SplitEntry | undefined {
    if (position === undefined) return undefined;
    const entry = { position, openParts: parts, comesAgain: false, isGivenUp: false };
    if (this.hasEnded(entry)) return undefined;
    const known = this.fates.get(position);
    this.decided(late.filter(({ id }) => known?.has(id) !== true));
    for (const { id, isSampled } of late) this.setFates(position, [id], isSampled ? "sampled" : "dropped");
    return entry;
  }

  decided(decisions: readonly NotedDecision[]): void {
    if (this.earlier?.isNeededFrom(this.journal.firstPosition) === false) this.earlier = undefined;
    if (decisions.length > 0) this.journal.write(encodeDecisions(decisions));
  }

  /** Undefined: it is not known for this entry. */
  fateOf(position: number | undefined, id: string): TraceFate | undefined {
    if (position === undefined) return undefined;
    return this.fates.get(position)?.get(id) ?? this.earlier?.fateOf(position, id);
  }

  /** True for spans of a trace that nobody has, though it is wanted. */
  isOwed(position: number, id: string): boolean {
    const fate = this.fates.get(position)?.get(id);
    return fate !== "delivered" && fate !== "dropped";
  }

  /** The entry is not in the journal any more. */
  ended(position: number): void {
    this.fates.delete(position);
  }

  /** These ways of entries have ended well, each with traces that somebody has now, or that are not wanted. */
  accepted(parts: readonly EntryTraces[], fate: "delivered" | "dropped"): void {
    const traces = new Map<SplitEntry, string[]>();
    for (const [entry, ids] of parts) {
      entry.openParts -= 1;
      const known = traces.get(entry);
      if (known === undefined) traces.set(entry, [...ids]);
      else known.push(...ids);
    }
    const open = [...traces].filter(([entry]) => !this.hasEnded(entry));
    for (const [{ position }, ids] of open) this.setFates(position, ids, fate);
    if (open.length > 0 && fate === "delivered") this.journal.write(encodeDeliveries(open));
  }

  /** These ways of entries were refused. What is refused for good becomes a dead letter, and does not come again. */
  refused(parts: readonly EntryTraces[], isForGood: boolean): void {
    for (const [entry, ids] of parts) {
      entry.openParts -= 1;
      entry.comesAgain ||= !isForGood;
      entry.isGivenUp ||= isForGood;
      if (!this.hasEnded(entry)) this.setFates(entry.position, ids, "sampled");
    }
  }

  /** An entry whose ways have all ended well is not in the journal any more; others come again, or will be asked about. */
  private hasEnded({ position, openParts, comesAgain, isGivenUp }: SplitEntry): boolean {
    if (openParts > 0 || comesAgain || isGivenUp) return false;
    this.fates.delete(position);
    return true;
  }

  private setFates(position: number, ids: readonly string[], fate: TraceFate): void {
    const known = this.fates.get(position) ?? new Map<string, TraceFate>();
    this.fates.set(position, known);
    for (const id of ids) known.set(id, fate);
  }
}

/** The first byte of a note. Others are of a later version, and are passed over. */
const DECIDED = 1;
const DELIVERED = 2;
const ID_BYTES = 16;
/** With what a journal counts for a note of a single decision, and for another that the trace was delivered. */
const MAX_BYTES_PER_DECISION = 500;

function encodeDecisions(decisions: readonly NotedDecision[]): Uint8Array {
  const sampled = decisions.filter(({ isSampled }) => isSampled);
  const others = decisions.filter(({ isSampled }) => !isSampled);
  const note = Buffer.allocUnsafe(5 + decisions.length * ID_BYTES);
  note[0] = DECIDED;
  note.writeUInt32LE(sampled.length, 1);
  [...sampled, ...others].forEach(({ id }, i) => {
    note.write(id, 5 + i * ID_BYTES, "latin1");
  });
  return note;
}

function encodeDeliveries(delivered: readonly EntryTraces[]): Uint8Array {
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
