import {
  INSIGHT_BUCKETS,
  type InsightPlace,
  type InsightPrice,
  type InsightRow,
  type InsightSnapshot,
} from "#contract/insight";
import type { Signal } from "../../../plugin.js";

/** A row of all chosen places and all workers together, scaled to what has passed there. */
export interface MergedRow {
  readonly name: string;
  readonly signal: Signal;
  readonly context: string | undefined;
  /** The service of the largest of the added rows, and whether there are others. */
  service: string | undefined;
  serviceBytes: number;
  isShared: boolean;
  records: number;
  bytes: number;
  /** Variances, and the most bytes that were missed. */
  recordVariance: number;
  byteVariance: number;
  missedBytes: number;
  firstSeen: number;
  lastSeen: number;
  readonly series: Float64Array;
  /** Money for bytes and records in the window, and for series per day. */
  cost: number;
  example: string | undefined;
  registers: Uint8Array | undefined;
  registersWithout: Uint8Array | undefined;
  /** Prices of a thousand series and month, by exporter. */
  readonly seriesPrices: Map<string, number>;
}

/** A place and how often its data counts: once for each exporter. */
export interface ChosenPlace {
  readonly place: InsightPlace;
  readonly times: number;
  /** By exporter. */
  readonly prices: ReadonlyMap<string, InsightPrice>;
}

/** Adds the rows of the chosen places. The same name of several signals stays apart. */
export function mergeRows(
  snapshots: readonly InsightSnapshot[],
  choose: (place: InsightPlace, snapshot: InsightSnapshot) => ChosenPlace | undefined,
): Map<string, MergedRow> {
  const merged = new Map<string, MergedRow>();
  for (const snapshot of snapshots) {
    const chosen = new Map(snapshot.places.map((place) => [place.id, choose(place, snapshot)]));
    for (const row of snapshot.rows) {
      const at = chosen.get(row.place);
      if (at !== undefined && at.times > 0) addRow(merged, row, at);
    }
  }
  return merged;
}

export function rowKey(
  { name, context }: { readonly name: string; readonly context?: string | undefined },
  signal: Signal,
): string {
  return `${signal} ${context === undefined ? "" : `=${context}`} ${name}`;
}

/**
 * The batches that were read stand for others, and their sum is scaled to the sum of all, which is counted. The variance is
 * that of such a ratio: of the differences between a row's share of each batch and its share of all.
 */
function addRow(merged: Map<string, MergedRow>, row: InsightRow, { place, times, prices }: ChosenPlace): void {
  const key = rowKey(row, place.signal);
  const sum = merged.get(key) ?? emptyRow(row, place.signal);
  merged.set(key, sum);
  const recordScale = place.weightedRecords > 0 ? place.records / place.weightedRecords : 1;
  const byteScale = place.weightedBytes > 0 ? place.bytes / place.weightedBytes : 1;
  const records = row.records * recordScale;
  const bytes = row.bytes * byteScale;
  sum.records += records * times;
  sum.bytes += bytes * times;
  const recordShare = place.weightedRecords > 0 ? row.records / place.weightedRecords : 0;
  const byteShare = place.weightedBytes > 0 ? row.bytes / place.weightedBytes : 0;
  sum.recordVariance +=
    (times * recordScale) ** 2 *
    Math.max(0, row.squaredRecords - 2 * recordShare * row.crossRecords + recordShare ** 2 * place.squaredRecords);
  sum.byteVariance +=
    (times * byteScale) ** 2 *
    Math.max(0, row.squaredBytes - 2 * byteShare * row.crossBytes + byteShare ** 2 * place.squaredBytes);
  sum.missedBytes += row.missedBytes * byteScale * times;
  sum.firstSeen = Math.min(sum.firstSeen, row.firstSeen);
  sum.lastSeen = Math.max(sum.lastSeen, row.lastSeen);
  for (let i = 0; i < INSIGHT_BUCKETS; i++) sum.series[i]! += row.byteSeries[i]! * byteScale * times;
  for (const [exporter, price] of prices) {
    sum.cost += moneyFor(price, records, bytes);
    sum.seriesPrices.set(exporter, price.perThousandSeries);
  }
  if (row.service !== undefined) {
    sum.isShared ||= row.isShared === true || (sum.service ?? row.service) !== row.service;
    if (bytes >= sum.serviceBytes) {
      sum.service = row.service;
      sum.serviceBytes = bytes;
    }
  }
  sum.example ??= row.example;
  sum.registers = union(sum.registers, row.registers);
  sum.registersWithout = union(sum.registersWithout, row.registersWithout);
}

export function moneyFor({ perGb, perMillionRecords }: InsightPrice, records: number, bytes: number): number {
  return (bytes / 1e9) * perGb + (records / 1e6) * perMillionRecords;
}

function emptyRow({ name, context, firstSeen, lastSeen }: InsightRow, signal: Signal): MergedRow {
  return {
    name,
    signal,
    context,
    firstSeen,
    lastSeen,
    records: 0,
    bytes: 0,
    recordVariance: 0,
    byteVariance: 0,
    missedBytes: 0,
    cost: 0,
    service: undefined,
    serviceBytes: 0,
    isShared: false,
    seriesPrices: new Map(),
    series: new Float64Array(INSIGHT_BUCKETS),
    example: undefined,
    registers: undefined,
    registersWithout: undefined,
  };
}

function union(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (a === undefined || b === undefined || a.length !== b.length) return a ?? b;
  return a.map((register, i) => Math.max(register, b[i]!));
}

/** The number of distinct values that HyperLogLog's registers stand for. */
export function distinctCount(registers: Uint8Array): number {
  const { length } = registers;
  let sum = 0;
  let zeros = 0;
  for (const register of registers) {
    sum += 2 ** -register;
    if (register === 0) zeros++;
  }
  const alpha = 0.7213 / (1 + 1.079 / length);
  const estimate = (alpha * length * length) / sum;
  const isSmall = estimate <= 2.5 * length && zeros > 0;
  return Math.round(isSmall ? length * Math.log(length / zeros) : estimate);
}

/** The relative error of `distinctCount`, 19 times out of 20. */
export function distinctError(registers: Uint8Array): number {
  return (2 * 1.04) / Math.sqrt(registers.length);
}
