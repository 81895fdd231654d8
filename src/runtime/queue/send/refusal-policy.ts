import { type Clock, type Logger, limitedLog, type PartialRejection } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { Batch } from "#otlp";
import { deadLetter, type EntryOutcome, type GroupOutcome, outcomeOfEach } from "../entry/outcome.js";
import { partialSuccessError } from "../entry/queue-errors.js";
import {
  type DeadLetterCause,
  GroupBisection,
  partsOfGroup,
  type QueueItem,
  recordsOf,
  type SendGroup,
  withBlame,
  withDelay,
  withFailure,
  withRefusal,
} from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type Bisections, canBisect, isWorthBisecting } from "./bisect.js";
import type { Holds } from "./holds.js";

interface RefusalPolicyServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
  readonly holds: Holds;
}

/**
 * Decides what follows from a permanent refusal, of a whole request or of some records. A refused request is split, first between entries and then inside the
 * entry that is to blame, so that only bad records become dead letters. If everything is refused, nothing is split.
 */
export class RefusalPolicy {
  private readonly services: RefusalPolicyServices;
  private readonly logPartial: (partial: PartialRejection) => void;

  constructor(services: RefusalPolicyServices) {
    this.services = services;
    this.logPartial = limitedLog(services.clock, (partial, suppressed) =>
      services.logger.warn({ ...partial, suppressed }, "the backend rejected some records"),
    );
  }

  /** Holds the entries if the backend refuses everything. Otherwise the data is to blame, whatever the status says. */
  answered(group: SendGroup, batches: readonly Batch[], error: AttemptError, wasProbe: boolean): GroupOutcome {
    const { clock, holds, metrics } = this.services;
    const verdict = holds.onRefusal(group.items, error, wasProbe);
    if (verdict.kind === "final") {
      metrics.permanent.add(1);
      return this.refused(group, batches, verdict.error);
    }
    const { delayMs } = verdict;
    const requestItems = recordsOf(group.items);
    const at = clock.now();
    return outcomeOfEach(group.items, (item) => {
      item.entry = withDelay(withFailure(item.entry, error, at, false, requestItems), delayMs);
      return { kind: "retry", delayMs };
    });
  }

  /**
   * The outcomes of a request that the backend took, perhaps without some of its records. It is not known which records
   * were rejected, so the whole request is kept, with the number of rejected records.
   */
  partlyDelivered(items: readonly QueueItem[], sent: readonly Batch[], partial: PartialRejection): GroupOutcome {
    this.logPartial(partial);
    if (partial.rejected === 0) return outcomeOfEach(items, (_, i) => ({ kind: "delivered", sent: sent[i]! }));
    const { clock, metrics } = this.services;
    metrics.partialSuccess.add(1);
    const error = partialSuccessError(items, partial);
    let uncounted = partial.rejected;
    return outcomeOfEach(items, (item, i) => {
      const rejected = Math.min(uncounted, sent[i]!.count);
      uncounted -= rejected;
      item.entry = withFailure(item.entry, error, clock.now(), true, recordsOf(items));
      const own = { lost: rejected, rejected: partial.rejected };
      const cause: DeadLetterCause = { reason: "partial_success", category: "schema", error, ...own };
      const told = items.length === 1 ? partial : { rejected: 0, message: error.message };
      return { kind: "partly_delivered", sent: sent[i]!, partial: told, rejected, cause };
    });
  }

  /** The replay steps of the pipeline refused the item. No call was made. */
  unfit(item: QueueItem, batch: Batch, error: AttemptError): GroupOutcome {
    item.entry = withRefusal(item.entry, error, this.services.clock.now());
    return outcomeOfEach([item], () => this.entryRefused(item, batch, error));
  }

  /**
   * The backend refused the whole request. It is sent again in parts until the entries that are to blame are alone.
   * `isKnown`: the call is already recorded on the entries.
   */
  refused(group: SendGroup, batches: readonly Batch[], error: AttemptError, isKnown = false): GroupOutcome {
    const { items } = group;
    const at = this.services.clock.now();
    const bisection = this.countRefusal(group, error);
    const isAlone = items.length === 1;
    const isFutile = bisection?.endCause !== undefined;
    const counts = isAlone || isFutile || bisection === undefined;
    for (const item of items)
      item.entry = isKnown
        ? withBlame(item.entry, error, counts)
        : withFailure(item.entry, error, at, counts, recordsOf(items));
    if (isAlone && !isFutile) return outcomeOfEach(items, (item) => this.entryRefused(item, batches[0]!, error));
    if (bisection === undefined || isFutile) return outcomeOfEach(items, () => deadLetter("permanent_refusal", error));
    for (const item of items) item.hasRetryTurn = true;
    this.services.metrics.bisections.add(1);
    return { outcomes: items.map(() => undefined), regrouped: partsOfGroup(group, bisection) };
  }

  /** Returns undefined if searching for the entries to blame is pointless. */
  private countRefusal(group: SendGroup, error: AttemptError): GroupBisection | undefined {
    const { items } = group;
    if (items.length === 1 && group.bisection === undefined) return undefined;
    if (items.length > 1 && !isWorthBisecting(error)) return undefined;
    const bisection = group.bisection ?? new GroupBisection();
    // The refusal of a single entry with several records says little, because other records in it may be good.
    bisection.refused(items.length === 1 ? items[0]!.entry.items : items.length);
    if (bisection.isFutile) bisection.endCause ??= deadLetter("permanent_refusal", error).cause;
    return bisection;
  }

  /** Only the bad records of an entry become dead letters if they can be found, otherwise the whole entry. */
  private entryRefused(item: QueueItem, batch: Batch, error: AttemptError): EntryOutcome {
    const { bisections } = this.services;
    const isDivisible = canBisect(item.entry, error);
    const outcome = deadLetter("permanent_refusal", error);
    if (item.entry.parent === undefined && !isDivisible) return outcome;
    if (bisections.refused(item)) return { kind: "end_bisection", cause: outcome.cause };
    if (!isDivisible) return outcome;
    return { kind: "bisect", batch, sizes: bisections.partSizes(item), cause: outcome.cause };
  }
}
