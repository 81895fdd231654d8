import type { Signal } from "#otlp/signals";
import type { RehearsedAmount } from "../rehearsal/rehearsal-report.js";
import type { InsightBy } from "./insight-snapshot.js";

/** The columns that rows can be sorted by; the largest first, names in order. */
export const INSIGHT_SORTS = ["bytes", "records", "cost", "series", "last_seen", "name"] as const;
export type InsightSort = (typeof INSIGHT_SORTS)[number];

/** The answer of `GET /insight`. Numbers are estimates, unless everything was read. */
export interface InsightAnswer {
  /** False if the extension does not run. Then there are no rows. */
  readonly enabled: boolean;
  readonly by: InsightBy;
  /** The places that the rows are about: exporters, receivers, or a name. */
  readonly place: string;
  /** Everything that can be asked for as place. */
  readonly places: readonly { readonly name: string; readonly kind: "all" | "exporter" | "receiver" | "pipeline" }[];
  readonly from: string;
  readonly to: string;
  readonly total: {
    readonly records: number;
    readonly bytes: number;
    readonly costPerDay: number | null;
    readonly series: readonly number[];
  };
  readonly rows: readonly InsightAnswerRow[];
  /** The number of rows before `limit`. */
  readonly rowCount: number;
  readonly sample: {
    /** The configured share of batches, and what was read in the window. */
    readonly ratio: number;
    readonly batches: number;
    readonly readBatches: number;
  };
  readonly overflow: {
    readonly isFull: boolean;
    readonly capacity: number;
    readonly evicted: number;
    /** A name that is not listed has at most so many bytes. */
    readonly unlistedBytes: number;
    readonly unreadPlaces: number;
    /** One sentence about missing data; null if none is missing. */
    readonly note: string | null;
  };
  readonly memory: { readonly bytes: number; readonly limit: number };
  readonly unavailableWorkers?: readonly number[];
}

/** Whether the config keeps, samples or drops something, by the numbers before the first processor and at the exporters. */
export interface InsightFate {
  readonly state: "kept" | "sampled" | "dropped" | "unknown";
  /** The share that reaches an exporter; null if it is not known. */
  readonly kept: number | null;
}

/** A label of a metric: how many values it has, and how many series there would be without it. */
export interface InsightLabel {
  /** `(resource)` stands for all resource attributes together. */
  readonly label: string;
  readonly values: number;
  readonly seriesWithout: number;
}

export interface InsightAnswerRow {
  readonly name: string;
  readonly signal: Signal;
  /** For attributes: where the key is. */
  readonly context?: "resource" | "scope" | "record";
  /** For patterns, metrics and spans: the service that most records come from. */
  readonly service?: string;
  /** Whether other services have such records too. */
  readonly isShared?: boolean;
  readonly records: number;
  readonly bytes: number;
  /** The share of all bytes at the place, from 0 to 1. */
  readonly share: number;
  /** The truth is within this distance, 19 times out of 20. */
  readonly error: { readonly records: number; readonly bytes: number };
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly now: InsightFate;
  /** Bytes of each of the last 60 minutes, the oldest first. */
  readonly series: readonly number[];
  /** Null without prices. */
  readonly costPerDay: number | null;
  /** For patterns, and only for those who may see records: a masked line. */
  readonly example?: string;
  /** For metrics: the number of series, and its relative error. */
  readonly seriesCount?: number;
  readonly seriesError?: number;
  /** For cardinality: the labels, the one first without which there would be the fewest series. */
  readonly labels?: readonly InsightLabel[];
}

/** The ways to group traffic for which one service can be chosen. */
export const INSIGHT_BY_OF_SERVICE: readonly InsightBy[] = ["pattern", "metric", "cardinality", "span"];

/** How to cut something: see `GET /insight/cut`. */
export const INSIGHT_ACTIONS = ["drop", "sample", "dedup", "remove_attribute", "aggregate_label"] as const;
export type InsightAction = (typeof INSIGHT_ACTIONS)[number];

/** The answer of `GET /insight/cut`: a config that cuts something, and what that would save. Nothing is applied. */
export interface InsightCut {
  readonly action: InsightAction;
  /** A config file to be merged after the present ones. */
  readonly yaml: string;
  readonly processors: Readonly<Record<string, unknown>>;
  readonly pipelines: readonly string[];
  /** The change of the whole config, with a few lines around it; null if the config is not known. */
  readonly diff: readonly { readonly kind: "same" | "gone" | "new"; readonly text: string }[] | null;
  /** Estimated from the rows of now, per day; null if they do not tell. */
  readonly saves: {
    readonly records: number;
    readonly bytes: number;
    readonly series: number;
    readonly share: number;
    readonly costPerDay: number | null;
  } | null;
  readonly notes: readonly string[];
  /** A command that tries it on live traffic, with the config file of the agent in place of CONFIG. */
  readonly rehearse: string;
}

/** The saving that a rehearsal has measured. It is negative if exporters would get more. */
export interface InsightMeasured {
  /** Per day: the share that the cut saves of the sample, times the traffic of each exporter in the last hour. */
  readonly records: number;
  readonly bytes: number;
  /** The share of the bytes of the sample at all exporters. */
  readonly share: number;
  /** For bytes and records, not for series; null without prices. */
  readonly costPerDay: number | null;
  /** The amounts that exporters get of the sample, without and with the cut. */
  readonly before: RehearsedAmount;
  readonly after: RehearsedAmount;
  readonly notes: readonly string[];
}

/** The answer of `/insight/cut/rehearsal`. */
export interface InsightCutRehearsal<Rehearsal> {
  /** Null if the last rehearsal was not about a cut, or if there was none. */
  readonly rehearsal: Rehearsal | null;
  /** Null until the rehearsal is done. */
  readonly measured: InsightMeasured | null;
}
