import type { BuiltInReceiverContext } from "#contract/built-in";
import { BatchIntake } from "#receiving";
import { defineReceiver, limitedLog, type Receiver } from "../../plugin.js";
import { type PrometheusReceiverConfig, prometheusReceiverSchema } from "./config.js";
import { createDiscoveries } from "./discovery/create.js";
import { ScrapeHttpClient } from "./http-client.js";
import { completeJob, type JobConfig } from "./job-config.js";
import { type JobServices, ScrapeJob } from "./scrape-job.js";
import type { SeriesRoom } from "./series/scrape-series.js";
import type { Target } from "./target.js";

/** Scrapes Prometheus targets and holds each result until every exporter in the pipeline has it on disk. */
export const prometheusReceiver = defineReceiver<PrometheusReceiverConfig>({
  type: "prometheus",
  summary: "Scrapes targets in Prometheus's formats, found by Prometheus's own scrape_configs.",
  signals: ["metrics"],
  workers: "one",
  schema: prometheusReceiverSchema,
  create: (config, context) => new PrometheusReceiver(config, context),
});

class PrometheusReceiver implements Receiver {
  private readonly config: PrometheusReceiverConfig;
  private readonly context: BuiltInReceiverContext;
  private readonly room: SeriesRoom;
  private intake: BatchIntake | undefined;
  private jobs: readonly ScrapeJob[] = [];
  private endGauges: (() => void)[] = [];

  constructor(config: PrometheusReceiverConfig, context: BuiltInReceiverContext) {
    this.config = config;
    this.context = context;
    this.room = { left: config.max_series, max: config.max_series };
  }

  async start(): Promise<void> {
    if (this.context.intakes.metrics === undefined) return;
    this.intake = new BatchIntake({ signal: "metrics", transport: "http" }, this.context);
    const jobs: ScrapeJob[] = [];
    for (const [index, job] of this.config.config.scrape_configs.entries()) {
      jobs.push(await this.createJob(job, this.intake, ["config", "scrape_configs", String(index)]));
    }
    this.jobs = jobs;
    this.measure();
    for (const job of jobs) job.start();
  }

  async stop(): Promise<void> {
    const { jobs } = this;
    this.jobs = [];
    for (const end of this.endGauges) end();
    const stopped = Promise.all(jobs.map((job) => job.stop()));
    await this.intake?.stop();
    await stopped;
  }

  private async createJob(job: JobConfig, intake: BatchIntake, path: readonly string[]): Promise<ScrapeJob> {
    const { global } = this.config.config;
    const complete = completeJob(job, global);
    const client = await ScrapeHttpClient.create(job, path);
    return new ScrapeJob(job, complete, {
      ...this.reporters(job.job_name),
      clock: this.context.clock,
      intake,
      discoveries: await createDiscoveries(job, this.context, path),
      withExtraReports: this.config.report_extra_scrape_metrics,
      scrape: {
        client,
        protocols: complete.protocols,
        fallback: job.fallback_scrape_protocol,
        withCompression: job.enable_compression,
        escaping: complete.escaping,
        bodySizeLimit: complete.bodySizeLimit,
      },
      series: {
        externalLabels: Object.entries(global.external_labels),
        trimSuffixes: this.config.trim_metric_suffixes,
        room: this.room,
      },
    });
  }

  /** Callbacks that write problems to the log and count them. */
  private reporters(job: string): Pick<JobServices, "onState" | "onHealth" | "onLoss" | "onMissed" | "onBadTarget"> {
    const { clock, logger, metrics, id, health } = this.context;
    const counter = (name: string, description: string, unit: string) =>
      metrics.counter(name, { description, unit }, { receiver: id, job });
    const failed = counter("sluice_receiver_scrape_failures", "Scrapes that failed.", "{scrapes}");
    const missed = counter(
      "sluice_receiver_missed_scrapes",
      "Scrapes skipped because the previous one was not handed in yet.",
      "{scrapes}",
    );
    const lost = counter(
      "sluice_receiver_unusable_samples",
      "Samples and points that could not be accepted.",
      "{samples}",
    );
    type Event = { readonly target: string; readonly reason?: string; readonly count?: number };
    const warn = (message: string) =>
      limitedLog<Event>(clock, (event, suppressed) => logger.warn({ job, ...event, suppressed }, message));
    const logFailure = warn("a scrape failed");
    const logLoss = warn("samples could not be accepted");
    const logMissed = warn("scrapes were skipped: the pipeline has not accepted the previous one");
    const logBadTarget = warn("a target cannot be scraped");
    const nameOf = ({ url }: Target) => `${url.origin}${url.pathname}`;
    return {
      onState: (target, reason) => {
        if (reason === undefined) return logger.info({ job, target: nameOf(target) }, "a target can be scraped again");
        failed.add(1);
        logFailure({ target: nameOf(target), reason });
      },
      onHealth: (target, problem) => {
        const name = `${job} ${nameOf(target)}`;
        if (problem === false) health?.removeSource(name);
        else if (problem === undefined) health?.source(name).up();
        else health?.source(name).down(problem);
      },
      onLoss: (target, count, reason) => {
        lost.add(count);
        logLoss({ target: nameOf(target), count, reason });
      },
      onMissed: (target, count) => {
        missed.add(count);
        logMissed({ target: nameOf(target), count });
      },
      onBadTarget: (target, reason) => logBadTarget({ target, reason }),
    };
  }

  private measure(): void {
    const { metrics, id } = this.context;
    const gauge = (name: string, description: string, unit: string, read: () => number) =>
      metrics.gauge(name, { description, unit }, read, { receiver: id });
    this.endGauges = [
      gauge("sluice_receiver_targets", "Targets that are scraped.", "{targets}", () =>
        this.jobs.reduce((sum, job) => sum + job.size, 0),
      ),
      gauge(
        "sluice_receiver_series",
        "Series that are kept of all targets.",
        "{series}",
        () => this.room.max - this.room.left,
      ),
    ];
  }
}
