import type { ReplaySkip } from "./replay-job.js";

/** A queue that is not empty and that nothing in the config uses. */
export interface OrphanedQueue {
  /** The exporter that had it. A journal has the name of its pipeline, with a prefix. */
  readonly id: string;
  /** Entries of a journal have not passed their pipeline, so no exporter can adopt them. */
  readonly kind: "exporter" | "journal";
  /** A directory, or the name of a queue on a server. */
  readonly place: string;
  /** Entries that wait to be sent. Undefined if that is not known before the queue is opened. */
  readonly pending?: number | undefined;
  readonly deadLetters?: number | undefined;
  /** The last adoption since the agent was started. */
  readonly adoption?: QueueAdoption | undefined;
}

/** How far an adoption has come. `total` is what was in the queue when it began. */
export interface QueueAdoption {
  readonly queue: string;
  readonly to: string;
  readonly by: string;
  readonly startedAt: number;
  /** `cancelled`: the exporter came back, or the agent stopped. What was not moved is still in the queue. */
  readonly state: "running" | "done" | "failed" | "cancelled";
  readonly total: number;
  readonly moved: number;
  /** Entries that stay in the queue, by reason. */
  readonly skipped: Readonly<Partial<Record<ReplaySkip, number>>>;
  readonly error?: string | undefined;
}

/** How a queue is adopted. */
export interface AdoptOptions {
  /** The exporter whose queue gets the entries. */
  readonly to: string;
  readonly by: string;
  /** For entries whose pipeline is not in the config: see `ReplayOptions`. */
  readonly pipeline?: string | false | undefined;
  /** @internal Called when the adoption has ended. */
  readonly onEnd?: ((adoption: QueueAdoption) => void) | undefined;
}

/** The queues that removed exporters and pipelines have left. */
export interface OrphanedQueues {
  list(): Promise<readonly OrphanedQueue[]>;
  /**
   * Moves the entries of an orphaned queue into the queue of another exporter: waiting ones to be sent, dead letters as
   * dead letters. Resolves when that has begun. An emptied queue is removed.
   */
  adopt(id: string, options: AdoptOptions): Promise<QueueAdoption>;
  /** The last adoption of this queue since the agent was started. */
  adoption(id: string): QueueAdoption | undefined | Promise<QueueAdoption | undefined>;
  /** Removes an orphaned queue with all its entries. Returns their number; undefined if it is not known. */
  delete(id: string): Promise<number | undefined>;
}
