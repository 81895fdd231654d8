import type { Batch } from "#otlp";
import type { Origin, PartialRejection } from "./delivery.js";

/** Additional data that an exporter may send with a batch. */
export interface SendOptions {
  /**
   * The same for every attempt to send the same batch, even after restarts and replays. A batch merged from several
   * entries of the queue has a key that names them all, and they may be merged differently next time.
   */
  readonly idempotencyKey?: string;
  /**
   * @internal The entries that the batch consists of, if their records had other keys before: those of a part that was
   * cut from an entry, and of a dead letter that was forwarded.
   */
  readonly entries?: readonly NumberedEntry[];
  /** For a replayed dead letter: its id, and how often it was replayed. */
  readonly replayed?: { readonly id: string; readonly attempt: number };
  /** Facts about this attempt. For a merged batch they are those of its first entry. */
  readonly delivery?: DeliveryFacts;
  /** @internal The stored client metadata that the exporter's `metadataKeys` name. */
  readonly metadata?: NonNullable<Origin["metadata"]>;
}

/** @internal An entry, or some of its records by the numbers that they had when it came. */
interface NumberedEntry {
  readonly id: string;
  readonly items: number;
  /** Runs of consecutive numbers, from 0; undefined if these are all records of the entry. */
  readonly runs?: readonly (readonly [first: number, count: number])[];
}

/** Facts about one attempt to send an entry of a queue. Times are milliseconds since the epoch. */
interface DeliveryFacts {
  /** 1 for the first attempt since the entry came, or since it was replayed; always 1 without a queue. */
  readonly attempt: number;
  /** When the entry came into the queue; without a queue, when this attempt began. */
  readonly firstSeenAt: number;
  /** The receiver that it came from. */
  readonly receiver: string;
  /** When the attempt times out; undefined if it never does. */
  readonly deadlineAt?: number;
}

/** Sends batches to a backend. Queue, retries, breaker and timeout are provided by the runtime. */
export interface Exporter {
  start?(): Promise<void>;
  /**
   * @internal Client metadata that it wants in `SendOptions`, by lower-case name, known once it has started. Data that
   * differs in it is sent separately.
   */
  readonly metadataKeys?: readonly string[];
  /**
   * @internal Whether every attempt must send the same records with the same idempotency key, whatever crashes and
   * retries come between. The queue then replaces entries that are sent together with one entry before the first
   * attempt, which costs another write.
   */
  readonly sealsEntries?: boolean;
  /**
   * Sends one batch and resolves when the backend has taken it. Throws a `Refusal` that says whether a retry makes
   * sense; any other error counts as transient. Must stop when `abort` fires, which is valid for this send alone and
   * meaningless after it has ended. May be called many times concurrently.
   */
  send(batch: Batch, abort: AbortSignal, options?: SendOptions): Promise<PartialRejection | undefined>;
  /**
   * Checks whether the backend is up without sending data, and throws if it is not. An exporter with this method is
   * checked in the background while its circuit breaker is open, before any data is sent. One without it is probed with
   * data.
   */
  check?(abort: AbortSignal): Promise<void>;
  /** Called once, when nothing is being sent any more. */
  stop?(): Promise<void>;
}
