import type { BuiltInProcessorContext } from "#contract/built-in";
import { ERROR_CODES } from "#contract/errors";
import type { EntrySettlement, JournalNote, JournalNotes } from "#contract/operators";
import { turns } from "#work";
import { Batch, Delivery, type Outcome, Refusal } from "../../../plugin.js";
import type { TailSamplingConfig } from "./config.js";
import { Decider } from "./decider.js";
import { DecisionCache } from "./decision-cache.js";
import { DecisionNotes, type EntryTraces, type SplitEntry } from "./decision-notes.js";
import { type Decision, TailMetrics } from "./metrics.js";
import { spansOf, takeOverNotes } from "./take-over-notes.js";
import { batchOfSlices, maxBytesOf, type SpanSlice, sliceByTrace } from "./trace-slices.js";
import { type HeldDelivery, WaitingTrace, WaitingTraces } from "./waiting-traces.js";

/** Traces leave together up to this many bytes. A single larger trace leaves alone. */
const MAX_MERGED_BYTES = 1024 * 1024;
/** Minimum time between two rounds of decisions. */
const DECISION_INTERVAL_MS = 100;
/** Other work gets its turn between two rounds, so one must not take long. */
const MAX_TRACES_PER_ROUND = 2000;
/** Policies read a trace as a batch, and traces that share a large resource each get a copy of it. */
const MAX_BYTES_PER_ROUND = 4 * 1024 * 1024;

/** The spans of a delivery: those of traces that still wait, and late spans of traces that were decided before. */
interface SortedSpans {
  readonly waiting: ReadonlyMap<string, SpanSlice[]>;
  readonly lateKept: LateSpans;
  readonly lateDropped: LateSpans;
}

/** Traces by their ids, and their spans together. */
interface LateSpans {
  readonly ids: string[];
  readonly slices: SpanSlice[];
}

const EMPTY_BATCH = Batch.empty("traces");

/**
 * Holds spans until their trace is decided.
 *
 * Invariants:
 * - The debt follows the data: a delivery is split into one part per trace. A part is accepted when its trace is
 *   dropped, and otherwise follows the trace. A sender gets no acknowledgement for a span that waits here.
 * - In a pipeline with a journal, a round of decisions is noted there before any part of it is settled.
 * - The number of waiting traces and their bytes are bounded. Above the bound, the oldest traces are decided with the
 *   spans they have.
 * - Late spans follow the decision about their trace as long as it is remembered.
 */
export class TailSampler {
  private readonly config: TailSamplingConfig;
  private readonly context: BuiltInProcessorContext;
  private readonly emit: (delivery: Delivery) => void;
  private readonly fail: (error: unknown) => void;
  private readonly metrics: TailMetrics;
  private readonly decider: Decider;
  private readonly decisions: DecisionCache;
  private readonly waiting = new WaitingTraces();
  private readonly takenOver: Set<string>;
  private readonly removeGauges: () => void;
  private cancelTimer: (() => void) | undefined;
  private timerAt = Number.POSITIVE_INFINITY;
  /** Undefined if the pipeline's intake is not durable: then only senders send data again. */
  private readonly notes: DecisionNotes | undefined;
  /** Traces that are decided but not settled or passed on yet. */
  private round = { sampled: [] as WaitingTrace[], dropped: [] as WaitingTrace[] };

  /** `takenOver` has traces that another worker sampled before it was gone, with spans that it had not delivered. */
  constructor(
    config: TailSamplingConfig,
    context: BuiltInProcessorContext,
    emit: (delivery: Delivery) => void,
    fail: (error: unknown) => void,
    takenOver: Set<string>,
  ) {
    this.config = config;
    this.takenOver = takenOver;
    this.context = context;
    this.emit = emit;
    this.fail = fail;
    this.metrics = new TailMetrics(context.metrics);
    this.decider = new Decider(config, context, this.metrics);
    this.decisions = new DecisionCache(config.sampledCacheSize, config.nonSampledCacheSize);
    this.notes = context.journal && createDecisionNotes(context.journal, config);
    this.notes?.restore((id, isSampled) => this.decisions.remember(id, isSampled));
    context.journal?.setSettlement({
      remaining: (position, spans) => this.remaining(position, spans),
      ended: (position) => this.notes?.ended(position),
      takeOver: (notes, firstPosition) => this.takeOver(notes, firstPosition),
    });
    this.removeGauges = this.metrics.registerGauges(
      () => this.waiting.count,
      () => this.waiting.bytes,
    );
  }

  /** Sorts the spans of a delivery without changing anything yet. Throws a `Refusal` if there is no room for them. */
  sort({ batch, origin }: Delivery): SortedSpans {
    const waiting = sliceByTrace(batch);
    const lateKept: LateSpans = { ids: [], slices: [] };
    const lateDropped: LateSpans = { ids: [], slices: [] };
    waiting.forEach((slices, id) => {
      const fate = this.notes?.fateOf(origin.position, id);
      const decision = fate === undefined ? this.earlierDecision(id) : fate !== "dropped";
      if (decision === undefined) return;
      waiting.delete(id);
      if (fate === "delivered") return;
      const late = decision ? lateKept : lateDropped;
      late.ids.push(id);
      for (const slice of slices) late.slices.push(slice);
    });
    if (this.config.refusesOverflow) this.refuseOverflow([...waiting.keys()]);
    return { waiting, lateKept, lateDropped };
  }

  private earlierDecision(id: string): boolean | undefined {
    return this.decisions.get(id) ?? (this.takenOver.has(id) || undefined);
  }

  /** Takes over the sorted spans and their debt. */
  take(delivery: Delivery, { waiting, lateKept, lateDropped }: SortedSpans): void {
    const { batch, origin } = delivery;
    const late = lateKept.slices;
    const lateBatches = late.length === 0 ? [] : [late.length === batch.count ? batch : batchOfSlices(late)];
    const parts = delivery.split([...new Array<Batch>(waiting.size).fill(EMPTY_BATCH), ...lateBatches]);
    const entry = this.notes?.split(origin.position, parts.length, lateKept.ids, lateDropped.ids);
    if (lateDropped.slices.length > 0) this.metrics.lateDropped.add(lateDropped.slices.length);
    if (late.length > 0) {
      this.metrics.lateKept.add(late.length);
      this.passOn(parts.at(-1)!, entry === undefined ? [] : [[entry, lateKept.ids, 1]]);
    }
    const hold: HeldDelivery = { bytes: batch.byteLength, traces: 0, entry };
    let i = 0;
    waiting.forEach((slices, id) => {
      this.addWaiting(id, slices, parts[i++]!, hold);
    });
    this.makeRoom();
    this.endRound();
    this.setTimer(0);
  }

  /** Decides about all waiting traces, or refuses them; nothing waits afterwards. */
  drain(): void {
    const pending = this.waiting.takeAll();
    if (this.config.refusesPending)
      for (const trace of pending) for (const part of trace.deliveryParts) part.refuse(shutdownRefusal());
    else for (const trace of pending) this.decide(trace);
    this.endRound();
    this.discard();
  }

  /** Releases everything without settling it; the runtime does that. */
  discard(): void {
    this.cancelTimer?.();
    this.removeGauges();
  }

  private addWaiting(id: string, slices: readonly SpanSlice[], part: Delivery, hold: HeldDelivery): void {
    const now = this.context.clock.monotonic();
    let trace = this.waiting.get(id);
    if (trace === undefined) {
      trace = new WaitingTrace(id, now + this.config.decisionWaitMs);
      this.waiting.add(trace);
      this.metrics.newTraces.add(1);
    }
    this.waiting.countHeld(hold);
    const repeated = trace.add(slices, part, hold);
    if (repeated > 0) this.metrics.repeatedSpans.add(repeated);
    const { rootWaitMs, maxTraceBytes } = this.config;
    if (rootWaitMs > 0 && slices.some(({ isRoot }) => isRoot)) this.waiting.bringForward(trace, now + rootWaitMs);
    if (maxTraceBytes > 0 && trace.bytes > maxTraceBytes) this.rejectLarge(trace);
  }

  private rejectLarge(trace: WaitingTrace): void {
    this.waiting.remove(trace);
    this.metrics.tooLarge.add(1);
    this.applyDecision(trace, "not_sampled");
  }

  private makeRoom(): void {
    const { numTraces, maxBytes } = this.config;
    while (this.waiting.count > numTraces) this.decideOldest("num_traces");
    while (this.waiting.bytes > maxBytes) this.decideOldest("max_bytes");
  }

  private decideOldest(reason: "num_traces" | "max_bytes"): void {
    const oldest = this.waiting.oldest()!;
    this.waiting.remove(oldest);
    this.metrics.decidedEarly[reason].add(1);
    this.decide(oldest);
  }

  private decide(trace: WaitingTrace): void {
    this.applyDecision(trace, this.decider.decide(trace));
  }

  private applyDecision(trace: WaitingTrace, decision: Decision): void {
    const isSampled = decision === "sampled";
    this.metrics.decided(decision);
    this.decisions.remember(trace.id, isSampled);
    (isSampled ? this.round.sampled : this.round.dropped).push(trace);
  }

  /** Notes the decisions since the last round. Only then are dropped traces accepted and the others passed on. */
  private endRound(): void {
    const { sampled, dropped } = this.round;
    if (sampled.length + dropped.length === 0) return;
    this.round = { sampled: [], dropped: [] };
    this.notes?.decided(idsOf(sampled), idsOf(dropped));
    this.drop(dropped);
    for (const traces of mergeGroups(sampled)) this.send(traces);
  }

  private drop(traces: readonly WaitingTrace[]): void {
    this.notes?.accepted(entriesOf(traces), "dropped");
    for (const { deliveryParts } of traces) for (const part of deliveryParts) part.accept();
  }

  private send(traces: readonly WaitingTrace[]): void {
    const batch = traces.length === 1 ? traces[0]!.batch : batchOfSlices(traces.flatMap(({ slices }) => slices));
    const parts = traces.flatMap(({ deliveryParts }) => deliveryParts);
    this.passOn(Delivery.merge(parts, batch), this.notes === undefined ? [] : entriesOf(traces));
  }

  /** Passes a delivery on, and remembers which traces of which entries it contains, for when it is accepted. */
  private passOn(delivery: Delivery, entries: readonly EntryTraces[]): void {
    const { notes } = this;
    if (notes === undefined || entries.length === 0) return this.emit(delivery);
    const onSettled = (outcome: Outcome) => {
      if (outcome.ok) notes.accepted(entries, "delivered");
      else notes.refused(entries, outcome.refusal.kind === "permanent");
    };
    this.emit(delivery.observe(onSettled));
  }

  /** Returns the spans of an entry that was refused permanently, without traces that were delivered or dropped. */
  private remaining(position: number, batch: Batch): Batch {
    const owed = spansOf(batch, (id) => this.notes?.isOwed(position, id) ?? true);
    return owed.count === 0 ? batch : owed;
  }

  /** Decisions of a worker that is gone also apply to spans that come later. */
  private takeOver(notes: readonly JournalNote[], firstPosition: number): EntrySettlement["remaining"] {
    return takeOverNotes(this.notes!, notes, firstPosition, this.takenOver, (id, isSampled) => {
      if (this.decisions.get(id) === undefined) this.decisions.remember(id, isSampled);
    });
  }

  private setTimer(minDelayMs: number): void {
    const deadline = this.waiting.nextDeadline();
    if (deadline === undefined || deadline >= this.timerAt) return;
    this.cancelTimer?.();
    const now = this.context.clock.monotonic();
    this.timerAt = Math.max(now + minDelayMs, deadline);
    this.cancelTimer = this.context.clock.after(Math.ceil(this.timerAt - now), () => this.startRound());
  }

  private startRound(): void {
    this.cancelTimer = undefined;
    this.timerAt = Number.POSITIVE_INFINITY;
    try {
      turns.run(() => this.decideDue());
    } catch (error) {
      this.fail(error);
    }
  }

  private decideDue(): void {
    const now = this.context.clock.monotonic();
    let traces = 0;
    let bytes = 0;
    while (traces < MAX_TRACES_PER_ROUND && bytes < MAX_BYTES_PER_ROUND) {
      const trace = this.waiting.takeDue(now);
      if (trace === undefined) break;
      traces++;
      bytes += maxBytesOf(trace.slices);
      this.decide(trace);
    }
    this.endRound();
    if (!this.waiting.hasDue(now)) return this.setTimer(DECISION_INTERVAL_MS);
    let isStopped = false;
    this.timerAt = Number.NEGATIVE_INFINITY; // no other timer until the next round
    this.cancelTimer = () => {
      isStopped = true;
    };
    void turns.next().then(() => {
      if (!isStopped) this.startRound();
    });
  }

  private refuseOverflow(ids: readonly string[]): void {
    const added = ids.filter((id) => this.waiting.get(id) === undefined).length;
    if (added > 0 && this.waiting.count > 0 && this.waiting.count + added > this.config.numTraces)
      throw overflowRefusal();
  }
}

export function createDecisionNotes(journal: JournalNotes, config: TailSamplingConfig): DecisionNotes {
  return new DecisionNotes(journal, config.sampledCacheSize + config.nonSampledCacheSize);
}

/** Returns the entries that these traces came with. A trace is named once for each of its parts. */
function entriesOf(traces: readonly WaitingTrace[]): EntryTraces[] {
  const idsByEntry = new Map<SplitEntry, string[]>();
  for (const { id, heldDeliveries } of traces) {
    for (const { entry } of heldDeliveries) {
      if (entry === undefined) continue;
      const ids = idsByEntry.get(entry);
      if (ids === undefined) idsByEntry.set(entry, [id]);
      else ids.push(id);
    }
  }
  return Array.from(idsByEntry, ([entry, ids]) => [entry, ids, ids.length]);
}

function idsOf(traces: readonly WaitingTrace[]): string[] {
  return traces.map(({ id }) => id);
}

/** Groups traces that were decided together into batches of a limited size. */
function mergeGroups(traces: readonly WaitingTrace[]): WaitingTrace[][] {
  const groups: WaitingTrace[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const trace of traces) {
    const size = maxBytesOf(trace.slices);
    bytes += size;
    if (bytes > MAX_MERGED_BYTES) {
      groups.push([]);
      bytes = size;
    }
    groups.at(-1)!.push(trace);
  }
  return groups;
}

function overflowRefusal(): Refusal {
  return new Refusal("throttled", "the number of traces that wait for their decision has reached num_traces", {
    code: ERROR_CODES.SLUICE_TRACES_WAITING,
    retryAfterMs: 1000,
  });
}

function shutdownRefusal(): Refusal {
  return new Refusal("transient", "stopped before the trace was decided", { code: ERROR_CODES.SLUICE_SHUTTING_DOWN });
}
