import type { Batch, Delivery } from "../../../plugin.js";
import type { SplitEntry } from "./decision-notes.js";
import type { SpanTest, WholeTrace } from "./policy.js";
import { batchOfSlices, isSameSpan, type SpanSlice } from "./trace-slices.js";

/** A delivery that has arrived. Its bytes stay in memory and its debt stays open until its last trace is decided. */
export interface HeldDelivery {
  readonly bytes: number;
  /** Number of its traces that wait. */
  traces: number;
  /** The journal entry of the delivery; undefined if it is not known by its position. */
  readonly entry: SplitEntry | undefined;
}

/** A trace that is not decided yet: its spans, and the debts that wait for the decision. */
export class WaitingTrace implements WholeTrace {
  readonly id: string;
  slices: SpanSlice[] = NOTHING;
  /** Parts of the deliveries that contained spans of the trace. Their batches are empty. */
  deliveryParts: Delivery[] = NOTHING;
  heldDeliveries: HeldDelivery[] = NOTHING;
  bytes = 0;
  deadline: number;
  hasEarlierDeadline = false;
  /** True once the trace is decided or about to be. */
  isRemoved = false;
  /** Only for large traces: in small ones, comparing with every span is faster. */
  private knownSpans: KnownSpans | undefined;
  private builtBatch: Batch | undefined;

  constructor(id: string, deadline: number) {
    this.id = id;
    this.deadline = deadline;
  }

  get spanCount(): number {
    return this.slices.length;
  }

  anySpan(test: SpanTest): boolean {
    for (const { frame, start, end } of this.slices) if (test(frame.bytes, start, end)) return true;
    return false;
  }

  get batch(): Batch {
    this.builtBatch ??= batchOfSlices(this.slices);
    return this.builtBatch;
  }

  /**
   * Returns how many of the spans were known already. A client that has waited too long sends again: equal spans count
   * once, and the same decision settles both requests.
   */
  add(slices: readonly SpanSlice[], part: Delivery, hold: HeldDelivery): number {
    this.deliveryParts = appended(this.deliveryParts, part);
    this.heldDeliveries = appended(this.heldDeliveries, hold);
    let repeated = 0;
    for (const slice of slices) if (!this.addSpan(slice)) repeated++;
    this.builtBatch = undefined;
    return repeated;
  }

  private addSpan(slice: SpanSlice): boolean {
    const isNew = this.knownSpans?.add(slice) ?? !this.has(slice);
    if (!isNew) return false;
    this.slices = appended(this.slices, slice);
    this.bytes += slice.end - slice.start;
    if (this.knownSpans === undefined && this.slices.length > MAX_LINEAR_SPANS) {
      this.knownSpans = new KnownSpans();
      for (const one of this.slices) this.knownSpans.add(one);
    }
    return true;
  }

  private has(slice: SpanSlice): boolean {
    for (const other of this.slices) if (isSameSpan(other, slice)) return true;
    return false;
  }
}

const MAX_LINEAR_SPANS = 16;

/** Lists begin with this one and are replaced by `appended`. */
const NOTHING: never[] = [];

/** Most lists here have one item. An empty list that is pushed to makes room for 17. */
function appended<T>(list: T[], item: T): T[] {
  if (list.length === 0) return [item];
  list.push(item);
  return list;
}

/** The spans of a large trace by their ids. If many have the same id, or none, by their whole content. */
class KnownSpans {
  private readonly byKey = new Map<number, SpanSlice[] | Set<string>>();

  /** Returns false if the span is known already. */
  add(slice: SpanSlice): boolean {
    const alike = this.byKey.get(slice.key);
    if (alike instanceof Set) return alike.size < alike.add(contentOf(slice)).size;
    if (alike === undefined) this.byKey.set(slice.key, [slice]);
    else if (alike.some((other) => isSameSpan(other, slice))) return false;
    else if (alike.push(slice) > MAX_LINEAR_SPANS) this.byKey.set(slice.key, new Set(alike.map(contentOf)));
    return true;
  }
}

function contentOf({ frame, start, end }: SpanSlice): string {
  return Buffer.prototype.latin1Slice.call(frame.bytes, start, end);
}

/** The waiting traces, oldest first. */
export class WaitingTraces {
  /** Bytes of all deliveries with waiting traces. */
  bytes = 0;
  private readonly byId = new Map<string, WaitingTrace>();
  private readonly byArrival = new TraceQueue();
  /** Traces with an earlier deadline since their root span arrived, in the order of that arrival. */
  private readonly byRootDeadline = new TraceQueue();

  get count(): number {
    return this.byId.size;
  }

  get(id: string): WaitingTrace | undefined {
    return this.byId.get(id);
  }

  add(trace: WaitingTrace): void {
    this.byId.set(trace.id, trace);
    this.byArrival.push(trace);
  }

  /** Call this once for each trace of a delivery, before the trace is removed again. */
  countHeld(held: HeldDelivery): void {
    if (held.traces++ === 0) this.bytes += held.bytes;
  }

  /** Gives the trace an earlier deadline. Later calls, and later deadlines, have no effect. */
  bringForward(trace: WaitingTrace, deadline: number): void {
    if (deadline >= trace.deadline || trace.hasEarlierDeadline) return;
    trace.deadline = deadline;
    trace.hasEarlierDeadline = true;
    this.byRootDeadline.push(trace);
  }

  remove(trace: WaitingTrace): void {
    this.byId.delete(trace.id);
    trace.isRemoved = true;
    for (const hold of trace.heldDeliveries) if (--hold.traces === 0) this.bytes -= hold.bytes;
  }

  oldest(): WaitingTrace | undefined {
    return this.byArrival.first();
  }

  /** Returns the earliest deadline, or undefined if nothing waits. */
  nextDeadline(): number | undefined {
    const [a, b] = [this.byArrival.first(), this.byRootDeadline.first()];
    return a === undefined ? undefined : Math.min(a.deadline, b?.deadline ?? Number.POSITIVE_INFINITY);
  }

  /** Removes and returns the next trace whose deadline has passed. */
  takeDue(now: number): WaitingTrace | undefined {
    const trace = this.firstDue(now);
    if (trace !== undefined) this.remove(trace);
    return trace;
  }

  hasDue(now: number): boolean {
    return this.firstDue(now) !== undefined;
  }

  private firstDue(now: number): WaitingTrace | undefined {
    const byRoot = this.byRootDeadline.first();
    if (byRoot !== undefined && byRoot.deadline <= now) return byRoot;
    const oldest = this.byArrival.first();
    return oldest !== undefined && oldest.deadline <= now ? oldest : undefined;
  }

  takeAll(): WaitingTrace[] {
    const all = [...this.byId.values()];
    for (const trace of all) this.remove(trace);
    return all;
  }
}

/** First in, first out. Removed traces are skipped when they reach the front. */
class TraceQueue {
  private traces: (WaitingTrace | undefined)[] = [];
  private head = 0;

  push(trace: WaitingTrace): void {
    this.traces.push(trace);
  }

  first(): WaitingTrace | undefined {
    while (this.traces[this.head]?.isRemoved) this.traces[this.head++] = undefined;
    if (this.head > COMPACT_AFTER && this.head * 2 > this.traces.length) {
      this.traces = this.traces.slice(this.head);
      this.head = 0;
    }
    return this.traces[this.head];
  }
}

const COMPACT_AFTER = 1024;
