import type { BuiltInReceiverContext } from "#contract/built-in";
import { EntryTemplate, OperatorChain, type OperatorConfig, SyslogRecords } from "#logs";
import { encodeAttributes, encodeScopeName, LogBatchWriter, LogEntry, type LogMap, writeEntry } from "#logs/entries";
import type { WireWriter } from "#otlp/bytes";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { BatchIntake } from "#receiving";

export interface EntryOutputSettings {
  readonly operators: readonly OperatorConfig[];
  readonly attributes: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly transport: "tcp" | "udp";
}

/** Records are handed in together after this time or at this size. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 1024 * 1024;
/** With more bytes than this in memory, TCP senders wait and UDP packets are dropped. */
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_WRITERS = 1000;

/**
 * Passes texts from the network through operators and hands them in as batches. Senders never learn the outcome:
 * batches refused for now are retried until they are taken, and meanwhile `isFull` limits how much is read.
 */
export class EntryOutput {
  private readonly settings: EntryOutputSettings;
  private readonly context: BuiltInReceiverContext;
  private readonly chain: OperatorChain;
  private readonly resource: LogMap;
  private readonly attributes: LogMap;
  /** If nothing is to be done but to parse messages of this form. */
  private readonly syslog: SyslogRecords | undefined;
  private readonly templates: readonly (readonly ["attributes" | "resource", string, EntryTemplate])[];
  private readonly writers = new Map<string, LogBatchWriter>();
  private readonly intake: BatchIntake;
  private readonly onRoom: () => void;
  private pending = 0;
  private written = 0;
  private cancelFlush: (() => void) | undefined;

  constructor(settings: EntryOutputSettings, context: BuiltInReceiverContext, onRoom: () => void) {
    this.settings = settings;
    this.context = context;
    this.onRoom = onRoom;
    this.chain = new OperatorChain(settings.operators, context, (entry) => this.writeEntry(entry));
    const isTemplate = (text: string) => text.includes("EXPR(");
    this.resource = Object.fromEntries(Object.entries(settings.resource).filter(([, text]) => !isTemplate(text)));
    this.templates = (["attributes", "resource"] as const).flatMap((part) =>
      Object.entries(settings[part])
        .filter(([, text]) => isTemplate(text))
        .map(([name, text]) => [part, name, new EntryTemplate(text)] as const),
    );
    this.attributes = Object.fromEntries(Object.entries(settings.attributes).filter(([, text]) => !isTemplate(text)));
    if (
      SyslogRecords.suit(settings.operators) &&
      Object.keys(settings.attributes).length + this.templates.length === 0
    ) {
      const resourceSize = 100 * Object.keys(this.resource).length + 4 * JSON.stringify(this.resource).length;
      this.syslog = new SyslogRecords(context.maxRecordSize ?? Number.POSITIVE_INFINITY, resourceSize);
    }
    this.intake = new BatchIntake({ signal: "logs", transport: settings.transport }, context);
  }

  /** Whether reading should stop for now. */
  get isFull(): boolean {
    return this.pending + this.written > MAX_BYTES;
  }

  /** Takes the text [from, to). `peer` is undefined if the sender is not told apart. */
  takeText(bytes: Buffer, from: number, to: number, peer: LogMap | undefined): void {
    if (peer !== undefined || this.syslog?.read(bytes, from, to) !== true)
      return this.take(bytes.toString("utf8", from, to), peer);
    this.write(this.writerOf(this.resource, ""), to - from + 300, this.syslog.write);
    this.flushInTime();
  }

  take(body: string | Uint8Array, peer: LogMap | undefined): void {
    const entry = new LogEntry(body, { ...this.attributes, ...peer }, this.resource, undefined);
    for (const [part, name, value] of this.templates) {
      if (part === "attributes") entry.attributes[name] = value.text(entry);
      else entry.ownResource()[name] = value.text(entry);
    }
    this.chain.process(entry);
    this.flushInTime();
  }

  private flushInTime(): void {
    if (this.written > FLUSH_BYTES) this.flush();
    else this.flushSoon();
  }

  /** Hands in everything and waits for the outcomes. Logs what cannot be taken while the agent stops. */
  async stop(): Promise<void> {
    this.cancelFlush?.();
    this.cancelFlush = undefined;
    this.flush();
    await this.intake.stop();
  }

  private flushSoon(): void {
    this.cancelFlush ??= this.context.clock.after(FLUSH_MS, () => {
      this.cancelFlush = undefined;
      this.chain.flushOld();
      this.flush();
      if (this.chain.canHold && [...this.chain.heldEntries()].length > 0) this.flushSoon();
    });
  }

  private flush(): void {
    const writers = [...this.writers.values()].filter(({ count }) => count > 0);
    if (this.writers.size > MAX_WRITERS) this.writers.clear();
    this.written = 0;
    for (const writer of writers) {
      const batch = writer.finish();
      this.pending += batch.byteLength;
      const { transport } = this.settings;
      void this.intake.accept(batch, { transport, isUnattended: true }).then((outcome) => {
        this.pending -= batch.byteLength;
        if (outcome.kind !== "taken")
          this.context.logger.error(
            { records: batch.count },
            "records were lost: they were refused, and the protocol has no way to tell their sender",
          );
        if (!this.isFull) this.onRoom();
      });
    }
  }

  private writeEntry(entry: LogEntry): void {
    const size = typeof entry.body === "string" ? entry.body.length + 200 : 400;
    this.write(this.writerOf(entry.resource, entry.scopeName), size, (wire) => writeEntry(wire, entry));
  }

  private write(writer: LogBatchWriter, likelySize: number, write: (wire: WireWriter) => void): void {
    const before = writer.byteLength;
    writer.observedAt(this.context.clock.now());
    writer.add(likelySize, write);
    this.written += writer.byteLength - before;
  }

  private writerOf(resource: LogMap, scopeName: string): LogBatchWriter {
    const key = resource === this.resource && scopeName === "" ? "" : `${scopeName}\n${resourceKey(resource)}`;
    let writer = this.writers.get(key);
    if (writer === undefined) {
      const scope = scopeName === "" ? new Uint8Array(0) : encodeScopeName(scopeName);
      writer = new LogBatchWriter(encodeAttributes(resource, RESOURCE_ATTRIBUTES_TAG), scope, 65_536);
      this.writers.set(key, writer);
    }
    return writer;
  }
}

function resourceKey(resource: LogMap): string {
  return JSON.stringify(resource, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
}
