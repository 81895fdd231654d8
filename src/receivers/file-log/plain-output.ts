import { encodeAttributes, LogBatchWriter, type LogMap } from "#logs/entries";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { BatchSender } from "./batch-sender.js";
import type { FileLogConfig } from "./config.js";
import type { RecordOutput } from "./file-reader.js";
import type { TrackedFile } from "./tracked-file.js";

/** Writes records as they are in the file: their bytes become the bytes of a request. */
export class PlainOutput implements RecordOutput {
  private readonly config: FileLogConfig;
  private readonly resource: Uint8Array;
  private writer: LogBatchWriter;
  private windowSize: number;
  private attributes: Uint8Array = NOTHING;
  private readonly isNumbered: boolean;

  constructor(config: FileLogConfig) {
    this.config = config;
    this.resource = encodeAttributes(config.resource, RESOURCE_ATTRIBUTES_TAG);
    this.isNumbered = config.include_file_record_number || config.include_file_record_offset;
    this.windowSize = MIN_WINDOW;
    this.writer = this.createWriter();
  }

  get byteLength(): number {
    return this.writer.byteLength;
  }

  window(size: number): Buffer {
    if (size !== this.windowSize && this.writer.count === 0) {
      this.windowSize = size;
      this.writer = this.createWriter();
    }
    // A window of another size is needed while records wait to be handed in: it lies outside the writer and costs one
    // more copy.
    return size <= this.windowSize ? this.writer.window.subarray(0, size) : Buffer.allocUnsafeSlow(size);
  }

  beginFile(file: TrackedFile, ms: number): void {
    this.attributes = file.attributes;
    this.writer.observedAt(ms);
  }

  endWindow(): void {}

  flushOld(): void {}

  takeText(bytes: Buffer, from: number, to: number, offset: number, number: number): void {
    this.writer.addText(bytes, from, to, this.isNumbered ? this.numbered(offset, number) : this.attributes);
  }

  takeBytes(bytes: Buffer, offset: number, number: number): void {
    this.writer.addBytes(bytes, this.isNumbered ? this.numbered(offset, number) : this.attributes);
  }

  send(sender: BatchSender): Promise<void> {
    return sender.send([this.writer]);
  }

  private numbered(offset: number, number: number): Uint8Array {
    const values: LogMap = {};
    if (this.config.include_file_record_number) values["log.file.record_number"] = BigInt(number);
    if (this.config.include_file_record_offset) values["log.file.record_offset"] = BigInt(offset);
    return Buffer.concat([this.attributes, encodeAttributes(values)]);
  }

  private createWriter(): LogBatchWriter {
    return new LogBatchWriter(this.resource, NOTHING, CAPACITY, this.windowSize);
  }
}

const NOTHING = new Uint8Array(0);
const MIN_WINDOW = 1024 * 1024;
/** Room for a batch that has not been handed in yet and for the records of one more window. */
const CAPACITY = 4 * 1024 * 1024;
