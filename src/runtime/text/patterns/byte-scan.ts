import type { Automaton } from "./automaton.js";
import { contains, highest } from "./char-set.js";

/** The number of patterns that one scan distinguishes; any further pattern counts as possibly matching. */
const MAX_PATTERNS = 30;
const MAX_STATES = 1000;
/** After this many restarts the texts are too different for a table. */
const MAX_RESETS = 20;

/** Skipping fewer bytes at once costs more than it saves; after so many of them, a scan no longer skips. */
const USEFUL_SKIP = 8;
const MAX_SHORT_SKIPS = 100;

/** Kinds of bytes other than ASCII: the first byte of a longer character, and a byte inside it. */
const LEAD = 0;
const INSIDE = 1;

/** Replaces the patterns found in a row: nothing can match any more. */
const DEAD = -1;

interface NfaState {
  readonly follow: readonly number[];
  /** Whether the state accepts each kind of byte. */
  readonly taken: readonly boolean[];
  readonly isLast: boolean;
  /** The bit of its pattern. */
  readonly bit: number;
  readonly endsAtEnd: boolean;
}

/**
 * Tells from the bytes of a text, before it is decoded, which of several patterns may match in it: all of them in one
 * pass, with one table lookup per byte. The table is built as texts need it. A matching pattern is always reported; a
 * reported pattern may not match, because assertions are assumed to hold and characters beyond ASCII are not
 * distinguished.
 */
export class ByteScan {
  /** A bit for each pattern. */
  private readonly all: number;
  /** Patterns that match everywhere or cannot be analysed. */
  private readonly always: number;
  private readonly states: NfaState[] = [];
  private readonly starts: number[] = [];
  private readonly onlyStarts: number[] = [];
  private readonly kinds = new Uint8Array(256);
  /**
   * A row for each set of states: the next row for each kind of byte, then the patterns found in it, and those found at
   * the end.
   */
  private rows: Int32Array;
  private readonly width: number;
  private sets: (readonly number[])[] = [];
  private readonly known = new Map<string, number>();
  private resets = 0;
  /** The row in which no pattern has begun to match; -1 until there is one. Most of a text is passed in it. */
  private idleRow = -1;
  /** 1 for bytes that lead from the idle row back to it. */
  private readonly staysIdle = new Uint8Array(256);

  constructor(patterns: readonly { readonly automaton: Automaton | undefined }[]) {
    const isTooMany = patterns.length > MAX_PATTERNS;
    this.all = isTooMany ? -1 : 2 ** patterns.length - 1;
    const automata = isTooMany ? [] : patterns.map(({ automaton }) => automaton);
    const samples = this.assignKinds(automata);
    let always = isTooMany ? -1 : 0;
    automata.forEach((automaton, i) => {
      if (automaton === undefined || automaton.isNullable) always |= 1 << i;
      else this.addAutomaton(automaton, 1 << i, samples);
    });
    this.always = always;
    this.width = samples.length + 4;
    this.rows = new Int32Array(this.width * 16);
    this.addRow([]);
  }

  /** A bit for each pattern that may match in the text [start, end), lowest for the first pattern. */
  scan(bytes: Uint8Array, start: number, end: number): number {
    if (this.always === this.all) return this.all;
    const { kinds, width, staysIdle } = this;
    let { rows, idleRow } = this;
    let row = 0;
    let shortSkips = 0;
    let found = this.always;
    for (let p = start; p < end; p++) {
      const kind = kinds[bytes[p]!]!;
      let next = rows[row + kind]!;
      if (next < 0) {
        next = this.extend(row / width, kind);
        if (next < 0) return this.all;
        rows = this.rows;
        if (shortSkips <= MAX_SHORT_SKIPS) idleRow = this.idleRow;
      }
      row = next;
      if (row === idleRow) {
        const before = p;
        while (p + 1 < end && staysIdle[bytes[p + 1]!] === 1) p++;
        if (p - before < USEFUL_SKIP && ++shortSkips > MAX_SHORT_SKIPS) idleRow = -1;
        continue;
      }
      const hit = rows[row + width - 2]!;
      if (hit === 0) continue;
      if (hit === DEAD) return found;
      found |= hit;
      if (found === this.all) return found;
    }
    return found | rows[row + width - 1]!;
  }

  /** Gives bytes that no pattern distinguishes the same kind; returns a byte of each kind. */
  private assignKinds(automata: readonly (Automaton | undefined)[]): number[] {
    const sets = automata.flatMap((automaton) => automaton?.sets ?? []);
    const samples: number[] = [];
    const kinds = new Map<string, number>();
    for (let c = 0; c < 128; c++) {
      const key = sets.map((set) => (contains(set, c) ? "1" : "0")).join("");
      let kind = kinds.get(key);
      if (kind === undefined) {
        kind = samples.push(c) + 1;
        kinds.set(key, kind);
      }
      this.kinds[c] = kind;
    }
    this.kinds.fill(INSIDE, 128, 192);
    this.kinds.fill(LEAD, 192);
    return samples;
  }

  private addAutomaton(automaton: Automaton, bit: number, samples: readonly number[]): void {
    const { sets, first, follow, last, startsAtStart, endsAtEnd } = automaton;
    const offset = this.states.length;
    const moved = (ways: ReadonlyMap<number, number>) => [...ways.keys()].map((state) => state + offset);
    sets.forEach((set, i) => {
      const isBeyond = highest(set) > 127;
      const taken = [isBeyond, isBeyond, ...samples.map((c) => contains(set, c))];
      this.states.push({ follow: moved(follow[i]!), taken, isLast: last.has(i), bit, endsAtEnd });
    });
    (startsAtStart ? this.onlyStarts : this.starts).push(...moved(first));
  }

  /** The row after this one, or -1 if the table is abandoned. */
  private extend(index: number, kind: number): number {
    const here = this.sets[index]!;
    const isStart = index === 0;
    const reached = new Set<number>();
    const take = (states: readonly number[]) => {
      for (const state of states) if (this.states[state]!.taken[kind]) reached.add(state);
    };
    take(this.starts);
    if (isStart) take(this.onlyStarts);
    for (const state of here) take(this.states[state]!.follow);
    // A byte inside a character adds nothing to it, but a misplaced one is its own character.
    if (kind === INSIDE) for (const state of here) reached.add(state);
    const next = [...reached].sort((a, b) => a - b);
    const known = this.known.get(next.join());
    if (known !== undefined || this.sets.length < MAX_STATES) {
      const row = known ?? this.addRow(next);
      this.rows[index * this.width + kind] = row;
      if (row === this.idleRow && index * this.width === row) this.markIdle(kind);
      return row;
    }
    if (++this.resets > MAX_RESETS) return -1;
    this.sets = [];
    this.known.clear();
    this.idleRow = -1;
    this.staysIdle.fill(0);
    this.addRow([]);
    return this.addRow(next);
  }

  private markIdle(kind: number): void {
    for (let byte = 0; byte < 256; byte++) if (this.kinds[byte] === kind) this.staysIdle[byte] = 1;
  }

  private addRow(set: readonly number[]): number {
    const { width } = this;
    const row = this.sets.length * width;
    if (row + width > this.rows.length) {
      const rows = new Int32Array(this.rows.length * 2);
      rows.set(this.rows);
      this.rows = rows;
    }
    this.rows.fill(-1, row, row + width);
    let found = 0;
    let foundAtEnd = 0;
    for (const state of set) {
      const { isLast, bit, endsAtEnd } = this.states[state]!;
      if (isLast && endsAtEnd) foundAtEnd |= bit;
      else if (isLast) found |= bit;
    }
    const isDead = row > 0 && set.length === 0 && this.starts.length === 0;
    this.rows[row + width - 2] = isDead ? DEAD : found;
    this.rows[row + width - 1] = foundAtEnd;
    // The first row is the start of a text, and no other row leads back to it.
    if (this.sets.push(set) > 1) this.known.set(set.join(), row);
    if (row > 0 && set.length === 0 && !isDead) this.idleRow = row;
    return row;
  }
}
