import type { EntryHead } from "../../format/entry-value.js";
import { decodeFacts, encodeFacts } from "../../format/failure-facts.js";
import { frame, unframeBytes } from "../../format/frame.js";
import { RANGES, refOf } from "../../format/keys.js";
import type { LevelDb } from "../level-db.js";
import { scanRows } from "../reader.js";
import { hasLostFailure, withKnownFailure } from "./lost-failure.js";
import { PagedWriter } from "./recount.js";

/**
 * Repairs dead letters that an older version overwrote with an earlier update of their entry, and returns their number.
 * They get what is known about their failure, at this time, so that they are kept as long as new ones. Those with facts
 * are intact and are not decoded.
 */
export async function repairOverwritten(db: LevelDb, at: number): Promise<number> {
  const writer = new PagedWriter(db);
  let repaired = 0;
  for await (const page of scanRows(db, RANGES.failed, 0)) {
    for (const [key, value] of page) {
      const ref = refOf(key);
      const read = unframeBytes(RANGES.failed, ref, 0, value);
      if (read === undefined || decodeFacts(read.body) !== undefined) continue;
      const head = JSON.parse(read.head.toString()) as EntryHead;
      if (!hasLostFailure(head.entry)) continue;
      const entry = withKnownFailure(head.entry, at);
      writer.put(key, frame(RANGES.failed, ref, 0, { ...head, entry }, encodeFacts(entry)));
      repaired++;
    }
    await writer.flush();
  }
  return repaired;
}
