import type { Clock } from "#contract";
import type { AttemptError } from "#contract/operations";
import type { Batch } from "#otlp";
import { deadLetter, type EntryOutcome, type GroupOutcome, outcomeOfEach } from "../entry/outcome.js";
import {
  GroupBisection,
  partsOfGroup,
  type QueueItem,
  recordsOf,
  type SendGroup,
  withBlame,
  withFailure,
  withRefusal,
} from "../entry/queue-item.js";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import { type Bisections, canBisect, isWorthBisecting } from "./bisect.js";

interface RefusalPolicyServices {
  readonly clock: Clock;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
}

/**
 * Decides what follows from a permanent refusal. A refused request is split, first between entries and then inside the
 * entry that is to blame, so that only bad records become dead letters. If everything is refused, nothing is split.
 */
export class RefusalPolicy {
  private readonly services: RefusalPolicyServices;

  constructor(services: RefusalPolicyServices) {
    this.services = services;
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
