import type { Outcome } from "./debt.js";
import type { AttemptError, Entry } from "./operations/entry.js";

/**
 * @internal Learns how the entries of queues end that were made from one message, for a receiver whose source shows the
 * state of each message.
 */
export interface MessageWatch {
  /** Identifies the message at its source, and is stored with its entries. */
  readonly message: string;
  /**
   * Set if the message was replayed at its source. Then a dead letter that a queue has of it is put back, with the
   * message as it is now.
   */
  readonly replayedBy?: string | undefined;
  /**
   * Called when a queue has an entry of the message, perhaps several times for the same entry. The returned function is
   * called with the entry's outcome.
   */
  begin(entry: string): (outcome: Outcome) => void;
  /** Called before the outcome of an entry, with the entry as it was at its end, and the error if it failed. */
  report(entry: Pick<Entry, "id" | "parent" | "calls" | "firstFailedAt">, error?: AttemptError): void;
  /** Called if a queue has another dead letter of the message, which is not replayed with this one. */
  hasDeadLetter(entry: Pick<Entry, "id" | "failure">): void;
}

/** @internal The messages of a receiver whose source shows the state of each message. */
export interface MessageSource {
  /**
   * Tells the source that dead letters of these messages are about to be replayed. Resolves with a watch for each that
   * may be replayed, and the reason for each other one. Rejects if the source cannot be reached.
   */
  replay(
    messages: readonly string[],
    by: string,
    generation?: string,
  ): Promise<ReadonlyMap<string, MessageWatch | string>>;
}
