import { Batch } from "./batch.js";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "./walk.js";

/**
 * Two batches of one: the records whose mark is 0, and the others. `marks` has one for each record, in order. What
 * surrounds a record is in both if both have records of it. A part that gets all records is the batch itself.
 */
export function partition(batch: Batch, marks: Uint8Array): { readonly unmarked: Batch; readonly marked: Batch } {
  return { unmarked: without(batch, marks, true), marked: without(batch, marks, false) };
}

function without(batch: Batch, marks: Uint8Array, dropsMarked: boolean): Batch {
  const rest = new RecordWalk(batch).run(new ByMark(marks, dropsMarked));
  return rest.count === 0 ? Batch.empty(batch.signal) : rest;
}

class ByMark implements RecordVisitor {
  private readonly marks: Uint8Array;
  private readonly dropsMarked: boolean;
  private index = 0;

  constructor(marks: Uint8Array, dropsMarked: boolean) {
    this.marks = marks;
    this.dropsMarked = dropsMarked;
  }

  visit(): Verdict {
    return (this.marks[this.index++] !== 0) === this.dropsMarked ? DROP : KEEP;
  }
}
