import { INSIGHT_BUCKETS, type InsightPlace } from "#contract/insight";
import type { GraphEdge } from "#contract/operations";

const SUMS = 6;

/** The traffic of one place in the last hour: everything that passed, and what was read of it. */
export class PlaceTraffic {
  readonly index: number;
  readonly edge: GraphEdge;
  receiver: string | undefined;
  exporters: readonly string[] = [];
  private readonly records = new Float64Array(INSIGHT_BUCKETS);
  private readonly bytes = new Float64Array(INSIGHT_BUCKETS);
  private readonly sums = new Float64Array(INSIGHT_BUCKETS * SUMS);
  private minute = 0;
  private firstSeen = 0;
  private lastSeen = 0;

  constructor(index: number, edge: GraphEdge) {
    this.index = index;
    this.edge = edge;
  }

  /** Counts a batch that passes. */
  pass(records: number, bytes: number, now: number): void {
    const bucket = this.minute % INSIGHT_BUCKETS;
    this.records[bucket]! += records;
    this.bytes[bucket]! += bytes;
    this.sums[bucket * SUMS + 5]! += 1;
    if (this.firstSeen === 0) this.firstSeen = now;
    this.lastSeen = now;
  }

  /** Counts a batch that was read and stands for `weight` batches. */
  noteRead(records: number, bytes: number, weight: number): void {
    const at = (this.minute % INSIGHT_BUCKETS) * SUMS;
    const spread = weight * weight - weight;
    this.sums[at]! += weight * records;
    this.sums[at + 1]! += weight * bytes;
    this.sums[at + 2]! += spread * records * records;
    this.sums[at + 3]! += spread * bytes * bytes;
    this.sums[at + 4]! += 1;
  }

  advance(minute: number): void {
    for (let each = Math.max(this.minute + 1, minute - INSIGHT_BUCKETS + 1); each <= minute; each++) {
      const bucket = each % INSIGHT_BUCKETS;
      this.records[bucket] = 0;
      this.bytes[bucket] = 0;
      this.sums.fill(0, bucket * SUMS, (bucket + 1) * SUMS);
    }
    this.minute = minute;
  }

  snapshot(): InsightPlace {
    const { edge, receiver, exporters, firstSeen, lastSeen } = this;
    const { signal, pipeline } = edge;
    const [weightedRecords, weightedBytes, squaredRecords, squaredBytes, readBatches, batches] = this.totals();
    return {
      id: placeId(edge),
      signal,
      pipeline,
      receiver,
      exporters,
      firstSeen,
      lastSeen,
      records: this.records.reduce(add),
      bytes: this.bytes.reduce(add),
      weightedRecords,
      weightedBytes,
      squaredRecords,
      squaredBytes,
      readBatches,
      batches,
      byteSeries: this.inOrder(this.bytes),
      recordSeries: this.inOrder(this.records),
    };
  }

  private totals(): readonly [number, number, number, number, number, number] {
    const totals: [number, number, number, number, number, number] = [0, 0, 0, 0, 0, 0];
    for (const [i, value] of this.sums.entries()) totals[i % SUMS]! += value;
    return totals;
  }

  private inOrder(ring: Float64Array): number[] {
    const start = (this.minute + 1) % INSIGHT_BUCKETS;
    return Array.from(ring, (_, i) => ring[(start + i) % INSIGHT_BUCKETS]!);
  }
}

/** Identifies the output of a node in a pipeline, whichever of its edges is taken. */
export function placeId({ from, pipeline }: Pick<GraphEdge, "from" | "pipeline">): string {
  return `${from}@${pipeline}`;
}

function add(sum: number, value: number): number {
  return sum + value;
}
