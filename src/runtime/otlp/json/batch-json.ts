import { isUtf8 } from "node:buffer";
import { Batch } from "../batch.js";
import { REQUEST } from "../bytes/messages.js";
import { validUtf8 } from "../bytes/texts.js";
import { WireWriter } from "../bytes/writer.js";
import type { Signal } from "../signals/signal.js";
import { readJson, readJsonInSteps } from "./read-json.js";
import { writeJson, writeJsonInSteps } from "./write-json.js";
import { writeAscii } from "./write-text.js";

/**
 * Reads an OTLP/JSON request of at most `maxElements` messages; throws a `MalformedError` otherwise. 64-bit integers
 * are exact.
 */
export function batchFromJson(
  signal: Signal,
  json: string | Uint8Array,
  maxElements = Number.POSITIVE_INFINITY,
): Batch {
  const bytes = typeof json === "string" ? Buffer.from(json) : json;
  const out = bytes.length > SCRATCH_BYTES ? new WireWriter(bytes.length) : scratch;
  out.clear();
  return finished(signal, out, readJson(REQUEST[signal], bytes, out, maxElements));
}

/** The same for a request that may be large. Stops now and then between two records, unless it is small. */
export function* batchFromJsonInSteps(signal: Signal, json: Uint8Array, maxElements: number): Generator<void, Batch> {
  if (json.length <= SCRATCH_BYTES) return batchFromJson(signal, json, maxElements);
  const out = new WireWriter(json.length);
  return finished(signal, out, yield* readJsonInSteps(REQUEST[signal], json, out, maxElements));
}

function finished(signal: Signal, out: WireWriter, { count, isNormal }: { count: number; isNormal: boolean }): Batch {
  const wire = Buffer.from(out.written());
  return isNormal ? Batch.trusted(signal, wire, count) : Batch.admit(signal, wire);
}

/**
 * Wire bytes take a third of their JSON. They are written to this buffer first, so a batch holds no more memory than it
 * needs.
 */
const SCRATCH_BYTES = 256 * 1024;
const scratch = new WireWriter(SCRATCH_BYTES);

/** The batch as one line of OTLP/JSON. */
export function batchToJson(batch: Batch): string {
  const out = writeBatch(batch);
  return out.bytes.toString("utf8", 0, out.length);
}

/** The same in UTF-8, followed by `ending`. Invalid UTF-8 in texts becomes U+FFFD. */
export function batchToJsonBytes(batch: Batch, ending = ""): Buffer {
  const out = writeBatch(batch);
  const written = out.written();
  if (!isUtf8(written)) return Buffer.from(batchToJson(batch) + ending);
  const bytes = Buffer.allocUnsafeSlow(out.length + ending.length);
  bytes.set(written);
  bytes.write(ending, out.length, "latin1");
  return bytes;
}

/** The same for a batch that may be large. Stops now and then, unless it is small. */
export function* batchToJsonBytesInSteps(batch: Batch, ending = ""): Generator<void, Buffer> {
  const { bytes, signal } = batch;
  if (bytes.length * 3 <= KEPT_BYTES) return batchToJsonBytes(batch, ending);
  const out = new WireWriter(bytes.length * 3);
  yield* writeJsonInSteps(REQUEST[signal], bytes, out);
  writeAscii(ending, out);
  return yield* validUtf8(out.bytes.subarray(0, out.length));
}

function writeBatch({ bytes, signal }: Batch): WireWriter {
  const out = bytes.length * 3 > KEPT_BYTES ? new WireWriter(bytes.length * 3) : kept;
  out.clear();
  writeJson(REQUEST[signal], bytes, 0, bytes.length, out);
  if (out === kept && out.bytes.length > KEPT_BYTES) kept = new WireWriter(SCRATCH_BYTES);
  return out;
}

/** The JSON of batches up to this size reuses one buffer, because allocating fresh memory takes longer than writing. */
const KEPT_BYTES = 2 * 1024 * 1024;
let kept = new WireWriter(SCRATCH_BYTES);
