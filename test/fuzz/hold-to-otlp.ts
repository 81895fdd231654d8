import { Batch } from "../../src/plugin.js";
import { assert } from "./fuzz.js";

/** Checks that the result of a conversion is valid OTLP. */
export function holdToOtlp(batch: Batch): void {
  const again = Batch.admit(batch.signal, Buffer.from(batch.bytes), Number.MAX_SAFE_INTEGER);
  assert(again.count === batch.count, "other records are counted than were written");
}
