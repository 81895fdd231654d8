import type { Automaton } from "./automaton.js";
import {
  assertionsBetween,
  BEYOND_KIND,
  type ByteKinds,
  type ByteProgram,
  byteKinds,
  compileProgram,
  EDGE_KIND,
  isProgrammable,
  type ProgramStep,
  SIDE_COUNT,
  type Side,
} from "./byte-program.js";
import { contains } from "./char-set.js";
import type { PatternNode } from "./syntax.js";

/** The answer if this search cannot tell. */
export const UNKNOWN = -1;

/**
 * Finds the matches of a pattern in the bytes of an ASCII text: those that RE2 finds, with one table lookup per byte
 * and without objects. One table finds the end of the next match from the left, another its start from the end. The
 * tables are built as texts need them. Texts with other characters, and texts that need too many states or steps, are
 * left to the pattern's own engine.
 */
export class ByteSearch {
  private readonly kinds: ByteKinds;
  private readonly ends: MatchTable;
  private readonly starts: MatchTable;
  /** 1 for ASCII bytes that begin no match. */
  private readonly startsNothing: Uint8Array;
  private steps = 0;

  /** Returns undefined for patterns that only another engine understands. */
  static of(root: PatternNode, automaton: Automaton | undefined): ByteSearch | undefined {
    return automaton !== undefined && isProgrammable(root) ? new ByteSearch(root, automaton) : undefined;
  }

  private constructor(root: PatternNode, { sets, first }: Automaton) {
    this.kinds = byteKinds(sets);
    this.ends = new MatchTable(compileProgram(root, this.kinds, "forwards"), this.kinds, true);
    this.starts = new MatchTable(compileProgram(root, this.kinds, "backwards"), this.kinds, false);
    const canStart = [...first.keys()].map((state) => sets[state]!);
    this.startsNothing = Uint8Array.from({ length: 256 }, (_, c) =>
      c < 128 && !canStart.some((set) => contains(set, c)) ? 1 : 0,
    );
  }

  /**
   * Writes where each match in the text [start, end) starts and ends to `found`, from its index 0 on. Returns the
   * number of matches, or `UNKNOWN`.
   */
  findAll(bytes: Uint8Array, start: number, end: number, found: number[]): number {
    let count = 0;
    this.steps = 0;
    for (let from = start; from < end; ) {
      const matchEnd = this.findEnd(bytes, start, from, end);
      if (matchEnd === NONE) break;
      if (matchEnd === UNKNOWN) return UNKNOWN;
      const matchStart = this.findStart(bytes, start, from, matchEnd, end);
      if (matchStart === UNKNOWN) return UNKNOWN;
      found[2 * count] = matchStart;
      found[2 * count + 1] = matchEnd;
      count++;
      if (this.steps > MAX_STEPS_PER_BYTE * (end - start) + MIN_STEPS) return UNKNOWN;
      from = matchEnd;
    }
    return count;
  }

  /** The end of the first match that starts at `from` or later. */
  private findEnd(bytes: Uint8Array, start: number, from: number, end: number): number {
    const { ends, startsNothing } = this;
    const kinds = this.kinds.of;
    const { idleEnd } = ends;
    let { rows } = ends;
    let row = ends.rowAt(this.sideAt(bytes, start, from - 1, end));
    let matchEnd = NONE;
    let p = from;
    for (; p < end; p++) {
      if (row < idleEnd && startsNothing[bytes[p]!] === 1) {
        do p++;
        while (p < end && startsNothing[bytes[p]!] === 1);
        row = ends.rowAt(this.sideAt(bytes, start, p - 1, end));
        if (p === end) break;
      }
      const kind = kinds[bytes[p]!]!;
      let next = rows[row + kind]!;
      if (next < 0) {
        next = ends.extend(row, kind);
        if (next < 0) return UNKNOWN;
        rows = ends.rows;
      }
      row = next >> FLAG_BITS;
      if ((next & (MATCHED | OVER)) === 0) continue;
      if ((next & MATCHED) !== 0) matchEnd = p;
      if ((next & OVER) !== 0) break;
    }
    this.steps += p - from;
    if (p < end) return matchEnd;
    const last = ends.after(row, EDGE_KIND);
    if (last < 0) return UNKNOWN;
    return (last & MATCHED) !== 0 ? end : matchEnd;
  }

  /** The start of the longest match that ends at `matchEnd` and starts at `from` or later. */
  private findStart(bytes: Uint8Array, start: number, from: number, matchEnd: number, end: number): number {
    const { starts } = this;
    const kinds = this.kinds.of;
    let row = starts.rowAt(this.sideAt(bytes, start, matchEnd, end));
    let matchStart = UNKNOWN;
    let p = matchEnd - 1;
    for (; p >= from - 1; p--) {
      const kind = p < start ? EDGE_KIND : kinds[bytes[p]!]!;
      const next = starts.after(row, kind);
      if (next < 0) return UNKNOWN;
      row = next >> FLAG_BITS;
      if ((next & MATCHED) !== 0) matchStart = p + 1;
      if ((next & OVER) !== 0) break;
    }
    this.steps += matchEnd - p;
    return matchStart;
  }

  /** How assertions classify the byte at `p`. */
  private sideAt(bytes: Uint8Array, start: number, p: number, end: number): Side {
    return this.kinds.sides[p < start || p >= end ? EDGE_KIND : this.kinds.of[bytes[p]!]!]!;
  }
}

const NONE = -2;

/**
 * A match may be known only behind its end, and the next search begins at its end. A pattern that reads far ahead for
 * each of many matches is left to the other engine.
 */
const MAX_STEPS_PER_BYTE = 8;
const MIN_STEPS = 1024;

const MAX_ROWS = 1000;
/** After this many restarts the texts are too different for a table. */
const MAX_RESTARTS = 20;

/** Flags of the way to a row: a match ends before the byte that was read; no other match can follow. */
const MATCHED = 1;
const OVER = 2;
const FLAG_BITS = 2;

/** What is known after a byte. */
interface SearchState {
  /** The steps from which the next byte is read; those that RE2 prefers come first. */
  readonly threads: readonly number[];
  /** How assertions classify the byte. */
  readonly side: Side;
  readonly hasMatched: boolean;
}

/**
 * The rows of a search: for each kind of byte the next row with its flags, or -1 if it is not known yet. A table that
 * searches finds the match that RE2 prefers, from any start. Otherwise it finds all matches that begin where it begins.
 */
class MatchTable {
  rows: Int32Array;
  private readonly program: ByteProgram;
  private readonly kinds: ByteKinds;
  private readonly width: number;
  private readonly searches: boolean;
  private states: SearchState[] = [];
  private readonly known = new Map<string, number>();
  private restarts = 0;

  constructor(program: ByteProgram, kinds: ByteKinds, searches: boolean) {
    this.program = program;
    this.kinds = kinds;
    this.searches = searches;
    this.width = kinds.sides.length;
    this.rows = new Int32Array(this.width * 16);
    this.addFirstRows();
  }

  /** Where the rows end in which a search begins, and nothing has begun to match. */
  get idleEnd(): number {
    return SIDE_COUNT * this.width;
  }

  /** The row where a search begins next to such a byte. */
  rowAt(side: Side): number {
    return side * this.width;
  }

  /** The row behind this one with its flags, or -1 if this table cannot tell. */
  after(row: number, kind: number): number {
    const next = this.rows[row + kind]!;
    return next < 0 ? this.extend(row, kind) : next;
  }

  extend(row: number, kind: number): number {
    if (kind === BEYOND_KIND || this.restarts > MAX_RESTARTS) return -1;
    const here = this.states[row / this.width]!;
    const { program, searches } = this;
    const side = this.kinds.sides[kind]!;
    const holding = searches ? assertionsBetween(here.side, side) : assertionsBetween(side, here.side);
    const read = new ByteRead(program, kind, holding, searches);
    if (!here.threads.some((thread) => read.follow(thread)) && searches && !here.hasMatched) read.follow(program.start);
    const { threads, matched } = read;
    const hasMatched = here.hasMatched || matched;
    const isOver = threads.length === 0 && (!searches || hasMatched);
    const next = this.rowOf({ threads, side, hasMatched });
    const way = (next << FLAG_BITS) | (matched ? MATCHED : 0) | (isOver ? OVER : 0);
    if (this.states[row / this.width] === here) this.rows[row + kind] = way;
    return way;
  }

  private addFirstRows(): void {
    const threads = this.searches ? [] : [this.program.start];
    for (let side = 0; side < SIDE_COUNT; side++) this.addRow({ threads, side: side as Side, hasMatched: false });
  }

  private rowOf(state: SearchState): number {
    const known = this.known.get(keyOf(state));
    if (known !== undefined) return known;
    if (this.states.length >= MAX_ROWS) {
      this.restarts++;
      this.states = [];
      this.known.clear();
      this.addFirstRows();
    }
    return this.known.get(keyOf(state)) ?? this.addRow(state);
  }

  private addRow(state: SearchState): number {
    const { width } = this;
    const row = this.states.length * width;
    if (row + width > this.rows.length) {
      const rows = new Int32Array(this.rows.length * 2);
      rows.set(this.rows);
      this.rows = rows;
    }
    this.rows.fill(-1, row, row + width);
    this.states.push(state);
    this.known.set(keyOf(state), row);
    return row;
  }
}

function keyOf({ threads, side, hasMatched }: SearchState): string {
  return `${threads.join()} ${side} ${hasMatched}`;
}

/** All threads read one byte. */
class ByteRead {
  readonly threads: number[] = [];
  matched = false;
  private readonly seen = new Set<number>();
  private readonly steps: readonly ProgramStep[];
  private readonly kind: number;
  private readonly holding: number;
  private readonly stopsAtMatch: boolean;

  constructor({ steps }: ByteProgram, kind: number, holding: number, stopsAtMatch: boolean) {
    this.steps = steps;
    this.kind = kind;
    this.holding = holding;
    this.stopsAtMatch = stopsAtMatch;
  }

  /** Follows a thread. Returns whether it has matched before the byte, and what follows it does not count. */
  follow(index: number): boolean {
    if (this.seen.has(index)) return false;
    this.seen.add(index);
    const step = this.steps[index]!;
    switch (step.kind) {
      case "match":
        this.matched = true;
        return this.stopsAtMatch;
      case "assert":
        return (step.assertion & this.holding) !== 0 && this.follow(step.next);
      case "take":
        if (step.taken[this.kind] && !this.threads.includes(step.next)) this.threads.push(step.next);
        return false;
      case "split":
        return this.follow(step.first) || this.follow(step.second);
    }
  }
}
