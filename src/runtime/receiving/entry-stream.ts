import { limitedLog, type ReceiverContext } from "#contract";
import {
  encodeAttributes,
  encodeScopeName,
  LogBatchWriter,
  type LogEntry,
  type LogMap,
  type LogValue,
  writeEntry,
} from "#logs/entries";
import { Batch } from "#otlp";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { pause } from "#resilience";
import type { BatchIntake } from "./batch-intake.js";

/** With more bytes than this in memory, the source waits. */
const MAX_BYTES = 1024 * 1024;
const CAPACITY = 4 * 1024;
/** Above this number of resources all writers are discarded and created again as needed. */
const MAX_WRITERS = 1000;
const REJECTED_PAUSE_MS = 5000;

interface EntryStreamSettings {
  readonly intake: BatchIntake;
  /** The value of `transport` in the origin of batches. */
  readonly transport: string;
  /** Called when everything that was added before this cursor is safe. */
  readonly onCursor: (cursor: string) => void;
}

/**
 * Hands in log entries of a source that can be read again from a cursor. One request is under way at a time; entries
 * that are added meanwhile go into the next.
 */
export class EntryStream {
  private readonly settings: EntryStreamSettings;
  private readonly context: ReceiverContext;
  private readonly logRejected: (reason: string) => void;
  private readonly writers = new Map<string, TimedWriter>();
  private waitingBytes = 0;
  private cursor: string | undefined;
  private sending: Promise<void> | undefined;
  private readonly stopping = new AbortController();

  constructor(settings: EntryStreamSettings, context: ReceiverContext) {
    this.settings = settings;
    this.context = context;
    this.logRejected = limitedLog(context.clock, (reason, suppressed) =>
      context.logger.error(
        { reason, suppressed },
        "records are permanently refused and cannot be kept as dead letters; they are retried",
      ),
    );
  }

  /** Adds an entry. It is sent after the next `flush`. */
  add(entry: LogEntry): void {
    const timed = this.writerOf(entry);
    const { writer } = timed;
    const before = writer.byteLength;
    const now = this.context.clock.now();
    if (now !== timed.observedMs) writer.observedAt(now);
    timed.observedMs = now;
    writer.add(typeof entry.body === "string" ? entry.body.length + 200 : 400, (wire) => writeEntry(wire, entry));
    this.waitingBytes += writer.byteLength - before;
  }

  /** Sends what was added; the source can be read again from the cursor then. Resolves when there is room for more. */
  async flush(cursor?: string): Promise<void> {
    if (cursor !== undefined) this.cursor = cursor;
    this.start();
    while (this.waitingBytes > MAX_BYTES && !this.stopping.signal.aborted) {
      await this.sending;
      this.start();
    }
  }

  /** Resolves when nothing is under way. Entries that were not taken by then are read again after a restart. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.sending;
  }

  private start(): void {
    this.sending ??= this.send().finally(() => {
      this.sending = undefined;
    });
  }

  private async send(): Promise<void> {
    while (!this.stopping.signal.aborted && (this.waitingBytes > 0 || this.cursor !== undefined)) {
      const { cursor } = this;
      this.cursor = undefined;
      const batch = this.waitingBytes > 0 ? this.takeBatch() : undefined;
      if (batch !== undefined && !(await this.deliver(batch))) return;
      if (cursor !== undefined) this.settings.onCursor(cursor);
    }
  }

  /** The entries of all resources as one batch. */
  private takeBatch(): Batch {
    const batches = [...this.writers.values()].flatMap(({ writer }) => (writer.count > 0 ? [writer.finish()] : []));
    if (this.writers.size > MAX_WRITERS) this.writers.clear();
    this.waitingBytes = 0;
    return Batch.merge(batches);
  }

  private async deliver(batch: Batch): Promise<boolean> {
    const { intake, transport } = this.settings;
    for (;;) {
      const outcome = await intake.accept(batch, { transport });
      if (outcome.kind === "taken") return true;
      if (outcome.kind === "returned" || this.stopping.signal.aborted) return false;
      this.logRejected(outcome.refusal.message);
      await pause(REJECTED_PAUSE_MS, this.context.clock, this.stopping.signal);
    }
  }

  private writerOf({ resource, scopeName }: LogEntry): TimedWriter {
    const key = scopeName + resourceKey(resource);
    let timed = this.writers.get(key);
    if (timed === undefined) {
      const scope = scopeName === "" ? new Uint8Array(0) : encodeScopeName(scopeName);
      const encoded = encodeAttributes(resource, RESOURCE_ATTRIBUTES_TAG);
      timed = { writer: new LogBatchWriter(encoded, scope, CAPACITY), observedMs: Number.NaN };
      this.writers.set(key, timed);
    }
    return timed;
  }
}

/** A writer, and the time that its next record gets. */
interface TimedWriter {
  readonly writer: LogBatchWriter;
  observedMs: number;
}

/** Texts, as most attributes are, need no JSON. */
function resourceKey(resource: LogMap): string {
  let key = "";
  for (const name in resource) {
    const value = resource[name]!;
    const text = typeof value === "string" ? value : otherKey(value);
    key += `\n${name.length} ${text.length} ${name}${text}`;
  }
  return key;
}

function otherKey(value: LogValue): string {
  return `${typeof value} ${JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}n` : item))}`;
}
