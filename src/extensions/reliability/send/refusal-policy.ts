import type { Batch, Clock } from "../../../plugin.js";
import type { AttemptError } from "../../../runtime/kit.js";
import { deadLetter, type EntryOutcome, type GroupOutcome, outcomeOfEach } from "../entry/outcome.js";
import { type QueueItem, withFailure, withRefusal } from "../entry/queue-item.js";
import type { QueueMetrics } from "../operate/queue-metrics.js";
import { type GroupBisection, halvesOfGroup, newGroupBisection, type SendGroup } from "../schedule/send-group.js";
import { type Bisections, canBisect, isWorthBisecting, MAX_REFUSALS } from "./bisect.js";

export interface RefusalPolicyServices {
  readonly clock: Clock;
  readonly metrics: QueueMetrics;
  readonly bisections: Bisections;
}

/**
 * What follows from a permanent refusal. What was sent is parted, along the borders of entries first and then inside the
 * entry that is to blame, so that only bad records become dead letters; unless everything is refused.
 */
export class RefusalPolicy {
  private readonly services: RefusalPolicyServices;

  constructor(services: RefusalPolicyServices) {
    this.services = services;
  }

  /** The replay steps of its pipeline refuse the item: no call was made. */
  unfit(item: QueueItem, batch: Batch, error: AttemptError): GroupOutcome {
    item.entry = withRefusal(item.entry, error, this.services.clock.now());
    return outcomeOfEach([item], () => this.entryRefused(item, batch, error));
  }

  /** The other side refused all of it: it is sent again in halves, until the entries that are to blame are alone. */
  refused(group: SendGroup, batches: readonly Batch[], error: AttemptError): GroupOutcome {
    const { items } = group;
    const at = this.services.clock.now();
    const bisection = this.countRefusal(group, error);
    const isAlone = items.length === 1;
    const isFutile = bisection?.endCause !== undefined;
    for (const item of items)
      item.entry = withFailure(item.entry, error, at, isAlone || isFutile || bisection === undefined);
    if (isAlone && !isFutile) return outcomeOfEach(items, (item) => this.entryRefused(item, batches[0]!, error));
    if (bisection === undefined || isFutile) return outcomeOfEach(items, () => deadLetter("permanent", error));
    for (const item of items) item.hasRetryTurn = true;
    this.services.metrics.bisections.add(1);
    return { outcomes: items.map(() => undefined), regrouped: halvesOfGroup(group, bisection) };
  }

  /** Undefined when it is of no use to look for the entries that are to blame. */
  private countRefusal(group: SendGroup, error: AttemptError): GroupBisection | undefined {
    const { items } = group;
    if (items.length === 1 && group.bisection === undefined) return undefined;
    if (items.length > 1 && !isWorthBisecting(error)) return undefined;
    const bisection = group.bisection ?? newGroupBisection(maxRefusals(items.length));
    bisection.refusals += 1;
    if (items.length === 1) bisection.badEntries += 1;
    if (!bisection.hasSuccess && bisection.refusals >= bisection.maxRefusals)
      bisection.endCause ??= deadLetter("permanent", error).cause;
    return bisection;
  }

  /** Only the bad records of an entry die, if they can be found, and otherwise all of it. */
  private entryRefused(item: QueueItem, batch: Batch, error: AttemptError): EntryOutcome {
    const isDivisible = canBisect(item.entry, error);
    const outcome = deadLetter("permanent", error);
    if (item.entry.parent === undefined && !isDivisible) return outcome;
    if (this.services.bisections.refused(item)) return { kind: "end_bisection", cause: outcome.cause };
    return isDivisible ? { kind: "bisect", batch, cause: outcome.cause } : outcome;
  }
}

/** It takes as many refusals as a group can be halved to come to its first entry, and that is not to use up all there are. */
function maxRefusals(entries: number): number {
  return MAX_REFUSALS + Math.ceil(Math.log2(entries));
}
