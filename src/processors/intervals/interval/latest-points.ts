import { AttributeKey, SeriesTable } from "#metrics";
import { findField, fixed32, message, POINT_ATTRIBUTES_TAGS, varint, WireWriter } from "#otlp/bytes";
import {
  DATA_POINT_TAG,
  DATA_POINT_TIME_TAG,
  METRIC_DATA_TAGS,
  METRIC_NAME_TAG,
  METRIC_UNIT_TAG,
  MONOTONIC_TAG,
  TEMPORALITY_TAG,
} from "#otlp/metric-tags";
import { SCOPE_ITEM_TAG } from "#otlp/tags";
import { type Frame, KEEP, type RecordVisitor, RecordWalk, type Verdict } from "#otlp/views";
import type { Steps } from "#work";
import type { Batch } from "../../../plugin.js";
import { type CollectedFrame, CollectedFrames, piecesOf } from "../collected-frames.js";
import type { NeededRecords, RecordCollection } from "../interval-processor.js";

/** More series than this are passed on early. */
const MAX_SERIES = 500_000;

/** The last point of a series. Its time is in two halves, because a bigint for each point would cost more than the rest. */
interface LatestPoint {
  bytes: Uint8Array;
  timeHigh: number;
  timeLow: number;
  /** The delivery that it came with. */
  source: NeededRecords;
}

/**
 * The last point of each series, by its time. A series is a resource, a scope, a metric (its name, unit, kind,
 * temporality and monotonicity) and attributes. Deliveries whose points were all replaced are not needed any more.
 */
export class LatestPoints implements RecordCollection, RecordVisitor {
  private readonly frames = new CollectedFrames<LatestPoint>();
  private readonly points = new SeriesTable<LatestPoint>({ maxSeries: Number.MAX_SAFE_INTEGER, expireAfterMs: 0 });
  private readonly attributes = new AttributeKey();
  private readonly key = new WireWriter(256);
  private data: CollectedFrame<LatestPoint> | undefined;
  private dataSerial = 0;
  private scope: CollectedFrame<LatestPoint> | undefined;
  private scopeSerial = 0;
  private source: NeededRecords | undefined;

  get isFull(): boolean {
    return this.points.size > MAX_SERIES;
  }

  add(batch: Batch, source: NeededRecords): void {
    this.dataSerial = 0;
    this.scopeSerial = 0;
    this.source = source;
    new RecordWalk(batch).run(this);
    this.source = undefined;
  }

  pieces(): Steps<readonly Batch[]> {
    const write = ({ bytes }: LatestPoint, out: WireWriter) => out.copy(bytes, 0, bytes.length);
    return piecesOf(this.frames.resources, { signal: "metrics", tag: DATA_POINT_TAG, write });
  }

  visit(walk: RecordWalk, start: number, end: number): Verdict {
    if (walk.serials[3] !== this.dataSerial) {
      this.dataSerial = walk.serials[3]!;
      this.data = this.dataOf(walk);
    }
    const { attributes, points } = this;
    const b = walk.bytes;
    const data = this.data!;
    attributes.begin(b);
    attributes.addAll(start, end, POINT_ATTRIBUTES_TAGS[data.tag]!);
    attributes.finish();
    const known = points.findNext(data.id, attributes.bytes, attributes.start, attributes.end, 0);
    if (known !== undefined) this.replace(known, b, start, end);
    else {
      const point = this.newPoint(b, start, end);
      data.items.push(point);
      points.add(data.id, attributes.bytes, attributes.start, attributes.end, 0, point);
    }
    return KEEP;
  }

  private newPoint(b: Uint8Array, start: number, end: number): LatestPoint {
    const at = findField(b, start, end, DATA_POINT_TIME_TAG);
    const source = this.source!;
    source.need();
    const bytes = Uint8Array.from(b.subarray(start, end));
    return { bytes, timeHigh: at < 0 ? 0 : fixed32(b, at + 4), timeLow: at < 0 ? 0 : fixed32(b, at), source };
  }

  /** Keeps the point instead of the known one if it is newer. */
  private replace(known: LatestPoint, b: Uint8Array, start: number, end: number): void {
    const at = findField(b, start, end, DATA_POINT_TIME_TAG);
    if (at < 0) return;
    const high = fixed32(b, at + 4);
    const low = fixed32(b, at);
    if (high < known.timeHigh || (high === known.timeHigh && low <= known.timeLow)) return;
    const replaced = known.source;
    Object.assign(known, this.newPoint(b, start, end));
    replaced.release();
  }

  /** Returns the data of the walk's metric, which its points are in. */
  private dataOf(walk: RecordWalk): CollectedFrame<LatestPoint> {
    const b = walk.bytes;
    const metric = walk.frames[2]!;
    const data = walk.frames[3]!;
    const scope = this.scopeOf(walk);
    const { key } = this;
    key.clear();
    key.byte(data.tag);
    key.byte(numberAt(b, data, TEMPORALITY_TAG));
    key.byte(numberAt(b, data, MONOTONIC_TAG));
    for (const tag of [METRIC_NAME_TAG, METRIC_UNIT_TAG])
      key.lengthDelimited(b.subarray(...message(b, metric.start, metric.end, tag)));
    const frame = this.frames.find(scope, SCOPE_ITEM_TAG, key.written(), b, metric, METRIC_DATA_TAGS);
    return this.frames.find(frame, data.tag, NO_KEY, b, data, [DATA_POINT_TAG]);
  }

  /** Looks for the scope once for all its metrics: to find its fields takes as long as it has metrics. */
  private scopeOf(walk: RecordWalk): CollectedFrame<LatestPoint> {
    if (this.scope !== undefined && walk.serials[1] === this.scopeSerial) return this.scope;
    this.scopeSerial = walk.serials[1]!;
    this.scope = this.frames.scopeOf(walk);
    return this.scope;
  }
}

const NO_KEY = new Uint8Array(0);

/** A small number in a message; 0 if it is missing. */
export function numberAt(b: Uint8Array, { start, end }: Pick<Frame, "start" | "end">, tag: number): number {
  const at = findField(b, start, end, tag);
  return at < 0 ? 0 : varint(b, at);
}
