import { PointReader, SeriesTable } from "#metrics";
import { decodeText, fieldTag, findField, message, stepOver, valueAt, type WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_START_TIME_TAG,
  DATA_POINT_TIME_TAG,
  EXPONENTIAL_HISTOGRAM_TAG,
  HISTOGRAM_TAG,
  METRIC_NAME_TAG,
  MONOTONIC_TAG,
  NUMBER_INT_TAG,
  SUM_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { DROP, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import { type Batch, type Delivery, type Processor, statefulProcessor } from "../../plugin.js";
import { ExponentialValue } from "./exponential-value.js";
import { MetricOwners, numberAt, unsignedAt } from "./metric-owners.js";
import {
  type ConvertedKind,
  DoubleNumber,
  HistogramValue,
  IntegerValue,
  type PointValue,
  REPLACED_TAGS,
} from "./point-value.js";

/** A metric whose points may be converted. */
export interface ConvertedMetric {
  readonly name: string;
  readonly kind: ConvertedKind;
  readonly isMonotonic: boolean;
}

/** The state of a series. */
interface SeriesState {
  /** Nanoseconds: the start of the count, and the time of the last point. */
  start: bigint;
  time: bigint;
  value: PointValue;
}

interface SeriesPoint {
  readonly start: bigint;
  readonly time: bigint;
  readonly value: PointValue;
}

export interface TemporalityRules {
  /** The converted temporality and its result: 1 is delta, 2 is cumulative. */
  readonly from: 1 | 2;
  readonly to: 1 | 2;
  isWanted(metric: ConvertedMetric): boolean;
  /** Handles the first point of a series: returns the new state and the point to pass on in its place, if any. */
  first(point: SeriesPoint): { readonly state: SeriesState; readonly out: SeriesPoint | undefined };
  /** Updates the state, and returns the point to pass on; undefined if the point is not newer and must be dropped. */
  next(state: SeriesState, point: SeriesPoint): SeriesPoint | undefined;
  /**
   * Undoes a point that was passed on and refused; it will be sent again. `isLast` means that no point came since, and
   * `before` is the state before the point.
   */
  undo(state: SeriesState, before: SeriesState, passedOn: PointValue, isLast: boolean): void;
}

interface TemporalitySettings {
  readonly maxSeries: number;
  readonly expireAfterMs: number;
  /** Called with the reason for each dropped point. */
  readonly onDropped: (reason: string) => void;
}

/**
 * A processor that keeps the last value of every series. Points that were passed on and refused are undone, because
 * their sender sends them again.
 */
export function temporalityProcessor(
  rules: TemporalityRules,
  settings: TemporalitySettings,
  now: () => number,
): Processor {
  return statefulProcessor((out) => {
    const walk = new TemporalityWalk(rules, settings);
    return {
      next(delivery: Delivery) {
        const { batch, undo } = walk.convert(delivery.batch, now());
        if (batch === delivery.batch) return out.next(delivery);
        if (batch.count === 0) return delivery.accept();
        out.next(delivery.with(batch).observe((outcome) => outcome.ok || undo()));
      },
    };
  });
}

const KINDS: Readonly<Record<number, ConvertedKind>> = {
  [SUM_TAG]: "sum",
  [HISTOGRAM_TAG]: "histogram",
  [EXPONENTIAL_HISTOGRAM_TAG]: "exponentialHistogram",
};

class TemporalityWalk implements RecordVisitor {
  private readonly rules: TemporalityRules;
  private readonly settings: TemporalitySettings;
  private readonly owners = new MetricOwners();
  private readonly table: SeriesTable<SeriesState>;
  private readonly reader = new PointReader();
  private undos: (() => void)[] = [];
  private now = 0;
  // The metric that is being read.
  private dataSerial = 0;
  private kind: ConvertedKind | undefined;
  private owner = 0;

  constructor(rules: TemporalityRules, settings: TemporalitySettings) {
    this.rules = rules;
    this.settings = settings;
    const { maxSeries, expireAfterMs } = settings;
    this.table = new SeriesTable({ maxSeries, expireAfterMs });
  }

  convert(batch: Batch, now: number): { readonly batch: Batch; readonly undo: () => void } {
    this.now = now;
    this.dataSerial = 0;
    this.undos = [];
    const result = new RecordWalk(batch).run(this);
    const { undos } = this;
    this.table.sweep(now, SWEEP_KEYS);
    const undo = () => {
      for (const one of undos.reverse()) one();
    };
    return { batch: result, undo };
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[3] !== this.dataSerial) this.enterMetric(walk);
    const { kind } = this;
    if (kind === undefined) return KEEP;
    walk.editFrame(3, this);
    const b = walk.bytes;
    this.reader.read(b, start, end, walk.frames[3]!.tag);
    // A point without a value also ends the series for consumers that add deltas up; among deltas it would mean
    // nothing.
    if (this.reader.hasNoValue) return this.rules.to === 2 ? KEEP : this.drop("no_value");
    const point = this.pointOf(b, start, end, kind);
    if (point.value instanceof DoubleNumber && Number.isNaN(point.value.value)) return KEEP;
    const out = this.converted(point);
    if (out === undefined) return DROP;
    const writer = walk.beginRecord();
    writer.copyFieldsExcept(b, start, end, REPLACED_TAGS[kind]);
    writer.byte(DATA_POINT_START_TIME_TAG);
    writer.fixed64(out.start);
    out.value.write(writer);
    walk.endRecord();
    return KEEP;
  }

  /** Writes the new temporality of a metric after its points. */
  apply(out: WireWriter, start: number): void {
    const at = findField(out.bytes, start, out.length, TEMPORALITY_TAG);
    out.bytes[at] = this.rules.to;
  }

  private converted(point: SeriesPoint): SeriesPoint | undefined {
    const { bytes, start, end } = this.reader.attributes;
    const state = this.table.find(this.owner, bytes, start, end, this.now);
    if (state === undefined) return this.firstOf(point, bytes, start, end);
    const before = { ...state };
    const out = this.rules.next(state, point);
    if (out === undefined) {
      this.drop("out_of_order");
      return undefined;
    }
    const { time, value } = state;
    this.undos.push(() => this.rules.undo(state, before, out.value, state.time === time && state.value === value));
    return out;
  }

  private firstOf(point: SeriesPoint, b: Uint8Array, start: number, end: number): SeriesPoint | undefined {
    const { state, out } = this.rules.first(point);
    const { owner } = this;
    if (this.table.add(owner, b, start, end, this.now, state) === undefined) {
      this.drop("max_series");
      return undefined;
    }
    if (out === undefined) this.drop("initial");
    else {
      const key = b.slice(start, end);
      const { time } = state;
      this.undos.push(() => {
        if (state.time === time) this.table.delete(owner, key, 0, key.length);
      });
    }
    return out;
  }

  private drop(reason: string): typeof DROP {
    this.settings.onDropped(reason);
    return DROP;
  }

  private enterMetric(walk: RecordWalk): void {
    const { bytes: b, frames, serials } = walk;
    this.dataSerial = serials[3]!;
    const [metric, data] = [frames[2]!, frames[3]!];
    const kind = KINDS[data.tag];
    this.kind = undefined;
    if (kind === undefined || numberAt(b, data, TEMPORALITY_TAG) !== this.rules.from) return;
    const name = decodeText(b, ...message(b, metric.start, metric.end, METRIC_NAME_TAG));
    const isMonotonic = kind !== "sum" || numberAt(b, data, MONOTONIC_TAG) === 1;
    if (!this.rules.isWanted({ name, kind, isMonotonic })) return;
    this.kind = kind;
    this.owner = this.owners.idOf(walk);
  }

  private pointOf(b: Uint8Array, start: number, end: number, kind: ConvertedKind): SeriesPoint {
    let [from, time] = [0n, 0n];
    let value: PointValue | undefined;
    for (let p = start; p < end; ) {
      p = stepOver(b, p);
      if (fieldTag === DATA_POINT_START_TIME_TAG) from = unsignedAt(b, valueAt);
      else if (fieldTag === DATA_POINT_TIME_TAG) time = unsignedAt(b, valueAt);
      else if (fieldTag === NUMBER_INT_TAG && kind === "sum")
        value = new IntegerValue(BigInt.asIntN(64, unsignedAt(b, valueAt)));
    }
    if (kind === "histogram") value = HistogramValue.of(this.reader);
    else if (kind === "exponentialHistogram") value = ExponentialValue.of(this.reader);
    return { start: from, time, value: value ?? new DoubleNumber(this.reader.value) };
  }
}

/** Number of keys checked for expiry with each batch. */
const SWEEP_KEYS = 1000;
