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
 * and no entry is left; it has failed if one of them is a dead letter then. A dead letter that is replayed before that
 * counts as it ends the next time.
 */
export class RowWatch implements MessageWatch {
  readonly message: string;
  readonly replayedBy: string | undefined;
  /** Whether no further queue will begin with an entry of the row. */
  isTaken = false;
  /** Resolves when the row has ended. */
  readonly ended: Promise<RowEnd>;
  private readonly open = new Set<string>();
  private hasBegun = false;
  /** Why entries failed, by their id. `root` is the entry that they are parts of, or the same id. */
  private readonly errors = new Map<string, { readonly root: string; readonly message: string }>();
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
    this.hasBegun = true;
    this.open.add(entry);
    this.errors.delete(entry);
    return (outcome) => {
      if (outcome.ok) this.errors.delete(entry);
      // Parts of the entry that failed have reported their errors already.
      else if (![...this.errors.values()].some(({ root }) => root === entry))
        this.errors.set(entry, { root: entry, message: outcome.refusal.message });
      this.open.delete(entry);
      this.endIfDone();
    };
  }

  report(entry: Pick<Entry, "id" | "parent" | "calls" | "firstFailedAt">, error?: AttemptError): void {
    const { id, parent = id, calls, firstFailedAt } = entry;
    this.attempts = Math.max(this.attempts, calls);
    this.firstFailedAt = Math.min(
      this.firstFailedAt ?? Number.POSITIVE_INFINITY,
      firstFailedAt ?? Number.POSITIVE_INFINITY,
    );
    if (error !== undefined) this.errors.set(id, { root: parent, message: error.message });
  }

  hasDeadLetter({ id, failure }: Pick<Entry, "id" | "failure">): void {
    const message = failure?.error.message ?? "it is a dead letter";
    if (!this.open.has(id)) this.errors.set(id, { root: id, message });
  }

  /**
   * To be called when every exporter has taken the row's data. `error` says why it should be a dead letter. If a queue
   * has an entry of the row, how that ends counts instead: it may have stored the row before, as good data.
   */
  taken(error?: string): void {
    this.isTaken = true;
    if (error !== undefined && !this.hasBegun) this.errors.set("", { root: "", message: error });
    this.endIfDone();
  }

  private endIfDone(): void {
    if (!this.isTaken || this.open.size > 0) return;
    const { attempts, firstFailedAt = Number.POSITIVE_INFINITY } = this;
    const [first] = this.errors.values();
    this.resolve({ error: first?.message, attempts, ...(Number.isFinite(firstFailedAt) && { firstFailedAt }) });
  }
}
