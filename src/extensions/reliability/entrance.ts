import {
  Batcher,
  type Clock,
  type CompleteSettings,
  type Delivery,
  type Entry,
  type Logger,
  limitedLog,
  Refusal,
  type Setback,
} from "../../plugin.js";
import { Capacity, EMPTY, type Size } from "./capacity.js";
import type { DeadLetterWriter } from "./dead-letter-writer.js";
import type { DeadLetterFilter } from "./filter.js";
import type { Verdict } from "./item.js";
import type { QueueMetrics } from "./metrics.js";
import { type Incoming, Overflow, QUEUE_FULL } from "./overflow.js";
import type { Scheduler } from "./scheduler.js";
import { type NewEntry, type QueueStore, type StoredEntry, StoreError } from "./store/store.js";

export interface EntranceParts {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Merge before the queue. */
  readonly isBatching: boolean;
  /** Names the config the agent runs with. */
  readonly generation: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly store: QueueStore;
  readonly filter: DeadLetterFilter;
  readonly deadLetters: DeadLetterWriter;
  readonly scheduler: Pick<Scheduler, "add" | "dropOldest" | "isEmpty">;
}

const RETRY_AFTER_MS = 5000;

/**
 * The way into the queue: merges if told to, makes room or refuses when it is full, and accepts a delivery when the store
 * has it. What a processor took out of its pipeline, and what finds no room, goes into the same store as dead letters.
 */
export class Entrance {
  private readonly parts: EntranceParts;
  private readonly capacity: Capacity;
  private readonly overflow: Overflow;
  /** By pipeline. */
  private readonly batchers = new Map<string, Batcher>();
  private readonly logWriteFailure: (error: unknown) => void;
  /** Deliveries whose put is under way, and those of them that are put into the queue, not beside it as dead letters. */
  private readonly putting = new Set<Delivery>();
  private readonly queueing = new Set<Delivery>();
  private onNonePutting: (() => void) | undefined;
  private onPut: (() => void) | undefined;
  private isAborted = false;

  constructor(parts: EntranceParts) {
    this.parts = parts;
    const { settings, clock, logger } = parts;
    this.capacity = new Capacity(settings.sending_queue);
    this.overflow = new Overflow({
      queue: settings.sending_queue,
      fits: ({ delivery }) => this.capacity.fits(sizeOf(delivery)),
      put: (incoming) => this.put(incoming),
      refuse: (incoming, refusal) => this.refuse(incoming, refusal),
      deadLetter: (incoming) => this.keepOut(incoming),
      dropOldest: () => this.dropOldest(),
    });
    this.logWriteFailure = limitedLog(clock, (error, suppressed) =>
      logger.error({ err: error, suppressed }, "the queue cannot be written; refusing what comes"),
    );
  }

  accept(delivery: Delivery, pipeline: string): void {
    if (delivery.setback !== undefined) this.setAside({ delivery, pipeline }, delivery.setback);
    else if (this.parts.isBatching) this.batcherOf(pipeline).add(delivery);
    else this.enqueue(delivery, pipeline);
  }

  /** These came into the queue another way. */
  joined(entries: readonly Entry[]): void {
    for (const entry of entries) this.capacity.add(entry);
  }

  /** An entry is not pending any more, and what is in its place. */
  left(entry: Entry, replacements: readonly StoredEntry[]): void {
    this.capacity.remove(entry);
    for (const replacement of replacements) this.capacity.add(replacement.entry);
    // After damage it is only roughly known; with nothing left, it is known exactly.
    if (this.putting.size === 0 && this.parts.scheduler.isEmpty) this.capacity.reset(EMPTY);
    this.overflow.onRoom();
  }

  /** Counts by what the store says, and what is on its way there. */
  recount(): void {
    this.capacity.reset(this.parts.store.stats.pending);
    for (const delivery of this.queueing) this.capacity.add(sizeOf(delivery));
  }

  /** Called when nothing more comes. Resolves when all that came is in the store or was refused. */
  async drain(): Promise<void> {
    for (const batcher of this.batchers.values()) batcher.flush();
    this.overflow.stop(stopped(this.parts.id));
    if (this.putting.size === 0 || this.isAborted) return;
    await new Promise<void>((resolve) => {
      this.onNonePutting = resolve;
    });
  }

  abort(): void {
    this.isAborted = true;
    const refusal = stopped(this.parts.id);
    for (const batcher of this.batchers.values()) for (const delivery of batcher.discard()) delivery.refuse(refusal);
    this.overflow.stop(refusal);
    for (const delivery of this.putting) delivery.refuse(refusal);
    this.onNonePutting?.();
  }

  private batcherOf(pipeline: string): Batcher {
    const known = this.batchers.get(pipeline);
    if (known !== undefined) return known;
    const { flush_timeout: timeoutMs, min_size: minSize, max_size: maxSize, sizer } = this.batchSettings;
    const settings = { timeoutMs, minSize, maxSize, sizer };
    const batcher = new Batcher(settings, this.parts.clock, (merged) => this.enqueue(merged, pipeline));
    this.batchers.set(pipeline, batcher);
    return batcher;
  }

  private get batchSettings() {
    return this.parts.settings.sending_queue.batch;
  }

  private enqueue(delivery: Delivery, pipeline: string): void {
    const isFree = this.overflow.isEmpty && this.capacity.fits(sizeOf(delivery));
    if (isFree) this.put({ delivery, pipeline });
    else this.overflow.add({ delivery, pipeline });
  }

  private put({ delivery, pipeline }: Incoming, asDeadLetter?: Verdict): void {
    this.putting.add(delivery);
    if (asDeadLetter === undefined) {
      this.queueing.add(delivery);
      this.capacity.add(sizeOf(delivery));
    }
    this.parts.store.put(this.newEntry(delivery, pipeline, asDeadLetter)).then(
      (stored) => {
        this.putDone(delivery);
        if (asDeadLetter === undefined) this.queued(stored, delivery);
        else this.keptOut(delivery, stored.entry, asDeadLetter);
      },
      (error: unknown) => {
        this.putDone(delivery);
        if (asDeadLetter === undefined) this.capacity.remove(sizeOf(delivery));
        this.onPut?.();
        this.logWriteFailure(error);
        this.refuse({ delivery, pipeline }, unwritten(error));
        this.overflow.onRoom();
      },
    );
  }

  private queued(stored: StoredEntry, delivery: Delivery): void {
    const waits = this.parts.settings.sending_queue.wait_for_result;
    if (!waits) delivery.accept();
    this.parts.scheduler.add(stored, delivery.batch, waits ? delivery : undefined);
    this.onPut?.();
  }

  private putDone(delivery: Delivery): void {
    this.putting.delete(delivery);
    this.queueing.delete(delivery);
    if (this.putting.size === 0) this.onNonePutting?.();
  }

  private newEntry({ batch, origin }: Delivery, pipeline: string, asDeadLetter: Verdict | undefined): NewEntry {
    const { clock, generation, deadLetters, id } = this.parts;
    const source = { receiver: origin.receiver, transport: origin.transport };
    const fresh = { batch, pipeline, source, enqueuedAt: clock.now(), generation };
    if (asDeadLetter === undefined) return fresh;
    const { failure } = deadLetters.failureOf(id, batch, asDeadLetter);
    return { ...fresh, fields: { state: "failed", failure } };
  }

  /** What is on its way into the store cannot be given up yet: then it waits for that. */
  private async dropOldest(): Promise<boolean> {
    const wasPutting = this.putting.size > 0;
    if (await this.parts.scheduler.dropOldest(QUEUE_FULL)) return true;
    if (this.putting.size > 0) {
      await new Promise<void>((resolve) => {
        this.onPut = resolve;
      });
    }
    return wasPutting;
  }

  /** There is no room and the newest has to go: to the dead letters, or nowhere if the filter says so. */
  private keepOut(incoming: Incoming): void {
    const { batch } = incoming.delivery;
    this.parts.metrics.enqueueFailed[batch.signal].add(batch.count);
    this.keepDead(incoming, QUEUE_FULL);
  }

  /** A processor took it out of its pipeline. */
  private setAside({ delivery, pipeline }: Incoming, setback: Setback): void {
    const verdict = verdictOf(setback);
    if (!setback.onlyIfAlwaysSaved) return this.keepDead({ delivery, pipeline }, verdict);
    const saved = this.parts.filter.alwaysSaved(delivery.batch);
    if (saved === undefined) delivery.accept();
    else this.put({ delivery: delivery.with(saved), pipeline }, verdict);
  }

  private keepDead(incoming: Incoming, verdict: Verdict): void {
    const { delivery } = incoming;
    if (this.parts.filter.judge(delivery.batch) === "save") return this.put(incoming, verdict);
    this.parts.metrics.filteredOut.add(1);
    delivery.accept();
  }

  private keptOut(delivery: Delivery, entry: Entry, verdict: Verdict): void {
    this.parts.deadLetters.tell(entry, verdict);
    delivery.accept();
  }

  private refuse({ delivery }: Incoming, refusal: Refusal): void {
    this.parts.metrics.enqueueFailed[delivery.batch.signal].add(delivery.batch.count);
    delivery.refuse(refusal);
  }
}

function verdictOf({ reason, category, code, message }: Setback): Verdict {
  return { reason, category, error: { kind: "permanent", class: code, code, message } };
}

function sizeOf({ batch }: Delivery): Size {
  return { items: batch.count, bytes: batch.byteLength };
}

function stopped(id: string): Refusal {
  return new Refusal("transient", `exporter ${id} is stopping`, { code: "SLUICE_SHUTTING_DOWN", retryAfterMs: 1000 });
}

function unwritten(error: unknown): Refusal {
  const isFull = error instanceof StoreError && error.code === "full";
  const message = `the queue cannot be written${isFull ? ": the disk is full" : ""}`;
  return new Refusal("transient", message, {
    code: "SLUICE_QUEUE_WRITE",
    retryAfterMs: RETRY_AFTER_MS,
    cause: error,
  });
}
