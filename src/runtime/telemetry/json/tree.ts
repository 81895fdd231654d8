import { Batch } from "../batch.js";
import { decodeMessage } from "../bytes/decode.js";
import { encodeMessage } from "../bytes/encode.js";
import { REQUEST } from "../bytes/messages.js";
import type { Signal } from "../bytes/signal.js";
import { WireWriter } from "../bytes/writer.js";

/**
 * Telemetry as plain objects, for those who need all of it: printing, OTLP/JSON, tests.
 *
 * Field names are OTLP/JSON's (lowerCamelCase). 64-bit integers are bigint, ids and bytes are Uint8Array, enums are
 * numbers, an AnyValue is `{ stringValue: ... }` and so on. A field that is not in the bytes is not in the object.
 * Unknown fields stay with their message under the `UNKNOWN_FIELDS` symbol, so encoding what was decoded gives back
 * all that was there.
 */
export type Tree = { [field: string]: TreeValue };
/** What a field of a tree may be. */
export type TreeValue = string | number | bigint | boolean | Uint8Array | Tree | TreeValue[];

/** The whole batch as plain objects, with the names of OTLP/JSON. */
export function decodeTree(batch: Batch): Tree {
  return decodeMessage(REQUEST[batch.signal], batch.bytes);
}

/**
 * The batch of such a tree. Throws a `MalformedError` that names the path of what does not fit.
 *
 * @example
 * const copy = (batch: Batch) => encodeTree(batch.signal, decodeTree(batch));
 */
export function encodeTree(signal: Signal, tree: Tree): Batch {
  const writer = new WireWriter(4096);
  encodeMessage(REQUEST[signal], tree, writer);
  return Batch.admit(signal, writer.written());
}
