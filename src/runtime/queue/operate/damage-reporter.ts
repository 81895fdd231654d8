import type { Logger } from "#contract";
import type { Entry } from "#contract/operations";
import type { QueueMetrics } from "../entry/queue-metrics.js";
import type { OpenReport, QueueStore, StoreError } from "../store/store.js";

interface DamageReporterServices {
  readonly store: QueueStore;
  readonly logger: Logger;
  readonly metrics: QueueMetrics;
}

/** Counts and logs entries that a store has lost or set aside, so that damage is never silent. */
export class DamageReporter {
  private readonly services: DamageReporterServices;
  private reportedCorrupt = 0;

  constructor(services: DamageReporterServices) {
    this.services = services;
  }

  /** Reports what was found when the store was opened or reopened. */
  reportOpening({ lostEntries, lostBounds, corruptEntries, repairedEntries = 0, setAside }: OpenReport): void {
    const { logger, metrics, store } = this.services;
    this.reportedCorrupt = store.stats.corrupt;
    metrics.repaired.add(repairedEntries);
    if (repairedEntries > 0) logger.error({ repairedEntries }, describeRepair(repairedEntries));
    if (lostEntries + corruptEntries === 0 && setAside === undefined) return;
    metrics.unreadable.add(corruptEntries);
    metrics.lost.add(lostEntries);
    const found = { lostEntries, ...lostBounds, corruptEntries, setAside };
    const message = `the queue was damaged; its readable entries are kept: ${describeLoss({ lostEntries, lostBounds })}`;
    logger.error(found, message);
  }

  /** Reports an entry that could not be read when its turn came. */
  reportUnreadable({ id, items }: Entry, cause: StoreError): void {
    const { logger, metrics } = this.services;
    if (cause.code === "corrupt") this.reportedCorrupt += 1;
    metrics.unreadable.add(1);
    logger.error({ id, items, err: cause }, "an entry could not be read and has been set aside");
  }

  /**
   * Reports entries that were found damaged while the store was read for others. Returns true if there are new ones.
   */
  reportNewCorrupt(): boolean {
    const { logger, metrics, store } = this.services;
    const { corrupt } = store.stats;
    const entries = corrupt - this.reportedCorrupt;
    this.reportedCorrupt = corrupt;
    if (entries <= 0) return false;
    metrics.unreadable.add(entries);
    logger.error({ entries }, "damaged entries of the queue have been set aside; the others are not affected");
    return true;
  }
}

/** Describes how many entries are lost, as exactly as is known. */
export function describeLoss({ lostEntries, lostBounds }: Pick<OpenReport, "lostEntries" | "lostBounds">): string {
  if (lostBounds === undefined) return `${entries(lostEntries)} lost`;
  const { atLeast, atMost } = lostBounds;
  if (atMost === undefined)
    return atLeast === 0 ? "an unknown number of entries is lost" : `at least ${entries(atLeast)} lost`;
  return atLeast === 0 ? `at most ${entries(atMost)} lost` : `at least ${atLeast} and at most ${entries(atMost)} lost`;
}

export function describeRepair(repaired: number): string {
  const what = repaired === 1 ? "1 dead letter" : `${repaired} dead letters`;
  return `${what} had lost the cause of the failure, because an older version overwrote it: listed again, with the last error that is known`;
}

function entries(count: number): string {
  return count === 1 ? "1 entry is" : `${count === 0 ? "no" : count} entries are`;
}
