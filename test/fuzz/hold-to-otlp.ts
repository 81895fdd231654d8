import { Batch } from "../../src/plugin.js";
import { assert } from "./fuzz.js";

/** What is made of another format is OTLP that everybody takes. */
export function holdToOtlp(batch: Batch): void {
  const again = Batch.admit(batch.signal, Buffer.from(batch.bytes), Number.MAX_SAFE_INTEGER);
  assert(again.count === batch.count, "other records are counted than were written");
}
