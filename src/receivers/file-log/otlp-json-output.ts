import { batchFromJson } from "#otlp/json";
import {
  Batch,
  editRecords,
  limitedLog,
  type ReceiverContext,
  SIGNALS,
  type Signal,
  type Value,
} from "../../plugin.js";
import type { BatchSender } from "./batch-sender.js";
import type { RecordOutput } from "./file-reader.js";
import type { TrackedFile } from "./tracked-file.js";

/** How requests of each signal begin, as the Collector's file exporter writes them. */
const NAMES = { logs: '"resourceLogs"', traces: '"resourceSpans"', metrics: '"resourceMetrics"' } as const;

/**
 * Reads lines as requests of OTLP/JSON. Lines of the same signal are handed in together. Lines of signals without a
 * pipeline are skipped; those that are no requests are counted as refused and reported.
 */
export class OtlpJsonOutput implements RecordOutput {
  private readonly sender: BatchSender;
  private readonly logSkipped: (event: { readonly path: string; readonly reason: string }) => void;
  private readonly requests: readonly JoinedRequests[];
  private buffer = Buffer.alloc(0);
  private file!: TrackedFile;
  private attributes: readonly (readonly [string, Value])[] = [];

  constructor(sender: BatchSender, { clock, logger }: ReceiverContext) {
    this.sender = sender;
    this.logSkipped = limitedLog(clock, ({ path, reason }, suppressed) =>
      logger.warn({ path, reason, suppressed }, "a line is not OTLP/JSON and was skipped"),
    );
    this.requests = SIGNALS.filter((signal) => sender.takes(signal)).map((signal) => new JoinedRequests(signal));
  }

  get byteLength(): number {
    return this.requests.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  window(size: number): Buffer {
    if (this.buffer.length !== size) this.buffer = Buffer.allocUnsafeSlow(size);
    return this.buffer;
  }

  beginFile(file: TrackedFile): void {
    this.file = file;
    this.attributes = Object.entries(file.attributeValues) as [string, Value][];
  }

  endWindow(): void {}

  flushOld(): void {}

  takeText(bytes: Buffer, from: number, to: number): void {
    this.takeBytes(bytes.subarray(from, to));
  }

  takeBytes(line: Buffer): void {
    const signal = signalOf(line);
    if (signal !== undefined && !this.sender.takes(signal)) return;
    try {
      if (signal === undefined) throw new Error("it has none of resourceLogs, resourceSpans and resourceMetrics");
      const batch = batchFromJson(signal, line);
      if (batch.count > 0) this.requests.find((each) => each.signal === signal)!.add(this.withAttributes(batch));
    } catch (error) {
      this.sender.refuse(signal, 1);
      this.logSkipped({ path: this.file.path, reason: (error as Error).message });
    }
  }

  send(sender: BatchSender): Promise<void> {
    return sender.send(this.requests);
  }

  /** Data points keep their attributes: more of them would make other series. */
  private withAttributes(batch: Batch): Batch {
    const { attributes } = this;
    if (attributes.length === 0 || batch.signal === "metrics") return batch;
    return editRecords(batch, (record) => {
      for (const [key, value] of attributes) record.attributes.set(key, value);
    });
  }
}

/** Requests of one signal: one after the other, their bytes are one request. */
class JoinedRequests {
  readonly signal: Signal;
  count = 0;
  byteLength = 0;
  private parts: Uint8Array[] = [];

  constructor(signal: Signal) {
    this.signal = signal;
  }

  add({ bytes, count }: Batch): void {
    this.parts.push(bytes);
    this.count += count;
    this.byteLength += bytes.length;
  }

  finish(): Batch {
    const batch = Batch.trusted(this.signal, Buffer.concat(this.parts), this.count);
    this.parts = [];
    this.count = 0;
    this.byteLength = 0;
    return batch;
  }
}

/** The signal that a line names first. */
function signalOf(line: Buffer): Signal | undefined {
  let found: Signal | undefined;
  let first = Number.POSITIVE_INFINITY;
  for (const signal of SIGNALS) {
    const at = line.subarray(0, Math.min(line.length, first)).indexOf(NAMES[signal]);
    if (at < 0) continue;
    found = signal;
    first = at;
  }
  return found;
}
