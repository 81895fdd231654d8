import type { Batch, Delivery } from "../../../plugin.js";
import type { SplitEntry } from "./decision-notes.js";
import type { WholeTrace } from "./policy.js";
import { batchOfSlices, isSameSpan, type SpanSlice } from "./trace-slices.js";

/** One delivery that has come: its bytes are in memory, and it is owed, until the last trace of it is decided. */
export interface HeldDelivery {
  readonly bytes: number;
  /** Its traces that wait. */
  traces: number;
  /** What is known of it as an entry of the journal. */
  readonly entry: SplitEntry | undefined;
}

/** A trace whose decision is still to come: its spans, and the debts that wait for it. */
export class WaitingTrace implements WholeTrace {
  readonly id: string;
  readonly slices: SpanSlice[] = [];
  /** Parts of the deliveries that had spans of it; their batches are empty. */
  readonly deliveryParts: Delivery[] = [];
  readonly heldDeliveries: HeldDelivery[] = [];
  bytes = 0;
  deadline: number;
  hasEarlierDeadline = false;
  /** Decided, or about to be: it waits no more. */
  isRemoved = false;
  /** Large traces only have it: for small ones comparing with every span is quicker. */
  private knownSpans: KnownSpans | undefined;
  private builtBatch: Batch | undefined;

  constructor(id: string, deadline: number) {
    this.id = id;
    this.deadline = deadline;
  }

  get spanCount(): number {
    return this.slices.length;
  }

  get batch(): Batch {
    this.builtBatch ??= batchOfSlices(this.slices);
    return this.builtBatch;
  }

  /**
   * Gives how many of the spans were there already. A client that has waited too long sends again: the same spans count
   * once, and both its requests are settled by the same decision.
   */
  add(slices: readonly SpanSlice[], part: Delivery, hold: HeldDelivery): number {
    this.deliveryParts.push(part);
    this.heldDeliveries.push(hold);
    let repeated = 0;
    for (const slice of slices) if (!this.addSpan(slice)) repeated++;
    this.builtBatch = undefined;
    return repeated;
  }

  private addSpan(slice: SpanSlice): boolean {
    const isNew = this.knownSpans?.add(slice) ?? !this.slices.some((other) => isSameSpan(other, slice));
    if (!isNew) return false;
    this.slices.push(slice);
    this.bytes += slice.end - slice.start;
    if (this.knownSpans === undefined && this.slices.length > MAX_LINEAR_SPANS) {
      this.knownSpans = new KnownSpans();
      for (const one of this.slices) this.knownSpans.add(one);
    }
    return true;
  }
}

const MAX_LINEAR_SPANS = 16;

/** The spans of a large trace: by their ids, and where many have the same id, or none, by all that is in them. */
class KnownSpans {
  private readonly byKey = new Map<number, SpanSlice[] | Set<string>>();

  /** False when it is there already. */
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

/** The traces that wait, oldest first. */
export class WaitingTraces {
  /** Bytes of all deliveries of which something waits. */
  bytes = 0;
  private readonly byId = new Map<string, WaitingTrace>();
  private readonly byArrival = new TraceQueue();
  /** Those that were given an earlier deadline when their root came, in that order. */
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

  /** To be called once for each trace of a delivery, before the trace is taken out again. */
  countHeld(held: HeldDelivery): void {
    if (held.traces++ === 0) this.bytes += held.bytes;
  }

  /** Gives the trace an earlier deadline. Later calls, and later deadlines, change nothing. */
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

  /** The earliest deadline, or undefined when nothing waits. */
  nextDeadline(): number | undefined {
    const [a, b] = [this.byArrival.first(), this.byRootDeadline.first()];
    return a === undefined ? undefined : Math.min(a.deadline, b?.deadline ?? Number.POSITIVE_INFINITY);
  }

  /** Takes out all whose deadline has come. */
  takeDue(now: number): WaitingTrace[] {
    const due: WaitingTrace[] = [];
    for (const queue of [this.byRootDeadline, this.byArrival]) {
      for (let trace = queue.first(); trace !== undefined && trace.deadline <= now; trace = queue.first()) {
        this.remove(trace);
        due.push(trace);
      }
    }
    return due;
  }

  takeAll(): WaitingTrace[] {
    const all = [...this.byId.values()];
    for (const trace of all) this.remove(trace);
    return all;
  }
}

/** First in, first out; those that are gone are left out when they come to the front. */
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
