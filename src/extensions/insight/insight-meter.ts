import type { InsightBy, InsightPrice, InsightRow, InsightSnapshot, InsightSource } from "#contract/insight";
import type { AgentInspection, GraphEdge } from "#contract/operations";
import { maskRecordText } from "#text";
import type { Batch, Clock } from "../../plugin.js";
import { BatchReader } from "./batch-reader.js";
import { InsightTables } from "./insight-tables.js";
import { PlaceTraffic, placeId } from "./place-traffic.js";
import type { RowServices } from "./row-services.js";
import type { TopTable } from "./top-table.js";
import { type WatchedPlace, watchedPlaces } from "./watched-places.js";

interface MeterSettings {
  readonly places: readonly string[];
  readonly ratio: number;
  /** Records per second up to which everything is read. */
  readonly fullRate: number;
  readonly memoryLimit: number;
  readonly prices: Readonly<Record<string, InsightPrice>>;
}

interface MeterServices {
  readonly clock: Clock;
  readonly random: () => number;
}

const MAX_PLACES = 64;
const MINUTE_MS = 60_000;
const WINDOW_MS = 60 * MINUTE_MS;
/** Masking takes time, so only the largest patterns are shown. */
const MAX_PATTERNS = 500;

/**
 * Reads a share of the batches that pass at chosen places into tables of fixed size.
 *
 * Invariants:
 * - Whether a batch is read depends on chance and on earlier batches, never on its content. So a sum of what was read,
 *   each batch times its weight (one divided by its chance), is right on average.
 * - Minutes are those of a clock that never jumps. The other clock only names them.
 */
export class InsightMeter implements InsightSource {
  private readonly settings: MeterSettings;
  private readonly services: MeterServices;
  private readonly tables: InsightTables;
  private readonly reader: BatchReader;
  private readonly traffic = new Map<string, PlaceTraffic>();
  private readonly startedAt: number;
  private unreadPlaces = 0;
  private endWatch = () => {};
  /** How many records may be read whatever the ratio. */
  private credit: number;
  private creditedAt: number;

  constructor(settings: MeterSettings, services: MeterServices) {
    this.settings = settings;
    this.services = services;
    this.tables = new InsightTables(settings.memoryLimit);
    this.reader = new BatchReader(this.tables);
    this.startedAt = services.clock.monotonic();
    this.credit = settings.fullRate;
    this.creditedAt = this.startedAt;
  }

  /** Watches the places of this graph, instead of those of the one before. */
  watch(inspection: AgentInspection): void {
    this.endWatch();
    const places = watchedPlaces(inspection.graph, this.settings.places);
    this.unreadPlaces = Math.max(0, places.length - MAX_PLACES);
    const watched = places.slice(0, MAX_PLACES);
    this.forgetOthers(new Set(watched.map(({ edge }) => placeId(edge))));
    const byEdge = new Map<GraphEdge, PlaceTraffic>(watched.map((place) => [place.edge, this.trafficOf(place)]));
    this.endWatch = inspection.watch([...byEdge.keys()], (batch, edge) => {
      const traffic = byEdge.get(edge);
      if (traffic !== undefined) this.onBatch(batch, traffic);
    });
  }

  stop(): void {
    this.endWatch();
    this.endWatch = () => {};
  }

  snapshot(by: InsightBy): InsightSnapshot {
    this.advance();
    const { ratio, memoryLimit, prices } = this.settings;
    const { clock } = this.services;
    const table = this.tableOf(by);
    const places = [...this.traffic.values()].map((each) => each.snapshot());
    return {
      at: clock.now(),
      windowMs: Math.min(clock.monotonic() - this.startedAt, WINDOW_MS),
      ratio,
      places,
      prices,
      memoryLimit,
      rows: this.rowsOf(by),
      capacity: table?.capacity ?? MAX_PLACES,
      evicted: table?.evicted ?? 0,
      unlistedBytes: table?.unlisted() ?? 0,
      unreadPlaces: this.unreadPlaces,
      memoryBytes: this.tables.memoryBytes,
    };
  }

  /** The pipeline waits for this method. */
  private onBatch(batch: Batch, traffic: PlaceTraffic): void {
    const { count, byteLength } = batch;
    const now = this.services.clock.now();
    this.advance();
    traffic.pass(count, byteLength, now);
    const weight = this.weightOf(count);
    if (weight === 0 || count === 0) return;
    const { state } = this.tables;
    state.serial = (state.serial + 1) >>> 0 || 1;
    state.weight = weight;
    state.records = count;
    state.bytes = byteLength;
    state.now = now;
    this.reader.read(batch, traffic.index);
    this.tables.endBatch();
    traffic.noteRead(count, byteLength, weight);
  }

  /** How many batches this one stands for; 0 if it is not read. */
  private weightOf(records: number): number {
    const { ratio } = this.settings;
    if (this.credit > 0) {
      this.credit -= records;
      return 1;
    }
    return this.services.random() < ratio ? 1 / ratio : 0;
  }

  private advance(): void {
    const now = this.services.clock.monotonic();
    const { fullRate } = this.settings;
    this.credit = Math.min(fullRate, this.credit + ((now - this.creditedAt) / 1000) * fullRate);
    this.creditedAt = now;
    const minute = Math.floor((now - this.startedAt) / MINUTE_MS);
    if (minute === this.tables.state.minute) return;
    this.tables.advance(minute);
    for (const traffic of this.traffic.values()) traffic.advance(minute);
  }

  private trafficOf({ edge, receiver, exporters }: WatchedPlace): PlaceTraffic {
    const id = placeId(edge);
    const traffic = this.traffic.get(id) ?? this.newTraffic(edge);
    this.traffic.set(id, traffic);
    traffic.receiver = receiver;
    traffic.exporters = exporters;
    return traffic;
  }

  private newTraffic(edge: GraphEdge): PlaceTraffic {
    const taken = new Set([...this.traffic.values()].map(({ index }) => index));
    let index = 0;
    while (taken.has(index)) index++;
    const traffic = new PlaceTraffic(index, edge);
    traffic.advance(this.tables.state.minute);
    return traffic;
  }

  private forgetOthers(ids: ReadonlySet<string>): void {
    for (const [id, { index }] of this.traffic) {
      if (ids.has(id)) continue;
      this.tables.forgetPlace(index);
      this.traffic.delete(id);
    }
  }

  private tableOf(by: InsightBy): TopTable | undefined {
    return by === "exporter" ? undefined : this.tables[by === "cardinality" ? "label" : by];
  }

  private rowsOf(by: InsightBy): InsightRow[] {
    const { tables } = this;
    if (by === "pattern") return this.patterns();
    const series = (row: number) => ({
      registers: tables.series.registers(row),
      ...shownService(tables.metricServices, row),
    });
    if (by === "metric") return this.rows(tables.metric, series);
    if (by === "span") return this.rows(tables.span, (row) => shownService(tables.spanServices, row));
    if (by !== "cardinality") return this.rows(this.tableOf(by));
    const labels = this.rows(tables.label, (row) => ({
      registers: tables.labelValues.registers(row),
      registersWithout: tables.seriesWithout.registers(row),
    }));
    return [...this.rows(tables.metric, series), ...labels];
  }

  private rows(table: TopTable | undefined, more: (row: number) => Partial<InsightRow> = () => ({})): InsightRow[] {
    if (table === undefined) return [];
    const ids = this.placeIds();
    return [...table.rows()].flatMap((row) => {
      const { place, name, context } = table.names[row]!;
      const id = ids.get(place);
      if (id === undefined) return [];
      const shown = { name: maskRecordText(name), ...(context !== undefined && { context: maskRecordText(context) }) };
      return [{ place: id, ...shown, ...table.read(row), ...more(row) }];
    });
  }

  private patterns(): InsightRow[] {
    const { pattern: table, miner, patternServices } = this.tables;
    const ids = this.placeIds();
    const read = [...table.rows()].map((row) => ({ row, ...table.read(row) }));
    const largest = read.sort((a, b) => b.bytes - a.bytes).slice(0, MAX_PATTERNS);
    return largest.flatMap(({ row, ...sums }) => {
      const place = ids.get(table.names[row]!.place);
      const name = maskRecordText(miner.template(row));
      if (place === undefined) return [];
      const service = shownService(patternServices, row);
      return [{ place, name, ...service, ...sums, example: maskRecordText(miner.example(row)) }];
    });
  }

  private placeIds(): ReadonlyMap<number, string> {
    return new Map([...this.traffic].map(([id, { index }]) => [index, id]));
  }
}

function shownService(services: RowServices, row: number): Pick<InsightRow, "service" | "isShared"> {
  const service = services.serviceOf(row);
  return service === undefined ? {} : { service: maskRecordText(service), isShared: services.isShared(row) };
}
