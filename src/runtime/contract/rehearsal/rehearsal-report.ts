import type { Signal } from "#otlp/signals";

/** A field of records that the new config adds, removes or changes. */
export interface FieldChange {
  /** `attributes["a"]`, `resource.attributes["service.name"]`, `body`; masked. */
  readonly field: string;
  readonly change: "added" | "removed" | "changed";
  records: number;
  /** Masked values of some records. */
  readonly examples: { readonly before?: string; readonly after?: string }[];
}

/** A record as text lines for people, masked. */
export interface ShownRecord {
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * `refused`: records that were refused to their sender. `dead_letter`: records that an exporter would keep as a dead
 * letter. `not_received`: records that no receiver of the config takes. `log`: lines of the log, warnings and errors.
 */
export type RehearsalErrorKind = "refused" | "dead_letter" | "not_received" | "log";

/** Records and bytes of OTLP, uncompressed. */
export interface RehearsedAmount {
  readonly records: number;
  readonly bytes: number;
}

/**
 * Counts what the new config does with records. A record that two exporters get counts twice. `moved` records go to another exporter than
 * before; they are neither dropped nor new.
 */
interface RecordCounts {
  readonly unchanged: number;
  readonly changed: number;
  readonly dropped: number;
  readonly new: number;
  readonly moved: number;
}

export interface ExporterComparison extends RecordCounts {
  readonly exporter: string;
  readonly signal: Signal;
  readonly before: RehearsedAmount;
  readonly after: RehearsedAmount;
}

/** Fields of the records of one exporter that differ. */
export interface FieldComparison extends FieldChange {
  readonly exporter: string;
  readonly signal: Signal;
}

/** A record that only one of the configs lets through to this exporter. */
export interface RecordExample extends ShownRecord {
  readonly exporter: string;
  readonly signal: Signal;
  readonly what: "dropped" | "new";
}

/** An error with the number of records, or lines of the log, under both configs. */
export interface ErrorComparison {
  readonly kind: RehearsalErrorKind;
  readonly where: string;
  readonly message: string;
  readonly before: number;
  readonly after: number;
}

export interface SampleFacts extends RehearsedAmount {
  readonly batches: number;
  /** Time from the first to the last batch. */
  readonly seconds: number;
  /** Records that passed and were left out because of a limit, beyond those that the share leaves out. */
  readonly skipped: number;
}

/** The difference that a new config makes to a sample. All texts from records are masked. */
export interface RehearsalReport {
  readonly sample: SampleFacts;
  /** False if there is no old config: then everything of `before` is 0, and nothing is compared. */
  readonly isComparison: boolean;
  readonly exporters: readonly ExporterComparison[];
  readonly total: RecordCounts & { readonly before: RehearsedAmount; readonly after: RehearsedAmount };
  readonly moved: readonly { readonly from: string; readonly to: string; readonly records: number }[];
  readonly fields: readonly FieldComparison[];
  /** How many of the changed records `fields` counts. */
  readonly changedExamined: number;
  readonly examples: readonly RecordExample[];
  readonly errors: readonly ErrorComparison[];
  /** Records, and lines of the log, that only the new config makes errors of. */
  readonly newErrors: number;
  /** CPU time per record of the sample, in microseconds, as the median of its parts; undefined if there are too few to measure it. */
  readonly cpu: { readonly before?: number | undefined; readonly after?: number | undefined };
}
