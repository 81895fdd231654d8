import type { Entry, ExporterStatus } from "#contract/operations";
import type { EndingPipeline } from "#contract/operators";
import type { CompleteSettings } from "#contract/schema";
import type { PrepareReplayed } from "../send/replay-preparation.js";
import type { QueueStore } from "../store/store.js";

/** One exporter's queue at work, as those see it who look after dead letters and operators. */
export interface ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Undefined when the exporter has no queue: then its clients wait for the export, and nothing is kept. */
  readonly store: QueueStore | undefined;
  /** What is done to replayed entries before they are sent; undefined where that is not known. */
  readonly prepare?: PrepareReplayed;
  /** Whether the config has a pipeline of this name; undefined where that is not known. */
  readonly hasPipeline?: ((pipeline: string) => boolean) | undefined;
  /** Those that end in this exporter; undefined where that is not known, and for a journal, which none ends in. */
  readonly pipelines?: readonly EndingPipeline[] | undefined;
  status(): ExporterStatus;
  /** The entry with this id is being sent; not there where that is not known. */
  isInFlight?(id: string): boolean;
  /** Stops sending; what is under way is finished. */
  pause(): void;
  resume(): void;
  /** Lets nothing wait for the time of its retry any longer. */
  retryNow(): void;
  forceBreaker(state: "open" | "closed" | "auto"): void;
  /** Entries per second at which dead letters are put back. */
  replayRate: number;
  /** These are pending in the store now, and it did not put them there itself: they were replayed. */
  onReplayed(entries: readonly Entry[]): void;
}

/** That of an exporter that has a queue. */
export interface QueueControl extends ExporterControl {
  readonly store: QueueStore;
}

export function hasQueue(control: ExporterControl): control is QueueControl {
  return control.store !== undefined;
}
