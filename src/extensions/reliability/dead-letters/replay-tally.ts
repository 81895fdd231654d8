import type { Logger, Metrics } from "../../../plugin.js";
import type { ReplayOptions, ReplayReport, ReplaySkip } from "../../../runtime/kit.js";

const MAX_EXAMPLES = 10;

/** Keeps count of one replay: for its report, for whoever watches it, and in the metrics. */
export class ReplayTally {
  private readonly total: number;
  private readonly options: ReplayOptions;
  private readonly metrics: Metrics;
  private readonly skipped: Partial<Record<ReplaySkip, number>> = {};
  private readonly examples: { id: string; reason: ReplaySkip }[] = [];
  private replayed = 0;
  private done = 0;

  constructor(total: number, options: ReplayOptions, metrics: Metrics) {
    this.total = total;
    this.options = options;
    this.metrics = metrics;
  }

  countReplayed(_id: string, exporter: string): void {
    this.replayed++;
    if (!this.options.dryRun) this.count("sluice_dead_letters_replayed", REPLAYED_DESCRIPTION, { exporter });
    this.reportProgress();
  }

  countSkipped(id: string, reason: ReplaySkip, exporter = "unknown"): void {
    this.skipped[reason] = (this.skipped[reason] ?? 0) + 1;
    if (this.examples.length < MAX_EXAMPLES) this.examples.push({ id, reason });
    if (!this.options.dryRun)
      this.count("sluice_dead_letter_replays_skipped", SKIPPED_DESCRIPTION, { exporter, reason });
    this.reportProgress();
  }

  report(): ReplayReport {
    return { selected: this.done, replayed: this.replayed, skipped: this.skipped, examples: this.examples };
  }

  log({ by, dryRun, abort }: ReplayOptions, logger: Logger): void {
    if (dryRun || this.done === 0) return;
    const fields = { by, selected: this.total, replayed: this.replayed, skipped: this.skipped };
    logger.info(fields, abort?.aborted ? "replay of dead letters was cancelled" : "dead letters were queued again");
  }

  private count(name: string, description: string, attributes: Record<string, string>): void {
    this.metrics.counter(name, { description }, attributes).add(1);
  }

  private reportProgress(): void {
    this.done++;
    this.options.onProgress?.(this.done, Math.max(this.total, this.done));
  }
}

const REPLAYED_DESCRIPTION = "Dead letters put back into their queue.";
const SKIPPED_DESCRIPTION = "Dead letters that a replay left where they were, by reason.";
