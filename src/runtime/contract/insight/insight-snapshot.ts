import type { Signal } from "#otlp/signals";

/** The ways in which insight groups traffic. */
export const INSIGHT_BY = [
  "service",
  "severity",
  "scope",
  "exporter",
  "pattern",
  "attribute",
  "metric",
  "span",
  "cardinality",
  "duplicates",
] as const;
export type InsightBy = (typeof INSIGHT_BY)[number];

/** Number of buckets in a series: one per minute, so that a series covers the window of one hour. */
export const INSIGHT_BUCKETS = 60;

/** Prices of what an exporter sends, in any currency. */
export interface InsightPrice {
  readonly perGb: number;
  readonly perMillionRecords: number;
  /** Per thousand series and month of 30 days. */
  readonly perThousandSeries: number;
}

/** A place in the graph where traffic is read: the output of one node in one pipeline. */
export interface InsightPlace {
  readonly id: string;
  readonly signal: Signal;
  readonly pipeline: string;
  /** The receiver that the traffic comes from, if it is read there before any processor. */
  readonly receiver: string | undefined;
  /** The exporters that get it. */
  readonly exporters: readonly string[];
  /** Records and bytes that passed in the window, which are counted, and what the read batches stand for. */
  readonly records: number;
  readonly bytes: number;
  readonly weightedRecords: number;
  readonly weightedBytes: number;
  readonly readBatches: number;
  readonly batches: number;
  /** Sums over the read batches for the variance of a row: of c·n² and c·m², with n records and m bytes. */
  readonly squaredRecords: number;
  readonly squaredBytes: number;
  /** Bytes and records of each minute, the oldest first. */
  readonly byteSeries: readonly number[];
  readonly recordSeries: readonly number[];
  readonly firstSeen: number;
  readonly lastSeen: number;
}

/** A row of one place, before rows of several places and workers are added. Numbers are weighted, not yet scaled. */
export interface InsightRow {
  readonly place: string;
  readonly name: string;
  /** Where an attribute is: `resource`, `scope` or `record`. For a cardinality: the label that the row is about. */
  readonly context?: string;
  /** For patterns, metrics and spans: the service that most records come from, and whether others have some too. */
  readonly service?: string;
  readonly isShared?: boolean;
  readonly records: number;
  readonly bytes: number;
  /** The most that may be missing, because the row was not yet listed when the first of it passed. */
  readonly missedBytes: number;
  readonly squaredRecords: number;
  readonly squaredBytes: number;
  readonly crossRecords: number;
  readonly crossBytes: number;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly byteSeries: Float32Array;
  /** A masked line that has the pattern. */
  readonly example?: string;
  /** Registers of HyperLogLog: of the series, or of the values of the label and of the series without it. */
  readonly registers?: Uint8Array;
  readonly registersWithout?: Uint8Array;
}

/** Everything that one process knows for one `by`. All values can be sent to another process. */
export interface InsightSnapshot {
  readonly at: number;
  /** Milliseconds since reading began, at most the window. */
  readonly windowMs: number;
  readonly ratio: number;
  readonly places: readonly InsightPlace[];
  readonly rows: readonly InsightRow[];
  /** How many rows fit, how many had to leave, and the most bytes that a name can have that is not listed. */
  readonly capacity: number;
  readonly evicted: number;
  readonly unlistedBytes: number;
  /** Places that are not read because there are too many. */
  readonly unreadPlaces: number;
  readonly memoryBytes: number;
  readonly memoryLimit: number;
  readonly prices: Readonly<Record<string, InsightPrice>>;
}

/** Something that reads traffic for insight: the extension, as the agent sees it. */
export interface InsightSource {
  snapshot(by: InsightBy): InsightSnapshot;
}

/** The snapshots of all workers, and the workers that did not answer. */
export interface InsightReading {
  readonly snapshots: readonly InsightSnapshot[];
  readonly unavailableWorkers: readonly number[];
}
