import type { Clock, Counter, Logger, Metrics } from "#contract";
import { StartError } from "#contract/errors";
import { DEAD_LETTER_PREFIX, type DeadLetterAttributes, type Entry } from "#contract/operations";
import type { ConfigNow } from "#contract/operators";
import type { Batch } from "#otlp";
import { editRecords } from "#otlp/views";
import { wholeNumbering } from "../entry/numbering.js";
import { runExclusively, walkDeadLetters } from "../store/dead-letter-access.js";
import { isEntryGone, type NewEntry, type StoredEntry } from "../store/store.js";
import { type Controls, isDeleted } from "./dead-letters.js";
import { hasQueue, type QueueControl } from "./exporter-control.js";

interface ForwarderServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly running: ConfigNow;
  readonly controls: Controls;
  /** For exporters that only worker 1 runs; undefined if the agent is one process. */
  readonly toFirst?: { send(to: string, copy: NewEntry): Promise<boolean> } | undefined;
}

/** Maximum number of remembered ids. If more come at once, all dead letters are scanned. */
const MAX_IDS = 10_000;
const CHUNK_SIZE = 50;
const RETRY_MS = 2000;

/**
 * Puts a copy of every dead letter of one exporter into another exporter's queue, and keeps the dead letter itself. The
 * copy is written first, and then recorded on the dead letter. So each is forwarded at least once, even after a crash,
 * and a copy that was written but not recorded is recognised by its id while it waits. At the start all dead letters
 * are scanned.
 *
 * There are no loops: a copy is not forwarded again, and an undeliverable copy does not become a dead letter (see
 * `ForwardMarks`).
 */
export class DeadLetterForwarder {
  private readonly to: string;
  private readonly services: ForwarderServices;
  private readonly forwarded: Counter;
  private control: QueueControl | undefined;
  private ids = new Set<string>();
  private mustScan = true;
  private running: Promise<void> | undefined;
  private cancelTimer: (() => void) | undefined;
  private isStopped = false;

  constructor(from: string, to: string, services: ForwarderServices) {
    this.to = to;
    this.services = services;
    const description = "Dead letters that were put into the queue of the exporter of dead_letter.forward_to.";
    this.forwarded = services.metrics.counter("sluice_dead_letters_forwarded", { description }, { exporter: from, to });
  }

  /** To be called when the queue has been opened. The target queue may be opened later. */
  start(control: QueueControl): void {
    const target = this.services.controls.get(this.to);
    if (target !== undefined && !hasQueue(target)) {
      const message = `dead letters cannot be forwarded to ${this.to}, which has no queue: give it sending_queue: {enabled: true}`;
      throw new StartError(message, ["dead_letter", "forward_to"]);
    }
    this.control = control;
    this.schedule(0);
  }

  /** To be called when an entry has become a dead letter. */
  add(entry: Entry): void {
    if (!shouldForward(entry)) return;
    if (this.ids.size < MAX_IDS) this.ids.add(entry.id);
    else this.mustScan = true;
    if (this.control !== undefined) this.schedule(0);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancelTimer?.();
    await this.running;
  }

  private schedule(ms: number): void {
    if (this.isStopped || this.running !== undefined || (this.cancelTimer !== undefined && ms > 0)) return;
    this.cancelTimer?.();
    this.cancelTimer = this.services.clock.after(ms, () => {
      this.cancelTimer = undefined;
      this.running = this.round().then((waitMs) => {
        this.running = undefined;
        if (waitMs !== undefined) this.schedule(waitMs);
      });
    });
  }

  /** Returns how long to wait before the next round; undefined if there is nothing left to do. */
  private async round(): Promise<number | undefined> {
    try {
      for await (const chunk of this.chunks()) {
        if (this.isStopped) return undefined;
        if (!(await this.forward(chunk))) return this.waitForRoom(chunk);
      }
      return this.ids.size > 0 || this.mustScan ? 0 : undefined;
    } catch (error) {
      if (this.isStopped) return undefined;
      this.mustScan = true;
      this.services.logger.warn({ err: error, to: this.to }, "dead letters cannot be forwarded yet; will try again");
      return RETRY_MS;
    }
  }

  private waitForRoom(chunk: readonly string[]): number {
    for (const id of chunk) this.ids.add(id);
    this.mustScan = true;
    return RETRY_MS;
  }

  private async *chunks(): AsyncGenerator<string[]> {
    if (this.mustScan) {
      this.mustScan = false;
      let chunk: string[] = [];
      for await (const { entry } of walkDeadLetters(this.control!.store)) {
        if (!shouldForward(entry)) continue;
        chunk.push(entry.id);
        if (chunk.length < CHUNK_SIZE) continue;
        yield chunk;
        chunk = [];
      }
      if (chunk.length > 0) yield chunk;
    }
    while (this.ids.size > 0) {
      const chunk = [...this.ids].slice(0, CHUNK_SIZE);
      for (const id of chunk) this.ids.delete(id);
      yield chunk;
    }
  }

  /** Returns false if the target queue has no room or is not open. */
  private async forward(ids: readonly string[]): Promise<boolean> {
    const take = this.wayToTarget();
    if (take === undefined) return false;
    const { store } = this.control!;
    return runExclusively(store, async () => {
      for (const id of ids) {
        const found = await store.find(id);
        if (found !== undefined && shouldForward(found.entry) && !(await this.forwardOne(found, take))) return false;
      }
      return true;
    });
  }

  /** Returns a function that stores a copy, and resolves to false if there is no room at the moment. */
  private wayToTarget(): StoreCopy | undefined {
    const { controls, toFirst } = this.services;
    const target = controls.get(this.to);
    if (target === undefined) return toFirst && ((copy) => toFirst.send(this.to, copy));
    if (!hasQueue(target) || !hasRoom(target)) return undefined;
    return (copy) => storeCopy(target, copy).then(() => true);
  }

  private async forwardOne({ ref, entry }: StoredEntry, take: StoreCopy): Promise<boolean> {
    const { store } = this.control!;
    const batch = await store.payload(ref).catch((error: unknown) => {
      if (isEntryGone(error)) return undefined;
      throw error;
    });
    if (batch === undefined) return true;
    if (!(await take(this.copyOf(entry, batch)))) return false;
    const at = this.services.clock.now();
    await store.fail(ref, { ...entry, forwarded: { to: this.to, at, state: "queued" } });
    this.forwarded.add(1);
    return true;
  }

  private copyOf(entry: Entry, batch: Batch): NewEntry {
    const { exporter, id, pipeline, source } = entry;
    const { clock } = this.services;
    const generation = this.services.running.config.generation;
    const fields = { id: copyId(entry), forwardOf: { exporter, id }, numbering: wholeNumbering(entry) };
    return { batch: withAttributes(batch, entry), pipeline, source, enqueuedAt: clock.now(), generation, fields };
  }
}

type StoreCopy = (copy: NewEntry) => Promise<boolean>;

/** Puts a copy into a queue, unless it waits there already. */
export async function storeCopy(target: QueueControl, copy: NewEntry): Promise<void> {
  if ((await target.store.find(copy.fields!.id!)) !== undefined) return;
  const stored = await target.store.put(copy);
  target.onReplayed([stored.entry]);
}

function shouldForward(entry: Entry): boolean {
  const { state, forwarded, forwardOf, arriving } = entry;
  return state === "failed" && !forwarded && !forwardOf && !arriving && !isDeleted(entry);
}

/** The id is the same for the same failure of the same entry, and has the form of other ids. */
function copyId({ id, replays }: Entry): string {
  return /^[A-Za-z0-9]{1,24}-\d+$/.test(id) ? id.replace("-", `f${replays}-`) : `${id}-f${replays}`;
}

/** Entries from other queues use at most half of this one, so that its own pipelines have room. */
export function hasRoom({ store, settings }: QueueControl): boolean {
  const { sizer, queue_size, max_bytes } = settings.sending_queue;
  const { pending } = store.stats;
  const used = pending[sizer === "requests" ? "entries" : sizer];
  return (queue_size === 0 || used < queue_size / 2) && (max_bytes === 0 || pending.bytes < max_bytes / 2);
}

/** Returns the records with facts about their failure as resource attributes. */
function withAttributes(batch: Batch, entry: Entry): Batch {
  const { at, reason, category, error, signature } = entry.failure!;
  const attributesOfFailure: DeadLetterAttributes = {
    id: entry.id,
    exporter: entry.exporter,
    pipeline: entry.pipeline,
    reason,
    category,
    signature,
    error: error.class,
    message: error.message,
    attempts: entry.calls,
    records: entry.items,
    first_failed_at: isoTime(entry.firstFailedAt ?? at),
    failed_at: isoTime(at),
    replays: entry.replays,
    receiver: entry.source.receiver,
  };
  const attributes = Object.entries(attributesOfFailure);
  return editRecords(batch, (record) => {
    for (const [name, value] of attributes) {
      const key = `${DEAD_LETTER_PREFIX}${name}`;
      if (record.resource.attributes.get(key) !== value) record.resource.attributes.set(key, value);
    }
  });
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
