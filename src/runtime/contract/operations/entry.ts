import type { Signal } from "#otlp/signals";
import type { Blame } from "../blame.js";
import type { RefusalCategory, RefusalKind } from "../errors/refusal.js";
import type { FailureReason, FailureRule } from "./failure-reasons.js";

/**
 * What the queue keeps about one batch on its way to one exporter.
 *
 * An entry is `pending` (also while it is being sent: a crash makes no difference) or `failed`, which is what a dead
 * letter is. A delivered entry is gone. The id is also the idempotency key: it stays the same through retries, restarts
 * and replays.
 */
export interface Entry {
  readonly id: string;
  readonly exporter: string;
  readonly pipeline: string;
  readonly signal: Signal;
  /** Records in it, and bytes of its payload. */
  readonly items: number;
  readonly bytes: number;
  /** Milliseconds since the epoch, as all times here. */
  readonly enqueuedAt: number;
  readonly source: {
    readonly receiver: string;
    readonly transport: string;
    readonly metadata?: Readonly<Record<string, string>>;
  };
  /** Tells apart what a pipeline does not want merged: a hash of the client metadata that it names. */
  readonly batchKey?: string;
  /**
   * @internal What the receiver kept of the client's headers: in a pipeline's journal, whose processors may ask for it, all of it;
   * in the queue of an exporter what that sends on. It is not shown to people.
   */
  readonly metadata?: Readonly<Record<string, readonly string[]>>;
  /** As operators see it; a store has pending and failed ones. */
  readonly state: "pending" | "in_flight" | "failed" | "delivered";
  /** Attempts of the present cycle that count against max_retries, and how many were really made. */
  readonly attempts: number;
  readonly calls: number;
  readonly firstFailedAt?: number;
  readonly lastAttemptAt?: number;
  readonly deletedAt?: number;
  /** @internal When it was delivered, if it was a dead letter before and its history is still kept. */
  readonly deliveredAt?: number;
  readonly lastError?: AttemptError;
  /** The last attempts of the cycle, oldest first, before them those of what it was split from. */
  readonly history: readonly Attempt[];
  /** Earlier cycles, each ended by a replay; bounded. */
  readonly cycles: readonly Cycle[];
  /** How it failed; present on failed entries only. With `deletedAt` it was deleted, which can be undone. */
  readonly failure?: Failure;
  /** The entry this one was split from, when bad records were separated from good ones. */
  readonly parent?: string;
  /** Names the config the agent ran with when it came, or was replayed; and times it was replayed. */
  readonly generation: string;
  readonly replays: number;
  /** @internal Whoever replayed it has said that it goes as it is, without the steps of a pipeline. */
  readonly goesAsItIs?: boolean;
  /** @internal Changes of its payload by operators, oldest first; bounded. What it was before each is kept in the history. */
  readonly edits?: readonly EntryEdit[];
  /** @internal The exporter whose dead letter it was before it was replayed to another. */
  readonly movedFrom?: string;
  /** @internal Of a dead letter: the exporter that a copy of it was forwarded to, when, and what became of that. */
  readonly forwarded?: {
    readonly to: string;
    readonly at: number;
    readonly state: "queued" | "delivered" | "failed";
    readonly error?: string;
  };
  /** @internal Of such a copy: the dead letter that it is one of. */
  readonly forwardOf?: { readonly exporter: string; readonly id: string };
  /** @internal It lies here while it is moved, and also still in the queue it comes from: it must not be sent yet. */
  readonly arriving?: { readonly from: string };
}

/** One change of an entry's payload; `revision` counts them, 0 is the payload as it came. */
export interface EntryEdit {
  readonly revision: number;
  readonly at: number;
  readonly by: string;
  readonly reason?: string | undefined;
  /** The statements of a replay that changed it; without, it was edited by hand. */
  readonly transform?: readonly string[] | undefined;
}

/** How often the payload of an entry was changed. */
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

/** One failed attempt to send, with the beginning of what the other side said. */
export interface Attempt {
  readonly at: number;
  readonly error: string;
  readonly message?: string;
  readonly blame?: Blame;
  /** Records in the request, when it had more than this entry's own. */
  readonly requestItems?: number;
  /** Wait before the next attempt. */
  readonly delayMs?: number;
}

/** How an entry became a dead letter, and a sample of what is inside. */
export interface Failure {
  readonly at: number;
  readonly reason: FailureReason;
  readonly rule?: FailureRule;
  /** schema, business, integration for permanent ones; else downstream_timeout and so on. */
  readonly category: string;
  readonly error: AttemptError;
  /** Records of the request it failed in, when there were others: the error may be about one of them. */
  readonly requestItems?: number;
  /** How many records of the request the other side rejected, not saying which; it has taken the others. */
  readonly rejected?: number;
  /** Groups alike failures: a hash of exporter, error class and the message without its numbers and ids. */
  readonly signature: string;
  /** A sample of what is inside: names, trace ids, schema urls, values of `event.version`. */
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
  /** @internal The replay, and the id that the entry had then: parts of it have others. */
  readonly replayId?: string;
  /** @internal See `replayId`. */
  readonly replayedAs?: string;
}
