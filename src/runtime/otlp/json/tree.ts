import { Batch } from "../batch.js";
import { decodeMessage, type Tree } from "../bytes/decode.js";
import { encodeMessage } from "../bytes/encode.js";
import { REQUEST } from "../bytes/messages.js";
import { WireWriter } from "../bytes/writer.js";
import type { Signal } from "../signals/signal.js";

export type { Tree, TreeValue } from "../bytes/decode.js";

/** The batch as plain objects, with the names of OTLP/JSON. */
export function decodeTree(batch: Batch): Tree {
  return decodeMessage(REQUEST[batch.signal], batch.bytes);
}

/**
 * Makes a batch from such a tree. Throws a `MalformedError` that names the path of the invalid part.
 *
 * @example
 * const copy = (batch: Batch) => encodeTree(batch.signal, decodeTree(batch));
 */
export function encodeTree(signal: Signal, tree: Tree): Batch {
  const writer = new WireWriter(4096);
  encodeMessage(REQUEST[signal], tree, writer);
  return Batch.admit(signal, writer.written());
}
