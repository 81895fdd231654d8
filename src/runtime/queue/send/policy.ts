import type { AttemptError } from "#contract/operations";
import type { EntryOutcome } from "../entry/outcome.js";
import type { QueueItem } from "../entry/queue-item.js";

/**
 * One policy of the send path, such as the circuit breaker. `AttemptPolicy` asks the policies of its chain in order, and
 * tells each how a call ended. A policy that has something to say about the next call or success sets its bit in
 * `Trouble`: while no bit is set, none is asked, and none hears of a success.
 */
export interface SendPolicy {
  /** Returns why no call may be made now; undefined if this policy allows one. */
  blocks?(): Hold | undefined;
  /** Returns why these entries may not be sent together now; undefined if this policy allows it. */
  blocksGroup?(items: readonly QueueItem[]): GroupHold | undefined;
  /** Called before a call is made for these entries. */
  began?(items: readonly QueueItem[]): void;
  /** Called when the call has ended, or was not made after all. */
  ended?(end: CallEnd): void;
}

/** The reason why no call may be made at the moment. */
export interface Hold {
  /** Milliseconds until `acquire` is worth calling again; undefined if that depends on a result or on an operator. */
  readonly waitMs: number | undefined;
  /** Whether entries become dead letters (with `rejection`) instead of waiting until the breaker closes. */
  readonly rejects: boolean;
}

/** The treatment of entries that may not be sent now. `hold`: they wait with all others of their key. */
export type GroupHold =
  | { readonly kind: "hold" | "delay"; readonly ms: number }
  | { readonly kind: "end"; readonly outcomeOf: (item: QueueItem) => EntryOutcome };

/** The right to make one call. Its holder must report the outcome once. */
export interface Permit {
  readonly probe: boolean;
  /** The number of state changes so far. Reports from an earlier epoch are ignored. */
  readonly epoch: number;
}

/**
 * - `success`: the backend took the data. `failure`: the backend may be down.
 * - `answered`: the backend refused this data permanently, so it is up. This never counts as a failure.
 * - `cancelled`: no call was made, or the agent aborted it.
 */
export type BreakerOutcome = "success" | "failure" | "answered" | "cancelled";

/** How a call ended. */
export interface CallEnd {
  readonly items: readonly QueueItem[];
  readonly permit: Permit;
  /** As for the breaker; `partial`: one of several servers did not take its share, and another one did. */
  readonly result: BreakerOutcome | "partial";
  /** The error of a `failure`, with the decision on who is to blame. */
  readonly error?: AttemptError;
}

/** The bit of each policy in `Trouble`. */
export const POLICY = { breaker: 1, ramp: 2, holds: 4, bisections: 8, memory: 16, expiry: 32 } as const;

/**
 * The policies that have something to say about the next call or success. Each sets its own bit, and clears it when it
 * has nothing more to say.
 */
export class Trouble {
  /** Read without a method call, because every call and every success looks here. */
  bits = 0;

  set(bit: number, isOn: boolean): void {
    this.bits = isOn ? this.bits | bit : this.bits & ~bit;
  }
}
