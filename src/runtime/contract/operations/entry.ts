import type { Signal } from "#otlp/signals";
import type { Blame } from "../blame.js";
import type { RefusalKind } from "../errors/error-codes.js";
import type { RefusalCategory } from "../errors/refusal.js";
import type { FailureReason, FailureRule } from "./failure-reasons.js";

/**
 * The queue's data about one batch on its way to one exporter.
 *
 * An entry is `pending` (also while it is being sent, since a crash makes no difference) or `failed`, which means that
 * it is a dead letter. A delivered entry is removed. The id is also the idempotency key: it stays the same through
 * retries, restarts and replays.
 */
export interface Entry {
  readonly id: string;
  readonly exporter: string;
  readonly pipeline: string;
  readonly signal: Signal;
  /** Number of records, and of bytes of the payload. */
  readonly items: number;
  readonly bytes: number;
  /** Milliseconds since the epoch, like all times here. */
  readonly enqueuedAt: number;
  readonly source: {
    readonly receiver: string;
    readonly transport: string;
    readonly metadata?: Readonly<Record<string, string>>;
    /** For a message: the queue, topic, stream or table that it came from, and the kind of event that it is about. */
    readonly queue?: string;
    readonly event?: string;
    /** The message that the entry was made from, if its source shows the state of each message. */
    readonly message?: string;
  };
  /**
   * A hash of the client metadata by which the pipeline keeps data apart. Entries with different keys are not merged.
   */
  readonly batchKey?: string;
  /**
   * @internal Whether the entry is never merged with others, because it was made to be sent under its own id; see
   * `Exporter.sealsEntries`.
   */
  readonly isSealed?: boolean;
  /** @internal A hash of the key by which the queue keeps entries in order; see `sending_queue.ordered_by`. */
  readonly orderKey?: string;
  /**
   * @internal The client headers that the receiver kept: in a pipeline's journal all of them, because processors may
   * need them; in an exporter's queue only those that the exporter sends. Not shown to people.
   */
  readonly metadata?: Readonly<Record<string, readonly string[]>>;
  /** As operators see it; a store only has pending and failed entries. */
  readonly state: "pending" | "in_flight" | "failed" | "delivered";
  /**
   * Attempts of the current cycle that count against max_retries. `calls` counts all calls.
   */
  readonly attempts: number;
  readonly calls: number;
  readonly firstFailedAt?: number;
  readonly lastAttemptAt?: number;
  readonly deletedAt?: number;
  /** @internal When the entry was delivered, if it was a dead letter before and its history is still kept. */
  readonly deliveredAt?: number;
  readonly lastError?: AttemptError;
  /** The last attempts of the cycle, oldest first, after those of the entry it was split from. */
  readonly history: readonly Attempt[];
  /** Earlier cycles, each ended by a replay; limited in number. */
  readonly cycles: readonly Cycle[];
  /** How the entry failed; only on failed entries. With `deletedAt` it was deleted, which can be undone. */
  readonly failure?: Failure;
  /** The entry this one was split from, when bad records were separated from good ones. */
  readonly parent?: string;
  /** @internal For a part and for a forwarded copy: the entry in which its records were numbered. */
  readonly numbering?: RecordNumbers;
  /**
   * Identifies the config that the agent ran with when the entry came or was replayed. `replays` counts its replays.
   */
  readonly generation: string;
  readonly replays: number;
  /**
   * @internal Whether the operator who replayed it asked to send it unchanged, without the replay steps of a pipeline.
   */
  readonly goesAsItIs?: boolean;
  /**
   * @internal Changes of the payload by operators, oldest first; limited in number. Previous payloads are kept in the
   * history.
   */
  readonly edits?: readonly EntryEdit[];
  /** @internal The exporter whose dead letter it was before it was replayed to another one. */
  readonly movedFrom?: string;
  /** @internal For a dead letter: where and when a copy was forwarded, and what happened to the copy. */
  readonly forwarded?: {
    readonly to: string;
    readonly at: number;
    readonly state: "queued" | "delivered" | "failed";
    readonly error?: string;
  };
  /** @internal For a forwarded copy: the original dead letter. */
  readonly forwardOf?: { readonly exporter: string; readonly id: string };
  /**
   * @internal Set while the entry is being moved and is still in its former queue too. It must not be sent yet. With
   * `isDead`, it stays a dead letter when it has arrived.
   */
  readonly arriving?: { readonly from: string; readonly isDead?: boolean };
}

/** @internal Numbers of records in the entry that they came in. */
interface RecordNumbers {
  readonly id: string;
  /** Runs of consecutive numbers, from 0; undefined if these are all records of the entry. */
  readonly runs?: readonly (readonly [first: number, count: number])[];
}

/** One change of an entry's payload. `revision` counts the changes; 0 is the original payload. */
export interface EntryEdit {
  readonly revision: number;
  readonly at: number;
  readonly by: string;
  readonly reason?: string | undefined;
  /** The statements of a replay that changed it; undefined if it was edited by hand. */
  readonly transform?: readonly string[] | undefined;
}

/** @internal The number of changes of an entry's payload. */
export function revisionOf({ edits }: Pick<Entry, "edits">): number {
  return edits?.at(-1)?.revision ?? 0;
}

/** Why an attempt to send failed. */
export interface AttemptError {
  readonly kind: RefusalKind;
  /** A stable name for grouping, such as "HTTP 503" or "ECONNREFUSED". */
  readonly class: string;
  readonly message: string;
  readonly code: string;
  readonly status?: string;
  readonly category?: RefusalCategory;
  readonly retryAfterMs?: number;
  readonly blame?: Blame;
  readonly stack?: string;
}

/** One failed attempt to send, with the beginning of the backend's message. */
export interface Attempt {
  readonly at: number;
  readonly error: string;
  readonly message?: string;
  readonly blame?: Blame;
  /** Number of records in the request, if other entries were in it. */
  readonly requestItems?: number;
  /** Wait before the next attempt, in milliseconds. */
  readonly delayMs?: number;
}

/** How an entry became a dead letter, and a sample of its content. */
export interface Failure {
  readonly at: number;
  /**
   * How far the wall clock that gave `at` was behind the time that had passed, in milliseconds; absent if it was not.
   */
  readonly clockBehindMs?: number;
  readonly reason: FailureReason;
  readonly rule?: FailureRule;
  /** schema, business or integration for permanent failures; otherwise downstream_timeout and so on. */
  readonly category: string;
  readonly error: AttemptError;
  /** Number of records in the failed request, if other entries were in it. The error may be about one of those. */
  readonly requestItems?: number;
  /** Number of records of the request that the backend rejected without saying which. It took the others. */
  readonly rejected?: number;
  /** Groups similar failures: a hash of exporter, error class and the message without its numbers and ids. */
  readonly signature: string;
  /** A sample of the content: names, trace ids, schema URLs and values of `event.version`. */
  readonly names: readonly string[];
  readonly traceIds: readonly string[];
  readonly schemaUrls: readonly string[];
  readonly eventVersions?: readonly string[];
}

/** A finished cycle: how the entry failed before it was replayed. */
export interface Cycle {
  readonly failure: Failure;
  readonly attempts: number;
  readonly calls: number;
  readonly firstFailedAt?: number;
  readonly lastError?: AttemptError;
  readonly generation: string;
  readonly replayedAt: number;
  readonly replayedBy: string;
  /** @internal The id of the replay. */
  readonly replayId?: string;
  /** @internal The id that the entry had when it was replayed. Its parts have other ids. */
  readonly replayedAs?: string;
}
