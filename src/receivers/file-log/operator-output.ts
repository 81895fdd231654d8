import type { BuiltInReceiverContext } from "#contract/built-in";
import { type EntrySeverity, EntryTemplate, type EntryTime, isPlainJsonParser, OperatorChain } from "#logs";
import { encodeAttributes, encodeScopeName, LogBatchWriter, LogEntry, type LogMap, writeEntry } from "#logs/entries";
import type { WireWriter } from "#otlp/bytes";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import type { BatchSender } from "./batch-sender.js";
import type { FileLogConfig } from "./config.js";
import { FILE_ATTRIBUTES } from "./file-attributes.js";
import type { RecordOutput } from "./file-reader.js";
import { JsonAttributes } from "./json-attributes.js";
import type { FileMark } from "./offset-store.js";
import type { TrackedFile } from "./tracked-file.js";

/** Where the record of an entry starts in its file. */
interface EntryOrigin {
  readonly file: TrackedFile;
  readonly mark: FileMark;
}

/** Turns records into entries, passes them through operators and writes what the operators emit. */
export class OperatorOutput implements RecordOutput {
  private readonly config: FileLogConfig;
  private readonly maxRecordSize: number;
  private readonly chain: OperatorChain;
  private readonly writers = new Map<string, LogBatchWriter>();
  private readonly resource: LogMap;
  private readonly isNumbered: boolean;
  /** Set if the only operator is a plain json_parser. */
  private readonly json: JsonAttributes | undefined;
  private time: EntryTime | undefined;
  private severity: EntrySeverity | undefined;
  private readonly templates: readonly (readonly ["attributes" | "resource", string, EntryTemplate])[];
  private buffer = Buffer.alloc(0);
  private file!: TrackedFile;
  private values: LogMap = {};
  private ms = 0;
  private size = 0;
  /** Files with entries that an operator holds. */
  private readonly heldFiles = new Set<TrackedFile>();

  constructor(config: FileLogConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.maxRecordSize = context.maxRecordSize ?? Number.POSITIVE_INFINITY;
    this.chain = new OperatorChain(config.operators, context, (entry) => this.write(entry));
    this.isNumbered = config.include_file_record_number || config.include_file_record_offset;
    const isTemplate = ([, text]: [string, string]) => text.includes("EXPR(");
    this.resource = Object.fromEntries(Object.entries(config.resource).filter((each) => !isTemplate(each)));
    this.templates = (["attributes", "resource"] as const).flatMap((part) =>
      Object.entries(config[part])
        .filter(isTemplate)
        .map(([name, text]) => [part, name, new EntryTemplate(text)] as const),
    );
    this.json = this.jsonAttributes();
  }

  /** This is possible because the other attributes are known in advance: the ones in the config and `log.file.*`. */
  private jsonAttributes(): JsonAttributes | undefined {
    const { operators, attributes } = this.config;
    const [only] = operators;
    if (operators.length !== 1 || only?.type !== "json_parser" || this.isNumbered || this.templates.length > 0)
      return undefined;
    if (!isPlainJsonParser(only)) return undefined;
    this.time = only.timestamp;
    this.severity = only.severity;
    const noted = [this.time?.attribute ?? "", this.severity?.attribute ?? ""];
    return new JsonAttributes([...Object.keys(attributes), ...FILE_ATTRIBUTES], noted);
  }

  get byteLength(): number {
    return this.size;
  }

  window(size: number): Buffer {
    if (this.json !== undefined && size === WINDOW) return this.writerFor("", this.resource, "").window;
    if (this.buffer.length !== size) this.buffer = Buffer.allocUnsafeSlow(size);
    return this.buffer;
  }

  beginFile(file: TrackedFile, ms: number): void {
    this.file = file;
    this.values = file.attributeValues;
    this.ms = ms;
    for (const writer of this.writers.values()) writer.observedAt(ms);
  }

  endWindow(sender: BatchSender): void {
    this.noteHeld(sender);
  }

  takeText(bytes: Buffer, from: number, to: number, offset: number, number: number): void {
    if (this.json !== undefined && this.writeJson(this.json, bytes, from, to)) return;
    this.take(bytes.toString("utf8", from, to), offset, number);
  }

  takeBytes(bytes: Buffer, offset: number, number: number): void {
    this.take(Buffer.from(bytes).toString("latin1"), offset, number, Buffer.from(bytes));
  }

  flushOld(sender: BatchSender, ms: number): void {
    if (!this.chain.canHold) return;
    this.ms = ms;
    for (const writer of this.writers.values()) writer.observedAt(ms);
    this.chain.flushOld();
    this.noteHeld(sender);
  }

  async send(sender: BatchSender): Promise<void> {
    const writers = [...this.writers.values()];
    this.size = 0;
    if (this.writers.size > MAX_WRITERS) this.writers.clear(); // the entries in these writers are still sent
    await sender.send(writers);
  }

  /**
   * Writes a line of JSON whose members become attributes without making an entry. Returns false if the line needs one.
   */
  private writeJson(json: JsonAttributes, bytes: Buffer, from: number, to: number): boolean {
    const { attributes } = this.file;
    const writer = this.writerFor("", this.resource, "");
    const before = writer.byteLength;
    const isWritten = writer.tryAdd(bytes, from, to, (wire) => {
      if (!json.write(wire, bytes, from, to) || !this.writeTimeAndSeverity(wire, json, bytes)) return false;
      wire.copy(attributes, 0, attributes.length);
      return wire.length - before <= this.maxRecordSize;
    });
    this.size += writer.byteLength - before;
    return isWritten;
  }

  /** Writes time and severity if the config wants them. Returns false if a value needs the general path. */
  private writeTimeAndSeverity(wire: WireWriter, { notedStarts, notedEnds }: JsonAttributes, bytes: Buffer): boolean {
    const { time, severity } = this;
    if (time !== undefined && (notedStarts[0]! < 0 || !time.write(wire, bytes, notedStarts[0]!, notedEnds[0]!)))
      return false;
    if (severity === undefined) return true;
    if (notedStarts[1]! < 0) return false;
    severity.write(wire, bytes, notedStarts[1]!, notedEnds[1]!);
    return true;
  }

  private take(body: string, offset: number, number: number, bytes?: Uint8Array): void {
    const attributes: LogMap = { ...this.values };
    if (this.isNumbered) {
      if (this.config.include_file_record_number) attributes["log.file.record_number"] = BigInt(number);
      if (this.config.include_file_record_offset) attributes["log.file.record_offset"] = BigInt(offset);
    }
    const origin: EntryOrigin | undefined = this.chain.canHold
      ? { file: this.file, mark: { offset, records: number - 1, isSkipping: false } }
      : undefined;
    const entry = new LogEntry(bytes ?? body, attributes, this.resource, origin);
    for (const [part, name, value] of this.templates) {
      if (part === "attributes") attributes[name] = value.text(entry);
      else entry.ownResource()[name] = value.text(entry);
    }
    this.chain.process(entry);
  }

  private write(entry: LogEntry): void {
    const writer = this.writerOf(entry);
    const before = writer.byteLength;
    writer.add(typeof entry.body === "string" ? entry.body.length + 200 : 400, (wire) => writeEntry(wire, entry));
    this.size += writer.byteLength - before;
  }

  private writerOf(entry: LogEntry): LogBatchWriter {
    const { resource, scopeName } = entry;
    const key = resource === this.resource && scopeName === "" ? "" : `${scopeName}\n${resourceKey(resource)}`;
    return this.writerFor(key, resource, scopeName);
  }

  private writerFor(key: string, resource: LogMap, scopeName: string): LogBatchWriter {
    let writer = this.writers.get(key);
    if (writer === undefined) {
      const scope = scopeName === "" ? new Uint8Array(0) : encodeScopeName(scopeName);
      const window = key === "" && this.json !== undefined ? WINDOW : 0;
      const encoded = encodeAttributes(resource, RESOURCE_ATTRIBUTES_TAG);
      writer = new LogBatchWriter(encoded, scope, key === "" ? CAPACITY : 4096, window);
      writer.observedAt(this.ms);
      this.writers.set(key, writer);
    }
    return writer;
  }

  /**
   * A file must be read again from the first record that an operator holds. Records that were held and no longer are,
   * of any file, travel with the next batch.
   */
  private noteHeld(sender: BatchSender): void {
    if (!this.chain.canHold) return;
    for (const file of this.heldFiles) {
      sender.note(file);
      file.held = undefined;
    }
    this.heldFiles.clear();
    for (const { origin } of this.chain.heldEntries()) {
      const { file, mark } = origin as EntryOrigin;
      if (file.held === undefined || mark.offset < file.held.offset) file.held = mark;
      this.heldFiles.add(file);
    }
  }
}

const CAPACITY = 4 * 1024 * 1024;
/**
 * The usual read size (longer records need more). The window is part of the writer's own memory, which saves a copy.
 */
const WINDOW = 1024 * 1024;
/** Above this number of resources all writers are discarded and created again as needed. */
const MAX_WRITERS = 1000;

function resourceKey(resource: LogMap): string {
  return JSON.stringify(resource, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}
