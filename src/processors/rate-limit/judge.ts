import { KEEP, type RecordReader, type RecordVisitor, type RecordWalk, type Verdict } from "#otlp/views";
import type { Allowance } from "./allowance.js";
import type { RecordKeys } from "./record-key.js";

/** The decision about each record of a batch. */
export interface Judgement {
  /** One mark per record, 1 if it is over a limit; undefined if none is. */
  readonly marks: Uint8Array | undefined;
  readonly overKey: number;
  readonly overGlobal: number;
  /** Records counted by the overflow, the allowance that keys without one of their own share. */
  readonly overflowed: number;
  readonly bypassed: number;
}

interface JudgeInput {
  readonly count: number;
  readonly reader: RecordReader;
  readonly keys: RecordKeys;
  readonly bypass: ((start: number, end: number) => boolean) | undefined;
  readonly global: Allowance | undefined;
  /** Returns the key's allowance, prepared for this batch. */
  readonly find: (key: string) => Allowance;
}

/** Lets each record pass if both its key and the global limit have room left in this batch. */
export class Judge implements RecordVisitor, Judgement {
  marks: Uint8Array | undefined;
  overKey = 0;
  overGlobal = 0;
  overflowed = 0;
  bypassed = 0;
  private readonly input: JudgeInput;
  private readonly bypass: JudgeInput["bypass"];
  private readonly global: Allowance | undefined;
  private index = 0;
  private lastKey: string | undefined;
  private lastAllowance: Allowance | undefined;

  constructor(input: JudgeInput) {
    this.input = input;
    this.bypass = input.bypass;
    this.global = input.global;
  }

  visit(_walk: RecordWalk, start: number, end: number): Verdict {
    const index = this.index++;
    if (this.bypass?.(start, end)) {
      this.bypassed++;
      return KEEP;
    }
    this.input.reader.moveTo(start, end);
    const key = this.input.keys.currentKey();
    if (this.lastAllowance === undefined || key !== this.lastKey) {
      this.lastAllowance = this.input.find(key);
      this.lastKey = key;
    }
    this.decide(this.lastAllowance, index);
    return KEEP;
  }

  private decide(allowance: Allowance, index: number): void {
    const { global } = this;
    allowance.asked++;
    if (allowance.isShared) this.overflowed++;
    if (global !== undefined) global.asked++;
    if (allowance.taken >= allowance.room) this.overKey++;
    else if (global !== undefined && global.taken >= global.room) this.overGlobal++;
    else {
      allowance.taken++;
      if (global !== undefined) global.taken++;
      return;
    }
    this.marks ??= new Uint8Array(this.input.count);
    this.marks[index] = 1;
  }
}
