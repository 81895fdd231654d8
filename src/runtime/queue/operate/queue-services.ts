import type { Clock, Logger, Metrics } from "#contract";
import type { DeadLetterLanguage } from "#contract/operations";
import type { CompleteSettings } from "#contract/schema";
import { createDeadLetterFilter, type DeadLetterFilter } from "../dead-letters/dead-letter-filter.js";
import { DeadLetterWriter } from "../dead-letters/dead-letter-writer.js";
import { FailureNotifier } from "../dead-letters/failure-notifier.js";
import type { DeadLetterForwarder } from "../dead-letters/forwarder.js";
import { QueueMetrics } from "../entry/queue-metrics.js";
import type { QueueStore } from "../store/store.js";
import { DamageReporter } from "./damage-reporter.js";
import { JOURNAL_PREFIX } from "./directory-name.js";

/** Services that every queue has in addition to its store, both exporters' queues and journals. */
interface QueueServices {
  readonly metrics: QueueMetrics;
  readonly damageReporter: DamageReporter;
  readonly filter: DeadLetterFilter;
  readonly deadLetters: DeadLetterWriter;
}

interface QueueServicesSettings {
  readonly id: string;
  readonly settings: CompleteSettings;
  readonly language: DeadLetterLanguage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly forwarder?: DeadLetterForwarder | undefined;
}

export function createQueueServices(
  { id, settings, language, clock, logger, metrics: agentMetrics, forwarder }: QueueServicesSettings,
  store: QueueStore,
): QueueServices {
  const metrics = new QueueMetrics(id, agentMetrics, id.startsWith(JOURNAL_PREFIX));
  const damageReporter = new DamageReporter({ store, logger, metrics });
  const filter = createDeadLetterFilter(settings.dead_letter.filter, language);
  const deadLetters = new DeadLetterWriter({
    store,
    filter,
    clock,
    logger,
    metrics,
    forwarder,
    maxLogLines: settings.dead_letter.max_log_lines,
    notifier: new FailureNotifier(settings.dead_letter.notify, { clock, logger, metrics }),
    onUnreadable: (entry, cause) => damageReporter.reportUnreadable(entry, cause),
  });
  return { metrics, damageReporter, filter, deadLetters };
}
