import {
  INSIGHT_BUCKETS,
  type InsightAnswer,
  type InsightAnswerRow,
  type InsightBy,
  type InsightFate,
  type InsightLabel,
  type InsightPlace,
  type InsightPrice,
  type InsightReading,
  type InsightSnapshot,
  type InsightSort,
} from "#contract/insight";
import type { Signal } from "../../../plugin.js";
import {
  type ChosenPlace,
  distinctCount,
  distinctError,
  type MergedRow,
  mergeRows,
  moneyFor,
  rowKey,
} from "./merge-rows.js";

export interface InsightQuery {
  readonly by: InsightBy;
  readonly place: string | undefined;
  readonly signal: Signal | undefined;
  /** Only rows whose records come mostly from this service. */
  readonly service?: string | undefined;
  readonly limit: number;
  readonly sort: InsightSort;
  /** Whether examples may be seen. */
  readonly showsExamples: boolean;
}

const MONTH_DAYS = 30;
const DAY_MS = 86_400_000;
/** Money per day is not computed from less time. */
const MIN_WINDOW_MS = 10_000;
/** 19 times out of 20 the truth is within so many standard deviations. */
const DEVIATIONS = 1.96;
/** Above this share something counts as kept, and below this one as dropped. */
const KEPT = 0.95;
const DROPPED = 0.005;
const NO_NAME = "(none)";
/** The label that stands for the resource. */
export const RESOURCE_LABEL = "(resource)";

/** Makes the answer from what all workers know. */
export function insightAnswer({ snapshots, unavailableWorkers }: InsightReading, query: InsightQuery): InsightAnswer {
  const { by } = query;
  const all = snapshots.flatMap(({ places }) => places);
  const place = query.place ?? (all.some(isAtExporter) || all.length === 0 ? "exporters" : "receivers");
  const choose = chooserOf(place, query.signal);
  const windowMs = Math.max(...snapshots.map((each) => each.windowMs), MIN_WINDOW_MS);
  const perDay = DAY_MS / windowMs;
  const hasPrices = snapshots.some(({ prices }) => Object.keys(prices).length > 0);
  const total = totalOf(snapshots, choose);
  const rows = by === "exporter" ? exporterRows(snapshots, choose) : mergeRows(snapshots, choose);
  const fateOf = fates(snapshots, by);
  const shown = [...rows.values()].filter(({ context }) => by !== "cardinality" || context === undefined);
  const labels = by === "cardinality" ? labelsOf(rows) : undefined;
  const answered = shown.map((row): InsightAnswerRow => {
    const series = row.registers && distinctCount(row.registers);
    const seriesPrice = sumOf([...row.seriesPrices.values()], (price) => price);
    const seriesCost = ((series ?? 0) / 1000) * (seriesPrice / MONTH_DAYS);
    return {
      name: row.name || NO_NAME,
      signal: row.signal,
      ...(by === "attribute" && row.context !== undefined && { context: row.context as "record" }),
      ...(row.service !== undefined && { service: row.service || NO_NAME, isShared: row.isShared }),
      records: Math.round(row.records),
      bytes: Math.round(row.bytes),
      share: total.bytes > 0 ? row.bytes / total.bytes : 0,
      error: {
        records: Math.ceil(DEVIATIONS * Math.sqrt(row.recordVariance)),
        bytes: Math.ceil(DEVIATIONS * Math.sqrt(row.byteVariance) + row.missedBytes),
      },
      firstSeen: new Date(row.firstSeen).toISOString(),
      lastSeen: new Date(row.lastSeen).toISOString(),
      now: fateOf(row),
      series: Array.from(row.series, Math.round),
      costPerDay: hasPrices ? row.cost * perDay + seriesCost : null,
      ...(query.showsExamples && row.example !== undefined && { example: row.example }),
      ...(series !== undefined && { seriesCount: series, seriesError: distinctError(row.registers!) }),
      ...(labels !== undefined && { labels: labels.get(`${row.signal} ${row.name}`) ?? [] }),
    };
  });
  const wanted = answered.filter(({ service }) => query.service === undefined || service === query.service);
  const now = Math.max(...snapshots.map(({ at }) => at), 0);
  return {
    enabled: snapshots.length > 0,
    by,
    place,
    places: placeNames(all),
    from: new Date(now - (snapshots.length === 0 ? 0 : windowMs)).toISOString(),
    to: new Date(now).toISOString(),
    total: {
      records: total.records,
      bytes: total.bytes,
      costPerDay: hasPrices ? total.cost * perDay : null,
      series: total.series,
    },
    rows: wanted.sort(ORDERS[query.sort]).slice(0, query.limit),
    rowCount: wanted.length,
    sample: {
      ratio: snapshots[0]?.ratio ?? 0,
      batches: sumOf(all, ({ batches }) => batches),
      readBatches: sumOf(all, ({ readBatches }) => readBatches),
    },
    overflow: overflowOf(snapshots),
    memory: {
      bytes: sumOf(snapshots, ({ memoryBytes }) => memoryBytes),
      limit: sumOf(snapshots, ({ memoryLimit }) => memoryLimit),
    },
    ...(unavailableWorkers.length > 0 && { unavailableWorkers }),
  };
}

type Chooser = (place: InsightPlace, snapshot: InsightSnapshot) => ChosenPlace | undefined;

/** At exporters, data counts once for each exporter that gets it, because each of them has its price. */
function chooserOf(name: string, signal: Signal | undefined): Chooser {
  return (place, { prices }) => {
    if (signal !== undefined && place.signal !== signal) return undefined;
    const exporters = name === "exporters" ? place.exporters : place.exporters.filter((each) => each === name);
    const isOther =
      (name === "receivers" && place.receiver !== undefined) ||
      [place.receiver, place.pipeline, place.id].includes(name);
    const times = exporters.length > 0 ? exporters.length : isOther ? 1 : 0;
    return times === 0 ? undefined : { place, times, prices: pricesOf(exporters, prices) };
  };
}

function pricesOf(exporters: readonly string[], prices: InsightSnapshot["prices"]): ReadonlyMap<string, InsightPrice> {
  return new Map(exporters.flatMap((id) => (Object.hasOwn(prices, id) ? [[id, prices[id]!] as const] : [])));
}

function totalOf(snapshots: readonly InsightSnapshot[], choose: Chooser) {
  const total = { records: 0, bytes: 0, cost: 0, series: new Array<number>(INSIGHT_BUCKETS).fill(0) };
  for (const snapshot of snapshots)
    for (const place of snapshot.places) {
      const { times = 0, prices = new Map() } = choose(place, snapshot) ?? {};
      total.records += place.records * times;
      total.bytes += place.bytes * times;
      for (const price of prices.values()) total.cost += moneyFor(price, place.records, place.bytes);
      for (const [i, bytes] of place.byteSeries.entries()) total.series[i]! += bytes * times;
    }
  return total;
}

/** Exporters need no sample: everything that they get is counted. */
function exporterRows(snapshots: readonly InsightSnapshot[], choose: Chooser): Map<string, MergedRow> {
  const rows = snapshots.map((snapshot) => ({
    ...snapshot,
    places: snapshot.places.flatMap((place) =>
      place.exporters
        .filter(() => choose(place, snapshot) !== undefined)
        .map((name) => ({ ...exact(place), id: `${place.id} ${name}`, exporters: [name] })),
    ),
  }));
  return mergeRows(
    rows.map((snapshot) => ({
      ...snapshot,
      rows: snapshot.places.filter(({ records }) => records > 0).map((place) => rowOfPlace(place)),
    })),
    (place, { prices }) => ({ place, times: 1, prices: pricesOf(place.exporters, prices) }),
  );
}

function exact(place: InsightPlace): InsightPlace {
  return { ...place, weightedRecords: place.records, weightedBytes: place.bytes, squaredRecords: 0, squaredBytes: 0 };
}

function rowOfPlace({ id, exporters, records, bytes, firstSeen, lastSeen, byteSeries }: InsightPlace) {
  const none = { missedBytes: 0, squaredRecords: 0, squaredBytes: 0, crossRecords: 0, crossBytes: 0 };
  return {
    place: id,
    name: exporters[0]!,
    records,
    bytes,
    firstSeen,
    lastSeen,
    ...none,
    byteSeries: Float32Array.from(byteSeries),
  };
}

/** Compares what receivers hand in with what exporters get, if both are read. */
function fates(snapshots: readonly InsightSnapshot[], by: InsightBy): (row: MergedRow) => InsightFate {
  const unknown: InsightFate = { state: "unknown", kept: null };
  if (by === "exporter" || by === "cardinality" || by === "duplicates") return () => unknown;
  const all = snapshots.flatMap(({ places }) => places);
  const once = (place: InsightPlace): ChosenPlace => ({ place, times: 1, prices: new Map() });
  const received = mergeRows(snapshots, (place) => (place.receiver === undefined ? undefined : once(place)));
  const exporterPlaces = [...new Set(all.filter(isAtExporter).map(({ id }) => id))];
  const sent = exporterPlaces.map((id) => mergeRows(snapshots, (place) => (place.id === id ? once(place) : undefined)));
  return (row) => {
    const hasBoth = all.some((place) => place.signal === row.signal && isAtExporter(place));
    const key = rowKey(row, row.signal);
    const before = received.get(key);
    if (!hasBoth || before === undefined || before.records === 0) return unknown;
    const most = Math.max(0, ...sent.map((rows) => rows.get(key)?.records ?? 0));
    const kept = Math.min(1, most / before.records);
    return { state: kept >= KEPT ? "kept" : kept <= DROPPED ? "dropped" : "sampled", kept };
  };
}

function labelsOf(rows: ReadonlyMap<string, MergedRow>): Map<string, InsightLabel[]> {
  const labels = new Map<string, InsightLabel[]>();
  for (const { name, signal, context, registers, registersWithout } of rows.values()) {
    if (context === undefined || registers === undefined || registersWithout === undefined) continue;
    const key = `${signal} ${name}`;
    const label = context === "" ? RESOURCE_LABEL : context;
    const own = labels.get(key) ?? [];
    own.push({ label, values: distinctCount(registers), seriesWithout: distinctCount(registersWithout) });
    labels.set(key, own);
  }
  for (const own of labels.values()) own.sort((a, b) => a.seriesWithout - b.seriesWithout || b.values - a.values);
  return labels;
}

function placeNames(places: readonly InsightPlace[]): InsightAnswer["places"] {
  const names = (kind: "exporter" | "receiver" | "pipeline", read: (place: InsightPlace) => readonly string[]) =>
    [...new Set(places.flatMap(read))].map((name) => ({ name, kind }));
  const exporters = names("exporter", (place) => place.exporters);
  const receivers = names("receiver", ({ receiver }) => (receiver === undefined ? [] : [receiver]));
  const all = [...(exporters.length > 0 ? ["exporters"] : []), ...(receivers.length > 0 ? ["receivers"] : [])];
  return [
    ...all.map((name) => ({ name, kind: "all" as const })),
    ...exporters,
    ...receivers,
    ...names("pipeline", ({ pipeline }) => [pipeline]),
  ];
}

function overflowOf(snapshots: readonly InsightSnapshot[]): InsightAnswer["overflow"] {
  const evicted = sumOf(snapshots, (each) => each.evicted);
  const unlistedBytes = Math.round(sumOf(snapshots, (each) => each.unlistedBytes));
  const unreadPlaces = Math.max(0, ...snapshots.map((each) => each.unreadPlaces));
  const notes = [
    ...(evicted > 0
      ? [`there are more names than fit: one that is not listed has at most ${unlistedBytes} bytes`]
      : []),
    ...(unreadPlaces > 0 ? [`${unreadPlaces} places are not read, because there are too many`] : []),
  ];
  return {
    isFull: evicted > 0,
    capacity: sumOf(snapshots, (each) => each.capacity),
    evicted,
    unlistedBytes,
    unreadPlaces,
    note: notes.length === 0 ? null : notes.join("; "),
  };
}

function isAtExporter({ exporters }: InsightPlace): boolean {
  return exporters.length > 0;
}

function sumOf<T>(list: readonly T[], read: (each: T) => number): number {
  return list.reduce((sum, each) => sum + read(each), 0);
}

type RowOrder = (a: InsightAnswerRow, b: InsightAnswerRow) => number;

const byBytes: RowOrder = (a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1);

const ORDERS: Readonly<Record<InsightSort, RowOrder>> = {
  bytes: byBytes,
  records: (a, b) => b.records - a.records || byBytes(a, b),
  cost: (a, b) => (b.costPerDay ?? 0) - (a.costPerDay ?? 0) || byBytes(a, b),
  series: (a, b) => (b.seriesCount ?? 0) - (a.seriesCount ?? 0) || byBytes(a, b),
  last_seen: (a, b) => (a.lastSeen < b.lastSeen ? 1 : a.lastSeen > b.lastSeen ? -1 : byBytes(a, b)),
  name: (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : byBytes(a, b)),
};
