import type { Logger, Metrics } from "#contract";
import type { ReplayOptions, ReplayReport, ReplaySample, ReplaySkip } from "#contract/operations";

const MAX_EXAMPLES = 10;
const MAX_MESSAGE = 300;

type TalliedOptions = Omit<ReplayOptions, "to">;

/** Counts the results of one replay, for its report, for progress listeners and for metrics. */
export class ReplayTally {
  private readonly total: number;
  private readonly options: TalliedOptions;
  private readonly metrics: Metrics;
  private readonly skipped: Partial<Record<ReplaySkip, number>> = {};
  private readonly examples: { id: string; reason: ReplaySkip; message?: string }[] = [];
  private readonly samples: ReplaySample[] = [];
  private replayed = 0;
  private done = 0;

  constructor(total: number, options: TalliedOptions, metrics: Metrics) {
    this.total = total;
    this.options = options;
    this.metrics = metrics;
  }

  countReplayed(_id: string, exporter: string): void {
    this.replayed++;
    if (!this.options.dryRun) this.count("sluice_dead_letters_replayed", REPLAYED_DESCRIPTION, { exporter });
    this.reportProgress();
  }

  countSkipped(id: string, reason: ReplaySkip, exporter = "unknown", message?: string): void {
    this.skipped[reason] = (this.skipped[reason] ?? 0) + 1;
    const about = message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) };
    if (this.examples.length < MAX_EXAMPLES) this.examples.push({ id, reason, ...about });
    if (!this.options.dryRun)
      this.count("sluice_dead_letter_replays_skipped", SKIPPED_DESCRIPTION, { exporter, reason });
    this.reportProgress();
  }

  /** Whether one more sample is wanted. */
  get wantsSample(): boolean {
    return this.options.dryRun === true && this.samples.length < (this.options.samples ?? 0);
  }

  addSample(sample: ReplaySample): void {
    this.samples.push(sample);
  }

  report(): ReplayReport {
    const { done: selected, replayed, skipped, examples, samples } = this;
    return { selected, replayed, skipped, examples, ...(samples.length > 0 && { samples }) };
  }

  log({ by, dryRun, abort }: TalliedOptions, logger: Logger): void {
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
