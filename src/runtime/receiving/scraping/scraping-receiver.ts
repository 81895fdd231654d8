import type { Receiver } from "#contract";
import { limitedLog } from "#contract";
import type { BuiltInReceiverContext } from "#contract/built-in";
import { atIntervals, isTimedOut, withTimeout } from "#resilience";
import { BatchIntake } from "../batch-intake.js";
import { batchOfPoints, MetricOutput, type PointCollector } from "./point-collector.js";
import type { MetricTable } from "./scraped-metric.js";

/**
 * One scrape. Partial failures are reported with `failed`, and affect nothing else. `abort` fires when the agent stops,
 * and when the time is up: the result is what was measured by then.
 */
export interface ScrapeMoment {
  readonly now: number;
  readonly abort: AbortSignal;
  readonly failed: (what: string, error: unknown) => void;
}

/** The keys of the config that every scraping receiver has; see `scrapingKeys` and `metricKeys`. */
export interface ScrapingConfig {
  readonly collection_interval: number;
  readonly initial_delay: number;
  /** Time limit for a scrape; 0 or undefined: only the limit after which it counts as hanging. */
  readonly timeout?: number;
  readonly metrics?: Readonly<Record<string, unknown>>;
}

interface ScrapingSettings<Table extends MetricTable> {
  /** The metrics that there are. */
  readonly table: Table;
  /** The value of `transport` in metrics. */
  readonly transport: string;
  /** Time limit for a scrape, if not that of the config. */
  readonly timeout?: number;
}

const MAX_COLLECTION_MS = 3_600_000;

/**
 * A receiver that scrapes at intervals. The next scrape begins when the result of the previous one has been accepted:
 * nothing measured is dropped. A component says what to open at the start, what to collect each time, and what to close.
 */
export abstract class ScrapingReceiver<Config extends ScrapingConfig, Table extends MetricTable = MetricTable>
  implements Receiver
{
  protected readonly config: Config;
  protected readonly context: BuiltInReceiverContext;
  protected readonly output: MetricOutput<Table>;
  private readonly shell: ScrapingSettings<Table>;
  private readonly logFailure: (event: { readonly scraper: string; readonly reason: string }) => void;
  private readonly aborting = new AbortController();
  private intake: BatchIntake | undefined;
  private running: Promise<void> = Promise.resolve();
  /** The scrapers that failed in the last scrape. */
  private failing: ReadonlySet<string> = new Set();

  constructor(config: Config, context: BuiltInReceiverContext, settings: ScrapingSettings<Table>) {
    this.config = config;
    this.context = context;
    this.shell = settings;
    this.output = new MetricOutput(settings.table, config.metrics ?? {});
    this.logFailure = limitedLog(context.clock, (event, suppressed) =>
      context.logger.warn({ ...event, suppressed }, "something could not be measured"),
    );
  }

  /** Called before the first scrape. Not called if there is no pipeline of metrics. */
  protected async open(): Promise<void> {}

  protected abstract collect(moment: ScrapeMoment): Promise<readonly PointCollector[]>;

  /** Called after the last scrape. */
  protected async close(): Promise<void> {}

  async start(): Promise<void> {
    if (this.context.intakes.metrics === undefined) return;
    await this.open();
    this.intake = new BatchIntake({ signal: "metrics", transport: this.shell.transport }, this.context);
    const { initial_delay: first, collection_interval: interval } = this.config;
    const { signal } = this.aborting;
    this.running = atIntervals({ first, interval }, this.context.clock, signal, () => this.scrape());
  }

  async stop(): Promise<void> {
    this.aborting.abort();
    await this.intake?.stop();
    await this.running;
    await this.close();
  }

  /** The scrape as a whole is one source, and each scraper that has failed is another until it works again. */
  private reportHealth(failures: ReadonlyMap<string, string>, hasPoints: boolean): void {
    const { health } = this.context;
    if (health === undefined || this.aborting.signal.aborted) return;
    for (const scraper of this.failing) if (!failures.has(scraper)) health.removeSource(scraper);
    this.failing = new Set(failures.keys());
    for (const [scraper, reason] of failures) health.source(scraper).down(reason);
    const reason = failures.values().next().value;
    if (hasPoints || reason === undefined) health.source("scrape").up();
    else health.source("scrape").down(reason);
  }

  private async scrape(): Promise<void> {
    const { clock } = this.context;
    const now = clock.now();
    const failures = new Map<string, string>();
    const report = (scraper: string, reason: string) => {
      if (this.aborting.signal.aborted) return;
      failures.set(scraper, reason);
      this.logFailure({ scraper, reason });
    };
    const limitMs = (this.shell.timeout ?? this.config.timeout) || MAX_COLLECTION_MS;
    const collectors = await withTimeout(limitMs, clock, [this.aborting.signal], (abort) => {
      const reasonOf = (error: unknown) =>
        isTimedOut(abort) ? `not finished within ${limitMs} ms` : (error as Error).message;
      const failed = (scraper: string, error: unknown) => report(scraper, reasonOf(error));
      return this.collect({ now, abort, failed }).catch((error: unknown) => {
        failed("all", error);
        return [];
      });
    });
    const batch = batchOfPoints(collectors, now);
    this.reportHealth(failures, batch.count > 0);
    if (batch.count === 0) return;
    const outcome = await this.intake!.accept(batch, { transport: this.shell.transport });
    if (outcome.kind === "rejected") report("all", outcome.refusal.message);
  }
}
