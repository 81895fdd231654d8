import { DistinctCounts } from "./distinct-counts.js";
import { PATTERN_BYTES, PATTERN_CACHE_BYTES, PatternMiner } from "./pattern-miner.js";
import { RowServices } from "./row-services.js";
import { type BatchState, ROW_BYTES, TopTable } from "./top-table.js";

/** The rows of each table if the memory limit is `FULL_BYTES`. */
const ROWS = {
  service: 2048,
  severity: 512,
  scope: 1024,
  attribute: 3072,
  metric: 2048,
  label: 2048,
  span: 2560,
  pattern: 2048,
  duplicates: 1024,
} as const;
type InsightTableName = keyof typeof ROWS;

const FULL_BYTES = 32 * 1024 * 1024;
const SEEN_HASHES = 2 ** 18;
/** A name of 128 characters with its object, at most. */
const NAME_BYTES = 360;
/** The service of a row: its name, which may be the last reference to it, the votes and a mark. */
const SERVICE_BYTES = NAME_BYTES + 17;
/** The registers of series have an error of 3.3 %, those of labels of 4.6 % (one standard deviation). */
const SERIES_BITS = 10;
const LABEL_BITS = 9;
const MIN_ROWS = 64;
const GENERATION_MINUTES = 60;

/** All tables of insight. Their memory is fixed when they are made, except for names, whose length is limited. */
export class InsightTables {
  readonly state: BatchState = { serial: 0, weight: 1, records: 0, bytes: 0, now: 0, minute: 0 };
  readonly service: TopTable;
  readonly severity: TopTable;
  readonly scope: TopTable;
  readonly attribute: TopTable;
  readonly metric: TopTable;
  /** Rows of a metric and one of its labels; the label "" stands for the resource. */
  readonly label: TopTable;
  readonly span: TopTable;
  readonly pattern: TopTable;
  readonly duplicates: TopTable;
  readonly miner: PatternMiner;
  readonly patternServices: RowServices;
  readonly metricServices: RowServices;
  readonly spanServices: RowServices;
  readonly series: DistinctCounts;
  readonly labelValues: DistinctCounts;
  readonly seriesWithout: DistinctCounts;
  readonly seen: SeenHashes;
  private readonly all: readonly TopTable[];

  constructor(memoryLimit: number) {
    const share = memoryLimit / FULL_BYTES;
    const table = (name: InsightTableName) =>
      new TopTable(Math.max(MIN_ROWS, Math.floor(ROWS[name] * share)), this.state);
    this.service = table("service");
    this.severity = table("severity");
    this.scope = table("scope");
    this.attribute = table("attribute");
    this.metric = table("metric");
    this.label = table("label");
    this.span = table("span");
    this.pattern = table("pattern");
    this.duplicates = table("duplicates");
    this.miner = new PatternMiner(this.pattern);
    this.series = new DistinctCounts(this.metric.capacity, SERIES_BITS);
    this.labelValues = new DistinctCounts(this.label.capacity, LABEL_BITS);
    this.seriesWithout = new DistinctCounts(this.label.capacity, LABEL_BITS);
    this.seen = new SeenHashes(SEEN_HASHES * share);
    this.patternServices = servicesOf(this.pattern);
    this.metricServices = servicesOf(this.metric);
    this.spanServices = servicesOf(this.span);
    const forgetServices = this.metric.onFree;
    this.metric.onFree = (row) => {
      forgetServices(row);
      this.series.clear(row);
    };
    this.label.onFree = (row) => {
      this.labelValues.clear(row);
      this.seriesWithout.clear(row);
    };
    const { service, severity, scope, attribute, metric, label, span, pattern, duplicates } = this;
    this.all = [service, severity, scope, attribute, metric, label, span, pattern, duplicates];
  }

  endBatch(): void {
    for (const table of this.all) table.endBatch();
  }

  /** Moves the window to this minute. */
  advance(minute: number): void {
    const { state } = this;
    const steps = Math.min(minute - state.minute, GENERATION_MINUTES);
    for (let i = steps - 1; i >= 0; i--) {
      state.minute = minute - i;
      for (const table of this.all) table.beginMinute(state.minute);
      if (state.minute % GENERATION_MINUTES === 0) this.beginGeneration();
    }
  }

  forgetPlace(place: number): void {
    for (const table of this.all) table.forgetPlace(place);
  }

  /** The most memory that the tables can take: names and examples count with their greatest length. */
  get memoryBytes(): number {
    const rows = this.all.reduce((sum, { capacity }) => sum + capacity, 0);
    const registers = this.series.byteLength + this.labelValues.byteLength + this.seriesWithout.byteLength;
    const patterns = this.pattern.capacity * PATTERN_BYTES + PATTERN_CACHE_BYTES;
    const services = (this.pattern.capacity + this.metric.capacity + this.span.capacity) * SERVICE_BYTES;
    return rows * (ROW_BYTES + NAME_BYTES) + services + registers + patterns + this.seen.byteLength;
  }

  private beginGeneration(): void {
    for (const counts of [this.series, this.labelValues, this.seriesWithout]) counts.beginGeneration();
  }
}

/** Keeps the services of a table's rows, in step with the table. */
function servicesOf(table: TopTable): RowServices {
  const services = new RowServices(table.capacity);
  const { onFree } = table;
  table.onFree = (row) => {
    onFree(row);
    services.forget(row);
  };
  table.onMerge = (target, row) => services.merge(target, row);
  return services;
}

/**
 * Remembers the hashes of recent records in fixed memory. A hash that comes to the place of another replaces it, so a
 * repetition may go unnoticed, but what counts as one is one.
 */
class SeenHashes {
  private readonly lows: Uint32Array;
  private readonly highs: Uint32Array;
  private readonly mask: number;

  constructor(entries: number) {
    const size = 2 ** Math.floor(Math.log2(entries));
    this.lows = new Uint32Array(size);
    this.highs = new Uint32Array(size);
    this.mask = size - 1;
  }

  /** Whether this hash was seen before. It is from now on. */
  see(low: number, high: number): boolean {
    const at = low & this.mask;
    if (this.lows[at] === low && this.highs[at] === high) return true;
    this.lows[at] = low;
    this.highs[at] = high;
    return false;
  }

  get byteLength(): number {
    return this.lows.byteLength * 2;
  }
}
