import type { Delivery, MessageWatch } from "#contract";
import type { AttemptError, Entry, ExporterStatus } from "#contract/operations";
import type { EndingPipeline } from "#contract/operators";
import { type CompleteSettings, completeSettings } from "#contract/schema";
import type { Batch } from "#otlp";
import type { EntryRef, QueueStore, StoredEntry } from "../store/store.js";

/** A running exporter's queue, as seen by operators and by the maintenance of dead letters. */
export interface ExporterControl {
  readonly id: string;
  readonly settings: CompleteSettings;
  /** Undefined if the exporter has no queue. Then clients wait for the export, and nothing is kept. */
  readonly store: QueueStore | undefined;
  /** Prepares replayed entries before they are sent; undefined if the config is not known. */
  readonly prepare?: PrepareReplayed;
  /** Whether the config has a pipeline with this name; undefined if the config is not known. */
  readonly hasPipeline?: ((pipeline: string) => boolean) | undefined;
  /** Pipelines that end in this exporter; undefined if the config is not known, and for journals. */
  readonly pipelines?: readonly EndingPipeline[] | undefined;
  status(): ExporterStatus;
  /** Whether the entry with this id is being sent; undefined if that is not known. */
  isInFlight?(id: string): boolean;
  /** Stops sending. Calls under way are finished. */
  pause(): void;
  resume(): void;
  /** Takes a delivery as from this pipeline, and settles it; absent if the exporter does not run. */
  accept?(delivery: Delivery, pipeline: string): void;
  /** Makes all waiting retries due now. */
  retryNow(): void;
  forceBreaker(state: "open" | "closed" | "auto"): void;
  /** Maximum number of dead letters put back per second. */
  replayRate: number;
  /** To be called when entries of the store became pending because they were replayed. */
  onReplayed(entries: readonly Entry[]): void;
  /** Lets a watch know how an entry ends that was replayed. */
  watch?(stored: StoredEntry, watch: MessageWatch): void;
  /**
   * For journals: takes over the notes of another journal of the same pipeline, whose entries are about to be moved
   * here. Returns a function that tells which records of such an entry are still owed.
   */
  adoptNotes?(from: QueueStore): Promise<RemainingOf>;
}

/** Returns the records of an entry that no server has accepted yet; possibly none. */
export type RemainingOf = (ref: EntryRef, batch: Batch) => Batch;

/** The control of an exporter with a queue. */
export interface QueueControl extends ExporterControl {
  readonly store: QueueStore;
}

export function hasQueue(control: ExporterControl): control is QueueControl {
  return control.store !== undefined;
}

/**
 * Returns the batch to send for a replayed entry, or the error why it cannot be sent. With `onlyCheck`, the entry is
 * not sent afterwards. Never throws.
 */
export type PrepareReplayed = (
  entry: Pick<Entry, "pipeline" | "signal" | "goesAsItIs">,
  batch: Batch,
  onlyCheck?: boolean,
) => PreparedBatch;

export type PreparedBatch =
  | { readonly batch: Batch; readonly error?: undefined }
  | { readonly batch?: undefined; readonly error: AttemptError };

/** A control that sends nothing and schedules nothing: a replay only writes. */
export function idleControl(id: string, store: QueueStore): QueueControl {
  return {
    id,
    settings: completeSettings({ dead_letter: { retention: 0 }, replay: { batch_size: 500 } }),
    store,
    replayRate: Number.MAX_SAFE_INTEGER,
    status() {
      const { pending, failed, oldestPendingAt, oldestFailedAt } = store.stats;
      return {
        id,
        state: "DOWN",
        paused: true,
        breaker: { state: "closed", forced: false, since: 0 },
        queue: { enabled: true, ...pending, inFlight: 0, oldestAt: oldestPendingAt },
        deadLetters: { ...failed, oldestAt: oldestFailedAt },
        lastSentAt: undefined,
        lastError: undefined,
        failureRate: 0,
        failureTrend: "steady",
        replayRate: 0,
      };
    },
    pause() {},
    resume() {},
    retryNow() {},
    forceBreaker() {},
    onReplayed() {},
  };
}
