import { FNV32_START, fnv32 } from "#codecs";
import type { BatchIntake } from "#receiving";
import { pause, TimeoutError, withTimeout } from "#resilience";
import type { Clock } from "../../plugin.js";
import { type ScrapeSettings, scrapeTarget } from "./scrape.js";
import { ScrapeReports } from "./scrape-reports.js";
import { ScrapeSeries, type ScrapeSeriesSettings } from "./series/scrape-series.js";
import { writeBatches } from "./series/write-batches.js";
import type { Target } from "./target.js";

/** Services that a loop gets from its job and its receiver. */
export interface LoopServices {
  readonly clock: Clock;
  readonly intake: BatchIntake;
  readonly scrape: ScrapeSettings;
  readonly withExtraReports: boolean;
  /** Why no target of the job may be scraped at the moment. */
  readonly jobProblem: () => string | undefined;
  /** Called when a scrape fails, and when one succeeds after that. */
  readonly onState: (target: Target, problem: string | undefined) => void;
  /** Called after every scrape, and with `false` when the target is gone. */
  readonly onHealth: (target: Target, problem: string | undefined | false) => void;
  /** Called with samples and points that could not be accepted. */
  readonly onLoss: (target: Target, count: number, problem: string) => void;
  /** Called with the number of scrapes skipped because the previous one was not handed in yet. */
  readonly onMissed: (target: Target, count: number) => void;
}

/**
 * Scrapes a target at its interval. The result is handed in and held until every exporter in the pipeline has it on
 * disk. Until then the target is not scraped again, so a blocked pipeline costs scrapes, which are counted, but no more
 * memory.
 */
export class ScrapeLoop {
  private readonly target: Target;
  private readonly services: LoopServices;
  private readonly settings: ScrapeSeriesSettings;
  private readonly series: ScrapeSeries;
  private readonly reports: ScrapeReports;
  private readonly stopped = new AbortController();
  private readonly done: Promise<void>;
  private wasUp: boolean | undefined;
  private endsSeries = false;

  constructor(target: Target, settings: ScrapeSeriesSettings, services: LoopServices) {
    this.target = target;
    this.settings = settings;
    this.services = services;
    this.series = new ScrapeSeries(settings);
    this.reports = new ScrapeReports(this.series, [...settings.targetLabels, ...settings.externalLabels]);
    this.done = this.run();
  }

  /** Resolves when the last scrape has its outcome. `endsSeries` tells that the target's series no longer exist. */
  async stop(endsSeries: boolean): Promise<void> {
    if (endsSeries) this.services.onHealth(this.target, false);
    this.endsSeries = endsSeries;
    this.stopped.abort();
    await this.done;
  }

  private async run(): Promise<void> {
    const { clock } = this.services;
    const { intervalMs } = this.target;
    const begin = clock.monotonic() + this.offset();
    let next = begin;
    while (await this.waitUntil(next)) {
      await this.scrape();
      const turn = Math.floor((clock.monotonic() - begin) / intervalMs) + 1;
      const missed = turn - 1 - Math.round((next - begin) / intervalMs);
      if (missed > 0) this.services.onMissed(this.target, missed);
      next = begin + turn * intervalMs;
    }
    if (this.endsSeries) await this.handInSeriesEnd();
    this.series.release();
  }

  /** Spreads targets over the interval. A target has the same offset in every agent. */
  private offset(): number {
    const key = Buffer.from(this.target.key);
    return (fnv32(FNV32_START, key, 0, key.length) >>> 0) % this.target.intervalMs;
  }

  /** Returns false if the loop was stopped. */
  private async waitUntil(time: number): Promise<boolean> {
    const { clock } = this.services;
    const { signal } = this.stopped;
    await pause(Math.max(0, time - clock.monotonic()), clock, signal);
    return !signal.aborted;
  }

  private async scrape(): Promise<void> {
    const { clock, withExtraReports } = this.services;
    const { series, target } = this;
    const time = clock.now();
    const begin = clock.monotonic();
    series.begin();
    const { problem, size, isLate } = await this.read();
    if (this.stopped.signal.aborted) return series.discard();
    const { scraped, kept } = series;
    if (problem === undefined) series.complete();
    else {
      series.discard(isLate);
      series.end(true);
    }
    this.reports.add({
      up: problem === undefined ? 1 : 0,
      scrape_duration_seconds: (clock.monotonic() - begin) / 1000,
      scrape_samples_scraped: scraped,
      scrape_samples_post_metric_relabeling: kept,
      scrape_series_added: series.added,
      ...(withExtraReports && {
        scrape_timeout_seconds: target.timeoutMs / 1000,
        scrape_sample_limit: this.settings.sampleLimit,
        scrape_body_size_bytes: size,
      }),
    });
    this.reportState(problem);
    if (series.duplicates > 0) this.services.onLoss(target, series.duplicates, "a series occurs more than once");
    await this.handIn(time);
    series.sweep();
  }

  private async read(): Promise<{ problem: string | undefined; size: number; isLate?: boolean }> {
    const { clock, scrape, jobProblem } = this.services;
    const { target } = this;
    const problem = jobProblem();
    if (problem !== undefined) return { problem, size: 0 };
    try {
      const size = await withTimeout(target.timeoutMs, clock, [this.stopped.signal], (signal) =>
        scrapeTarget(target, scrape, this.series, signal),
      );
      return { problem: undefined, size };
    } catch (error) {
      const isLate = error instanceof TimeoutError;
      const text = isLate ? `no complete answer within scrape_timeout, ${target.timeoutMs / 1000}s` : errorText(error);
      return { problem: text, size: 0, isLate };
    }
  }

  private async handIn(time: number): Promise<void> {
    const { intake, onLoss } = this.services;
    const { target } = this;
    const batches = writeBatches(this.series, time, ({ name }, problem) => onLoss(target, 1, `${name}: ${problem}`));
    for (const batch of batches) {
      const outcome = await intake.accept(batch, { transport: "http" });
      if (outcome.kind === "rejected") onLoss(target, batch.count, outcome.refusal.message);
      else if (outcome.kind === "returned")
        onLoss(target, batch.count, "the agent is stopping and they were not accepted");
    }
  }

  private reportState(problem: string | undefined): void {
    const isUp = problem === undefined;
    if (!isUp || this.wasUp === false) this.services.onState(this.target, problem);
    this.wasUp = isUp;
    this.services.onHealth(this.target, problem);
  }

  private async handInSeriesEnd(): Promise<void> {
    this.series.begin();
    this.series.end(true);
    this.reports.end();
    await this.handIn(this.services.clock.now());
  }
}

/** The innermost reasons: a failed connection to several addresses has one for each. */
function errorText(error: unknown): string {
  const { errors, message, code } = error as { errors?: Error[]; message?: string; code?: string };
  if (errors !== undefined && errors.length > 0) return errors.map(errorText).join("; ");
  return message || code || String(error);
}
