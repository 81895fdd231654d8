import { PointReader, SeriesTable } from "#metrics";
import { fieldTag, stepOver, valueAt } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TIME_TAG,
  GAUGE_TAG,
  SUM_TAG,
  SUMMARY_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Batch } from "../../../plugin.js";
import { MetricOwners, numberAt, unsignedAt } from "../metric-owners.js";
import type { StartTimeStrategy } from "./config.js";
import { type PointNumbers, pointNumbers, REPLACED_TAGS } from "./point-numbers.js";

/** The state of a series. */
interface StartTimeState {
  /** Nanoseconds: the start of the count. */
  start: bigint;
  previous: PointNumbers;
  /** The numbers of the first point, to be subtracted; undefined if nothing is. */
  initial: PointNumbers | undefined;
  /** The number of the batch that changed the state last. */
  batch: number;
}

/** A state that a batch has changed or made. */
interface StateChange {
  readonly state: StartTimeState;
  /** A copy of the state as it was, or the key of a new series. */
  readonly before: StartTimeState | { readonly owner: number; readonly key: Uint8Array };
}

interface StartTimeWalkSettings {
  readonly strategy: StartTimeStrategy;
  readonly maxSeries: number;
  readonly expireAfterMs: number;
  /** Called with the reason for each dropped point. */
  readonly onDropped: (reason: string) => void;
  /** Called for a point that keeps its start time because there is no room for its series. */
  readonly onFull: () => void;
}

const CUMULATIVE = 2;
/** The time from the start to the first point after a reset, in nanoseconds. The Collector assumes the same. */
const SINCE_RESET = 1_000_000n;
/** Number of keys checked for expiry with each batch. */
const SWEEP_KEYS = 1000;
const START_TIME_TAGS: readonly number[] = [DATA_POINT_START_TIME_TAG];

/** Gives start times to the points that have none, or that have their own time as start. */
export class StartTimeWalk implements RecordVisitor {
  private readonly settings: StartTimeWalkSettings;
  private readonly owners = new MetricOwners();
  private readonly table: SeriesTable<StartTimeState>;
  private readonly reader = new PointReader();
  private changes: StateChange[] = [];
  private batch = 0;
  private now = 0;
  /** The start of all new series of the batch, if one of its metrics tells it. */
  private batchStart = 0n;
  // The metric that is being read.
  private dataSerial = 0;
  private isAdjusted = false;
  private owner = 0;

  constructor(settings: StartTimeWalkSettings) {
    this.settings = settings;
    const { maxSeries, expireAfterMs } = settings;
    this.table = new SeriesTable({ maxSeries, expireAfterMs });
  }

  /**
   * `undo` takes back what the batch has changed, so that the same batch gives the same points when it is sent again. The
   * state of a series that a later batch has changed stays.
   */
  adjust(batch: Batch, now: number, batchStart: bigint): { readonly batch: Batch; readonly undo: () => void } {
    this.now = now;
    this.batchStart = batchStart;
    this.dataSerial = 0;
    this.changes = [];
    const number = ++this.batch;
    const result = new RecordWalk(batch).run(this);
    const { changes } = this;
    this.table.sweep(now, SWEEP_KEYS);
    return { batch: result, undo: () => this.undo(changes, number) };
  }

  private undo(changes: readonly StateChange[], batch: number): void {
    for (const { state, before } of changes) {
      if (state.batch !== batch) continue;
      if ("key" in before) this.table.delete(before.owner, before.key, 0, before.key.length);
      else Object.assign(state, before);
    }
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[3] !== this.dataSerial) this.enterMetric(walk);
    if (!this.isAdjusted) return KEEP;
    const b = walk.bytes;
    let [from, time] = [0n, 0n];
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      if (fieldTag === DATA_POINT_START_TIME_TAG) from = unsignedAt(b, valueAt);
      else if (fieldTag === DATA_POINT_TIME_TAG) time = unsignedAt(b, valueAt);
    }
    if (from !== 0n && from !== time) return KEEP;
    const { tag } = walk.frames[3]!;
    this.reader.read(b, start, end, tag);
    const numbers = pointNumbers(this.reader, tag, b, start, end);
    const { bytes: key, start: keyStart, end: keyEnd } = this.reader.attributes;
    const state = this.table.find(this.owner, key, keyStart, keyEnd, this.now);
    if (state === undefined) return this.visitFirst(walk, start, end, time, numbers);
    const isReset = this.update(state, time, numbers);
    this.write(walk, start, end, state.start, isReset ? undefined : numbers, state.initial);
    return KEEP;
  }

  private visitFirst(walk: RecordWalk, start: number, end: number, time: bigint, numbers: PointNumbers): Verdict {
    const { strategy, onDropped, onFull } = this.settings;
    const { bytes: key, start: keyStart, end: keyEnd } = this.reader.attributes;
    const isSubtracted = strategy === "subtract_initial_point";
    const seriesStart = strategy === "start_time_metric" ? this.batchStart : time;
    const initial = isSubtracted ? numbers : undefined;
    const state: StartTimeState = { start: seriesStart, previous: numbers, initial, batch: this.batch };
    const { owner } = this;
    const hasRoom = this.table.add(owner, key, keyStart, keyEnd, this.now, state) !== undefined;
    if (hasRoom) this.changes.push({ state, before: { owner, key: key.slice(keyStart, keyEnd) } });
    if (isSubtracted) {
      onDropped(hasRoom ? "initial" : "max_series");
      return DROP;
    }
    if (hasRoom) this.write(walk, start, end, seriesStart, undefined, undefined);
    else onFull();
    return KEEP;
  }

  /** Returns whether the point's numbers stay as they are: the series was reset, or the point has no value. */
  private update(state: StartTimeState, time: bigint, numbers: PointNumbers): boolean {
    const { hasNoValue } = this.reader;
    if (hasNoValue && this.settings.strategy !== "start_time_metric") return true;
    if (state.batch !== this.batch) {
      this.changes.push({ state, before: { ...state } });
      state.batch = this.batch;
    }
    const { previous, initial } = state;
    const isReset = numbers.isResetSince(previous) || (initial !== undefined && !numbers.canSubtract(initial));
    if (isReset) {
      state.start = BigInt.asUintN(64, time - SINCE_RESET);
      state.initial = undefined;
    }
    state.previous = numbers;
    return isReset;
  }

  private write(
    walk: RecordWalk,
    start: number,
    end: number,
    seriesStart: bigint,
    numbers: PointNumbers | undefined,
    initial: PointNumbers | undefined,
  ): void {
    const isSubtracted = numbers !== undefined && initial !== undefined;
    const out = walk.beginRecord();
    const tags = isSubtracted ? REPLACED_TAGS[walk.frames[3]!.tag]! : START_TIME_TAGS;
    out.copyFieldsExcept(walk.bytes, start, end, tags);
    out.byte(DATA_POINT_START_TIME_TAG);
    out.fixed64(seriesStart);
    if (isSubtracted) numbers.writeMinus(out, initial);
    walk.endRecord();
  }

  private enterMetric(walk: RecordWalk): void {
    const { bytes: b, frames, serials } = walk;
    this.dataSerial = serials[3]!;
    const data = frames[3]!;
    this.isAdjusted = isAdjusted(this.settings.strategy, data.tag, numberAt(b, data, TEMPORALITY_TAG));
    if (this.isAdjusted) this.owner = this.owners.idOf(walk);
  }
}

/** The same metrics as in the Collector: some strategies also give deltas a start time. */
function isAdjusted(strategy: StartTimeStrategy, dataTag: number, temporality: number): boolean {
  if (dataTag === GAUGE_TAG) return false;
  if (strategy === "start_time_metric" || dataTag === SUMMARY_TAG || temporality === CUMULATIVE) return true;
  return dataTag === SUM_TAG && strategy === "true_reset_point";
}
