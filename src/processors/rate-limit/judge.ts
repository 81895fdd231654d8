import { KEEP, type RecordReader, type RecordVisitor, type RecordWalk, type Verdict } from "../../plugin.js";
import type { Allowance } from "./allowance.js";
import type { RecordKeys } from "./record-key.js";

/** What the limits say of a batch. */
export interface Judgement {
  /** One mark a record, 1 for those over a limit; undefined when there are none. */
  readonly marks: Uint8Array | undefined;
  readonly overKey: number;
  readonly overGlobal: number;
  /** Counted by the allowance that keys without one of their own share. */
  readonly overflowed: number;
  readonly bypassed: number;
}

/** One batch before the limits. */
export interface Turn {
  readonly count: number;
  readonly reader: RecordReader;
  readonly keys: RecordKeys;
  readonly bypass: ((start: number, end: number) => boolean) | undefined;
  readonly global: Allowance | undefined;
  /** The key's allowance, opened for this turn. */
  readonly find: (key: string) => Allowance;
}

/** Lets each record pass if its key and everyone together have room left in this turn. */
export class Judge implements RecordVisitor, Judgement {
  marks: Uint8Array | undefined;
  overKey = 0;
  overGlobal = 0;
  overflowed = 0;
  bypassed = 0;
  private readonly turn: Turn;
  private readonly bypass: Turn["bypass"];
  private readonly global: Allowance | undefined;
  private index = 0;
  private lastKey: string | undefined;
  private last: Allowance | undefined;

  constructor(turn: Turn) {
    this.turn = turn;
    this.bypass = turn.bypass;
    this.global = turn.global;
  }

  visit(_walk: RecordWalk, start: number, end: number): Verdict {
    const index = this.index++;
    if (this.bypass?.(start, end)) {
      this.bypassed++;
      return KEEP;
    }
    this.turn.reader.meet(start, end);
    const key = this.turn.keys.key();
    if (this.last === undefined || key !== this.lastKey) {
      this.last = this.turn.find(key);
      this.lastKey = key;
    }
    this.decide(this.last, index);
    return KEEP;
  }

  private decide(own: Allowance, index: number): void {
    const { global } = this;
    own.asked++;
    if (own.isShared) this.overflowed++;
    if (global !== undefined) global.asked++;
    if (own.taken >= own.room) this.overKey++;
    else if (global !== undefined && global.taken >= global.room) this.overGlobal++;
    else {
      own.taken++;
      if (global !== undefined) global.taken++;
      return;
    }
    this.marks ??= new Uint8Array(this.turn.count);
    this.marks[index] = 1;
  }
}
