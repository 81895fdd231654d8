import { defineReceiver, limitedLog, type Receiver, type ReceiverContext, StartError } from "../../plugin.js";
import { BatchIntake } from "../../runtime/kit.js";
import { type HostMetricsConfig, hostMetricsSchema } from "./config.js";
import { diskScraper, filesystemScraper, networkScraper } from "./device-scrapers.js";
import { HostFiles } from "./host-files.js";
import { batchOf, PointCollector } from "./point-collector.js";
import { listProcesses, processScraper } from "./process-scraper.js";
import {
  cpuScraper,
  loadScraper,
  memoryScraper,
  pagingScraper,
  processesScraper,
  type Scraper,
  systemScraper,
} from "./system-scrapers.js";

/** What a machine does, from its /proc, with the Collector's names. */
export const hostMetricsReceiver = defineReceiver<HostMetricsConfig>({
  type: "host_metrics",
  aliases: ["hostmetrics"],
  summary: "Measures the machine: CPU, load, memory, disks, file systems, network, paging and processes.",
  signals: ["metrics"],
  schema: hostMetricsSchema,
  create: (config, context) => new HostMetricsReceiver(config, context),
});

class HostMetricsReceiver implements Receiver {
  private readonly config: HostMetricsConfig;
  private readonly context: ReceiverContext;
  private readonly files: HostFiles;
  private readonly scrapers: ReadonlyMap<string, Scraper>;
  private readonly processes: ReturnType<typeof processScraper> | undefined;
  private readonly sayFailed: (event: { readonly scraper: string; readonly reason: string }) => void;
  private intake: BatchIntake | undefined;
  private cancel = () => {};
  private current: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(config: HostMetricsConfig, context: ReceiverContext) {
    this.config = config;
    this.context = context;
    this.files = new HostFiles(config.root_path);
    this.scrapers = createScrapers(this.files, config.scrapers);
    const { process } = config.scrapers;
    this.processes = process === undefined ? undefined : processScraper(this.files, process);
    this.sayFailed = limitedLog(context.clock, (event, suppressed) =>
      context.logger.warn({ ...event, suppressed }, "something could not be measured"),
    );
  }

  async start(): Promise<void> {
    if (this.context.intakes.metrics === undefined) return;
    await this.bootMs().catch((error: Error) => {
      throw new StartError(`there is no /proc to read: ${error.message}`, ["root_path"], { cause: error });
    });
    this.intake = new BatchIntake({ signal: "metrics", transport: "host" }, this.context);
    this.wait(this.config.initial_delay);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.cancel();
    await this.intake?.stop();
    await this.current;
  }

  /** The next collection begins when the one before has been taken: what is measured is not dropped. */
  private wait(ms: number): void {
    if (this.isStopped) return;
    this.cancel = this.context.clock.after(ms, () => {
      const begin = this.context.clock.monotonic();
      this.current = this.collect().then(() => {
        const { collection_interval: interval } = this.config;
        const late = (this.context.clock.monotonic() - begin) % interval;
        this.wait(interval - late);
      });
    });
  }

  private async collect(): Promise<void> {
    const now = this.context.clock.now();
    const bootMs = await this.bootMs().catch(() => now);
    const collectors = [new PointCollector(bootMs)];
    for (const [name, scraper] of this.scrapers) await this.attempt(name, () => scraper(collectors[0]!));
    await this.attempt("process", async () => {
      for (const collector of (await this.processes?.(bootMs, now)) ?? []) collectors.push(collector);
    });
    const batch = batchOf(collectors, now);
    if (batch.count === 0) return;
    const outcome = await this.intake!.accept(batch, { transport: "host" });
    if (outcome.kind === "rejected") this.sayFailed({ scraper: "all", reason: outcome.refusal.message });
  }

  /** What fails costs only itself. */
  private async attempt(scraper: string, run: () => Promise<void>): Promise<void> {
    await run().catch((error: Error) => this.sayFailed({ scraper, reason: error.message }));
  }

  private async bootMs(): Promise<number> {
    const seconds = (await this.files.numbers("stat")).get("btime");
    if (seconds === undefined) throw new Error("it does not say when the machine started");
    return seconds * 1000;
  }
}

function createScrapers(files: HostFiles, configs: HostMetricsConfig["scrapers"]): Map<string, Scraper> {
  const { cpu, load, memory, disk, filesystem, network, paging, processes, system } = configs;
  const scrapers = new Map<string, Scraper>();
  if (cpu) scrapers.set("cpu", cpuScraper(files, cpu));
  if (load) scrapers.set("load", loadScraper(files, load));
  if (memory) scrapers.set("memory", memoryScraper(files, memory));
  if (disk) scrapers.set("disk", diskScraper(files, disk));
  if (filesystem) scrapers.set("filesystem", filesystemScraper(files, filesystem));
  if (network) scrapers.set("network", networkScraper(files, network));
  if (paging) scrapers.set("paging", pagingScraper(files, paging));
  if (processes)
    scrapers.set(
      "processes",
      processesScraper(files, processes, () => listProcesses(files)),
    );
  if (system) scrapers.set("system", systemScraper(files, system));
  return scrapers;
}
