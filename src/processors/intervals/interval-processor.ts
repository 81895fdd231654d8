import type { BuiltInProcessorContext } from "#contract/built-in";
import type { JournalNotes } from "#contract/operators";
import { inTurns, type Steps } from "#work";
import { Batch, Delivery, type DeliveryOutput, type Origin, type Processor, statefulProcessor } from "../../plugin.js";
import { PassedNotes } from "./passed-notes.js";

/** The two parts of a batch: records that wait for the end of the interval, and those that do not. */
export interface DividedBatch {
  readonly held: Batch | undefined;
  readonly rest: Batch | undefined;
}

/** Collects records, and gives others in their place. */
export interface RecordCollection {
  /** Takes in all records of the batch. `hold` counts those that are needed until the end. */
  add(batch: Batch, hold: NeededRecords, now: number): void;
  /** Returns what was collected. Nothing is added afterwards. */
  pieces(now: number): Steps<readonly Batch[]>;
  /** Whether there is no room for more. */
  readonly isFull: boolean;
}

interface IntervalSettings {
  readonly intervalMs: number;
  /** With more bytes of requests than this, what waits is passed on early. */
  readonly maxBytes: number;
  /** Divides a batch without changing anything else; throws if the batch must be refused. */
  divide(batch: Batch): DividedBatch;
  create(): RecordCollection;
  /** Deliveries with the same key are collected together. Default: all. */
  keyOf?(origin: Origin): string;
  /** Maximum number of keys that are collected at the same time. Default: no limit. */
  readonly maxKeys?: number;
}

/**
 * A processor that collects records and passes on what they amount to, once an interval.
 *
 * Invariants:
 * - The debt follows the data. A delivery is settled when the batches made of its records have been accepted, or when
 *   none of its records is needed any more. In a pipeline with a journal the delivery stays there until then: after a
 *   crash it is read and collected again.
 * - Records that are not collected pass at once. That they were accepted is noted in the journal, so that a delivery
 *   that is read again does not pass them twice.
 * - The bytes of held requests are bounded: above the bound everything is passed on early.
 */
export function intervalProcessor(settings: IntervalSettings, context: BuiltInProcessorContext): Processor {
  return statefulProcessor((out) => {
    const holding = new IntervalHolder(settings, context, out);
    return {
      next: (delivery) => holding.take(delivery),
      drain: () => holding.drain(),
      abort: () => holding.stop(),
    };
  });
}

/** The records of a delivery that waits. A collection counts how many of them it needs. */
export class NeededRecords {
  private needed = 0;
  private onReleased: (() => void) | undefined;

  get isNeeded(): boolean {
    return this.needed > 0;
  }

  need(): void {
    this.needed++;
  }

  /** Called when a record of the delivery is no longer needed. */
  release(): void {
    if (--this.needed === 0) this.onReleased?.();
  }

  /** Calls back when no record of the delivery is needed any more. */
  whenReleased(onReleased: () => void): void {
    this.onReleased = onReleased;
  }
}

/** Deliveries whose records are collected together. */
interface Group {
  readonly collection: RecordCollection;
  readonly held: Map<NeededRecords, Delivery>;
  bytes: number;
}

class IntervalHolder {
  private readonly settings: IntervalSettings;
  private readonly context: BuiltInProcessorContext;
  private readonly out: DeliveryOutput;
  private readonly passed: PassedNotes | undefined;
  private groups = new Map<string, Group>();
  private bytes = 0;
  private flushing: Promise<void> = Promise.resolve();
  private cancelTimer: (() => void) | undefined;
  private isStopped = false;

  constructor(settings: IntervalSettings, context: BuiltInProcessorContext, out: DeliveryOutput) {
    this.settings = settings;
    this.context = context;
    this.out = out;
    const journal: JournalNotes | undefined = context.journal;
    this.passed = journal && new PassedNotes(journal, (batch) => settings.divide(batch).held);
  }

  take(delivery: Delivery): void {
    const { batch, origin } = delivery;
    const { held, rest } = this.settings.divide(batch);
    const { position } = origin;
    const isPassed = position !== undefined && this.passed?.has(position) === true;
    const passing = isPassed ? undefined : rest;
    if (held === undefined) {
      if (passing === undefined) delivery.accept();
      else this.out.next(delivery.with(passing));
      return;
    }
    const [waiting, now] = delivery.split(passing === undefined ? [NOTHING] : [NOTHING, passing]);
    this.collect(held, waiting!, batch.byteLength);
    if (now !== undefined) this.passOn(now, position);
  }

  async drain(): Promise<void> {
    this.flush();
    await this.flushing;
  }

  stop(): void {
    this.isStopped = true;
    this.cancelTimer?.();
  }

  private collect(held: Batch, delivery: Delivery, bytes: number): void {
    const group = this.groupOf(delivery.origin);
    const hold = new NeededRecords();
    group.collection.add(held, hold, this.context.clock.now());
    if (!hold.isNeeded) return delivery.accept();
    group.held.set(hold, delivery);
    group.bytes += bytes;
    this.bytes += bytes;
    hold.whenReleased(() => {
      group.held.delete(hold);
      group.bytes -= bytes;
      this.bytes -= bytes;
      delivery.accept();
    });
    if (this.bytes > this.settings.maxBytes || group.collection.isFull) this.flush();
    else this.cancelTimer ??= this.context.clock.after(this.settings.intervalMs, () => this.flush());
  }

  private groupOf(origin: Origin): Group {
    const { keyOf, maxKeys = Number.POSITIVE_INFINITY } = this.settings;
    const key = keyOf?.(origin) ?? "";
    let group = this.groups.get(key);
    if (group !== undefined) return group;
    if (this.groups.size >= maxKeys) this.flush();
    group = { collection: this.settings.create(), held: new Map(), bytes: 0 };
    this.groups.set(key, group);
    return group;
  }

  private passOn(delivery: Delivery, position: number | undefined): void {
    const { passed } = this;
    if (passed === undefined || position === undefined) return this.out.next(delivery);
    this.out.next(
      delivery.observe((outcome) => {
        if (outcome.ok) passed.add(position);
      }),
    );
  }

  /** Passes on everything that waits, group by group, in the order of flushes. */
  private flush(): void {
    this.cancelTimer?.();
    this.cancelTimer = undefined;
    const groups = [...this.groups.values()].filter(({ held }) => held.size > 0);
    this.groups = new Map();
    for (const { bytes } of groups) this.bytes -= bytes;
    const now = this.context.clock.now();
    for (const group of groups) this.flushGroup(group, now);
  }

  private flushGroup({ collection, held }: Group, now: number): void {
    const deliveries = [...held.values()];
    for (const hold of held.keys()) hold.whenReleased(() => {});
    const pieces = inTurns(collection.pieces(now));
    if (!(pieces instanceof Promise)) return this.passOnPieces(deliveries, pieces);
    this.flushing = Promise.all([pieces, this.flushing])
      .then(([made]) => {
        if (!this.isStopped) this.passOnPieces(deliveries, made); // otherwise the runtime refuses what is held
      })
      .catch((error: unknown) => {
        if (!this.isStopped) this.out.error(error);
      });
  }

  private passOnPieces(deliveries: Delivery[], made: readonly Batch[]): void {
    const [first = NOTHING] = made;
    const merged = Delivery.merge(deliveries, first);
    if (made.length === 0) return merged.accept();
    for (const part of made.length > 1 ? merged.split(made) : [merged]) this.out.next(part);
  }
}

const NOTHING = Batch.empty("logs");
