import type { Discovery } from "./discovery/discovery.js";
import type { CompleteJob } from "./job-config.js";
import { type JobConfig, relabelRules } from "./job-config.js";
import type { Labels, RelabelRule } from "./relabel.js";
import { type LoopServices, ScrapeLoop } from "./scrape-loop.js";
import type { ScrapeSeriesSettings } from "./series/scrape-series.js";
import { makeTarget, type Target } from "./target.js";

/** Services that a job gets from its receiver. */
export interface JobServices extends Omit<LoopServices, "jobProblem"> {
  readonly discoveries: readonly Discovery[];
  readonly series: Omit<ScrapeSeriesSettings, "targetLabels" | "scheme" | "resource" | keyof JobSeriesSettings>;
  /** Called for a target that cannot be scraped. */
  readonly onBadTarget: (address: string, problem: string) => void;
}

type JobSeriesSettings = Pick<
  ScrapeSeriesSettings,
  | "honorLabels"
  | "honorTimestamps"
  | "trackTimestamps"
  | "metricRelabel"
  | "sampleLimit"
  | "labelLimit"
  | "labelNameLengthLimit"
  | "labelValueLengthLimit"
>;

/** One of `scrape_configs`: the targets found by its discoveries, with a loop for each. */
export class ScrapeJob {
  private readonly config: JobConfig;
  private readonly complete: CompleteJob;
  private readonly services: JobServices;
  private readonly rules: readonly RelabelRule[];
  private readonly seriesSettings: JobSeriesSettings;
  private readonly found = new Map<Discovery, readonly Labels[]>();
  private readonly loops = new Map<string, ScrapeLoop>();
  private readonly ending = new Set<Promise<void>>();
  private problem: string | undefined;
  private isStopped = false;

  constructor(config: JobConfig, complete: CompleteJob, services: JobServices) {
    this.config = config;
    this.complete = complete;
    this.services = services;
    this.rules = relabelRules(config.relabel_configs);
    this.seriesSettings = {
      honorLabels: config.honor_labels,
      honorTimestamps: config.honor_timestamps,
      trackTimestamps: config.track_timestamps_staleness,
      metricRelabel: relabelRules(config.metric_relabel_configs),
      sampleLimit: complete.sampleLimit,
      labelLimit: complete.labelLimit,
      labelNameLengthLimit: complete.labelNameLengthLimit,
      labelValueLengthLimit: complete.labelValueLengthLimit,
    };
  }

  /** The number of targets being scraped. */
  get size(): number {
    return this.loops.size;
  }

  start(): void {
    for (const discovery of this.services.discoveries) {
      discovery.start((targets) => {
        this.found.set(discovery, targets);
        if (!this.isStopped) this.update();
      });
    }
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.services.discoveries.map((discovery) => discovery.stop()));
    await Promise.all([...[...this.loops.values()].map((loop) => loop.stop(false)), ...this.ending]);
    this.services.scrape.client.close();
  }

  /** Starts loops for new targets and stops loops of targets that are gone. */
  private update(): void {
    const targets = this.targets();
    const { targetLimit } = this.complete;
    const isOver = targetLimit > 0 && targets.size > targetLimit;
    this.problem = isOver ? `the job has ${targets.size} targets; target_limit is ${targetLimit}` : undefined;
    for (const [key, loop] of this.loops) {
      if (targets.has(key)) continue;
      this.loops.delete(key);
      const end = loop.stop(true).finally(() => this.ending.delete(end));
      this.ending.add(end);
    }
    for (const [key, target] of targets) if (!this.loops.has(key)) this.loops.set(key, this.createLoop(target));
  }

  private targets(): Map<string, Target> {
    const targets = new Map<string, Target>();
    for (const list of this.found.values()) {
      for (const labels of list) {
        try {
          const target = makeTarget(labels, this.config, this.complete, this.rules);
          if (target !== undefined) targets.set(target.key, target);
        } catch (error) {
          this.services.onBadTarget(labels.get("__address__") ?? "", (error as Error).message);
        }
      }
    }
    return targets;
  }

  private createLoop(target: Target): ScrapeLoop {
    const settings: ScrapeSeriesSettings = {
      ...this.services.series,
      ...this.seriesSettings,
      targetLabels: target.labels,
      scheme: target.url.protocol.replace(":", ""),
      resource: target.resource,
    };
    return new ScrapeLoop(target, settings, { ...this.services, jobProblem: () => this.problem });
  }
}
