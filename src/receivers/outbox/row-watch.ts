import type { MessageWatch } from "#contract";
import type { AttemptError, Entry } from "#contract/operations";
import type { Outcome } from "../../plugin.js";

/** How a row ended: delivered if there is no `error`. */
export interface RowEnd {
  readonly error?: string | undefined;
  readonly attempts: number;
  /** Milliseconds since the epoch. */
  readonly firstFailedAt?: number | undefined;
}

/**
 * Gathers how the queues of exporters end with the entries of one row. The row ends when everybody has taken its data
 * and no entry is left; it has failed if one of them is a dead letter.
 */
export class RowWatch implements MessageWatch {
  readonly message: string;
  readonly replayedBy: string | undefined;
  /** Whether no further queue will begin with an entry of the row. */
  isTaken = false;
  /** Resolves when the row has ended. */
  readonly ended: Promise<RowEnd>;
  private readonly open = new Set<string>();
  private error: string | undefined;
  private attempts = 0;
  private firstFailedAt: number | undefined;
  private resolve: (end: RowEnd) => void = () => {};

  constructor(message: string, replayedBy?: string) {
    this.message = message;
    this.replayedBy = replayedBy;
    this.ended = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  begin(entry: string): (outcome: Outcome) => void {
    this.open.add(entry);
    return (outcome) => {
      if (!outcome.ok) this.error ??= outcome.refusal.message;
      this.open.delete(entry);
      this.endIfDone();
    };
  }

  report({ calls, firstFailedAt }: Pick<Entry, "calls" | "firstFailedAt">, error?: AttemptError): void {
    this.attempts = Math.max(this.attempts, calls);
    this.firstFailedAt = Math.min(
      this.firstFailedAt ?? Number.POSITIVE_INFINITY,
      firstFailedAt ?? Number.POSITIVE_INFINITY,
    );
    if (error !== undefined) this.error ??= error.message;
  }

  /** To be called when every exporter has taken the row's data. `error` says why it was kept as a dead letter. */
  taken(error?: string): void {
    this.isTaken = true;
    this.error ??= error;
    this.endIfDone();
  }

  private endIfDone(): void {
    if (!this.isTaken || this.open.size > 0) return;
    const { error, attempts, firstFailedAt = Number.POSITIVE_INFINITY } = this;
    this.resolve({ error, attempts, ...(Number.isFinite(firstFailedAt) && { firstFailedAt }) });
  }
}
