import { type WasmFunction, WasmSource } from "#otlp/bytes";
import type { Batch } from "../../../plugin.js";
import type { RewritePlan, RewritePlans } from "./rewrite-plans.js";
import {
  type Cleanness,
  INPUT_AT,
  LEVEL_BYTES,
  PLAN_BYTES,
  SLACK_BYTES,
  STACK_AT,
  STATE_AT,
  STATE_LEVEL,
  STATE_POSITION,
  TABLE_AT,
  unseenModule,
  unseenTable,
} from "./unseen-walk.js";

type Walk = WasmFunction<(cleanness: number) => number>;

const walks = new WasmSource<Walk["run"]>(unseenModule);

const MIN_BYTES = 1024 * 1024;
/** Larger batches are walked field by field, so that no memory of that size is kept for them. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Finds the fields of a batch that were not seen to be clean before, in this batch or an earlier one: telemetry repeats
 * itself. Handles one batch at a time: call `start`, then `next` until there are no more fields.
 */
export class UnseenFields {
  private readonly plans: readonly RewritePlan[];
  private readonly table: Uint32Array;
  private walk: Walk | undefined;
  private isFirst = true;
  private numbers: Int32Array = new Int32Array(0);
  /** Nesting depth of the field that `next` returned last; 0 for fields of the request itself. */
  depth = 0;

  constructor(plans: RewritePlans) {
    this.plans = [...plans.values()];
    this.table = unseenTable(plans);
  }

  /**
   * Copies the batch into memory that stays valid until the next `start`. Returns undefined if all fields must be
   * visited, as for the very first batch: the memory takes a millisecond to make, and some processors never see a
   * second batch.
   */
  start(batch: Batch, plan: RewritePlan): Uint8Array | undefined {
    const { byteLength } = batch;
    const walk = this.isFirst ? undefined : this.walkFor(INPUT_AT + byteLength + SLACK_BYTES);
    this.isFirst = false;
    if (walk === undefined) return undefined;
    let p = INPUT_AT;
    for (const chunk of batch.chunks) {
      walk.bytes.set(chunk, p);
      p += chunk.length;
    }
    const { numbers } = this;
    numbers.fill(0, STATE_AT >> 2, STACK_AT >> 2);
    numbers[STATE_POSITION] = INPUT_AT;
    numbers[STATE_LEVEL] = STACK_AT;
    numbers[STACK_AT >> 2] = p;
    numbers[(STACK_AT >> 2) + 1] = TABLE_AT + plan.number * PLAN_BYTES;
    return Buffer.from(walk.bytes.buffer, INPUT_AT, byteLength);
  }

  /** Returns the position of the next field to visit, or -1. `cleanness` is what the visitor said about the one before. */
  next(cleanness: Cleanness): number {
    const at = this.walk!.run(cleanness);
    this.depth = (this.numbers[STATE_LEVEL]! - STACK_AT) / LEVEL_BYTES;
    return at;
  }

  /** Returns the plan of the message at this depth around the field. */
  planAt(depth: number): RewritePlan {
    return this.plans[(this.level(depth, 1) - TABLE_AT) / PLAN_BYTES]!;
  }

  startAt(depth: number): number {
    return this.level(depth, 2) - INPUT_AT;
  }

  endAt(depth: number): number {
    return this.level(depth, 0) - INPUT_AT;
  }

  /** Returns how many bytes the length of the message at this depth takes. */
  lengthRoomAt(depth: number): number {
    return this.level(depth, 3);
  }

  private level(depth: number, what: number): number {
    return this.numbers[((STACK_AT + depth * LEVEL_BYTES) >> 2) + what]!;
  }

  private walkFor(needed: number): Walk | undefined {
    if (this.walk !== undefined && needed <= this.walk.bytes.length) return this.walk;
    if (needed > MAX_BYTES) return undefined;
    const walk = walks.create(Math.max(MIN_BYTES, 2 ** Math.ceil(Math.log2(needed))), TABLE_AT, this.table);
    if (walk === undefined) return undefined;
    this.walk = walk;
    this.numbers = new Int32Array(walk.bytes.buffer);
    return walk;
  }
}
