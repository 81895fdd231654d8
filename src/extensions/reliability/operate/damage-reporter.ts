import type { Logger, Metrics } from "../../../plugin.js";
import type { Entry } from "../../../runtime/kit.js";
import type { OpenReport, QueueStore, StoreError } from "../store/store.js";
import type { QueueMetrics } from "./queue-metrics.js";

export interface DamageReporterServices {
  readonly id: string;
  readonly store: QueueStore;
  readonly logger: Logger;
  readonly queueMetrics: QueueMetrics;
  readonly metrics: Metrics;
}

/** Counts and logs what a store has lost or set aside: damage is never silent. */
export class DamageReporter {
  private readonly services: DamageReporterServices;
  private reportedCorrupt = 0;

  constructor(services: DamageReporterServices) {
    this.services = services;
  }

  /** What was found when the store was opened, or opened again. */
  reportOpening({ lostEntries, corruptEntries, setAside }: OpenReport): void {
    const { id, logger, metrics, queueMetrics, store } = this.services;
    this.reportedCorrupt = store.stats.corrupt;
    if (lostEntries + corruptEntries === 0 && setAside === undefined) return;
    queueMetrics.unreadable.add(corruptEntries);
    const description = "Entries that were in the queue before the agent started and are gone.";
    metrics.counter("sluice_queue_lost_entries", { description }, { exporter: id }).add(lostEntries);
    logger.error({ lostEntries, corruptEntries, setAside }, "the queue was damaged; what can be read goes on");
  }

  /** One entry could not be read when its turn came. */
  reportUnreadable({ id, items }: Entry, cause: StoreError): void {
    const { logger, queueMetrics } = this.services;
    if (cause.code === "corrupt") this.reportedCorrupt += 1;
    queueMetrics.unreadable.add(1);
    logger.error({ id, items, err: cause }, "an entry cannot be read; it has been set aside");
  }

  /** Reports entries that the store found damaged while it was read for others; true when there are new ones. */
  reportNewCorrupt(): boolean {
    const { logger, queueMetrics, store } = this.services;
    const { corrupt } = store.stats;
    const entries = corrupt - this.reportedCorrupt;
    this.reportedCorrupt = corrupt;
    if (entries <= 0) return false;
    queueMetrics.unreadable.add(entries);
    logger.error({ entries }, "entries of the queue were damaged and have been set aside; the others go on");
    return true;
  }
}
