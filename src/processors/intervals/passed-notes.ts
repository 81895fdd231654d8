import type { JournalNotes } from "#contract/operators";
import type { Batch } from "../../plugin.js";

/**
 * Notes in the journal about deliveries that were accepted in part while the rest still waits. A delivery that
 * is read again after a crash has only the waiting part to offer.
 */
export class PassedNotes {
  private readonly journal: JournalNotes;
  private readonly positions = new Set<number>();

  /** `waitingPart` returns the part of a delivery's batch that waits; undefined if there is none. */
  constructor(journal: JournalNotes, waitingPart: (batch: Batch) => Batch | undefined) {
    this.journal = journal;
    for (const { bytes } of journal.read()) {
      const position = bytes.length === SIZE ? viewOf(bytes).getFloat64(0, true) : -1;
      if (position >= journal.firstPosition) this.positions.add(position);
    }
    journal.setSettlement({
      remaining: (position, batch) => (this.has(position) ? (waitingPart(batch) ?? batch) : batch),
      ended: (position) => void this.positions.delete(position),
    });
  }

  has(position: number): boolean {
    return this.positions.has(position);
  }

  /** Notes that the rest of this delivery was accepted. */
  add(position: number): void {
    this.positions.add(position);
    const note = new Uint8Array(SIZE);
    viewOf(note).setFloat64(0, position, true);
    this.journal.write(note);
  }
}

const SIZE = 8;

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
