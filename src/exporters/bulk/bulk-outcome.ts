import type { Refusal } from "../../plugin.js";
import { chooseRefusal, copyRefusal } from "../../runtime/kit.js";

const MAX_SHARES = 65_535;

/**
 * What became of each record of a batch that was sent as documents. Records that were refused for one reason are a share: the
 * queue sends each share again alone, and what was taken is not sent again.
 */
export class BulkOutcome {
  private readonly marks: Uint16Array;
  private readonly shares = new Map<string, { readonly mark: number; readonly refusal: Refusal }>();

  constructor(recordCount: number) {
    this.marks = new Uint16Array(recordCount);
  }

  /** Notes why records were not taken; `reason` is the same for those that were refused alike. */
  refused(records: readonly number[], reason: string, refusal: Refusal): void {
    let share = this.shares.get(reason);
    if (share === undefined) {
      share = { mark: Math.min(this.shares.size + 1, MAX_SHARES), refusal };
      this.shares.set(reason, share);
    }
    for (const record of records) this.marks[record] = share.mark;
  }

  /** The refusal of the batch; undefined when all was taken. One reason for all of it is the batch's own. */
  refusal(): Refusal | undefined {
    const refusals = [...this.shares.values()].map(({ refusal }) => refusal);
    if (refusals.length === 0) return undefined;
    const chosen = refusals.reduce(chooseRefusal);
    if (refusals.length === 1 && this.marks.every((mark) => mark === 1)) return chosen;
    const kind = chosen.kind === "permanent" ? "transient" : chosen.kind;
    return copyRefusal(chosen, { kind, undelivered: { marks: this.marks, isOutage: false } });
  }
}
