import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { defineReceiver, type ReceiverContext, StartError } from "../../plugin.js";
import { type HostMetricsConfig, hostMetricsSchema } from "./config.js";
import { diskScraper, filesystemScraper, MountUsage, networkScraper } from "./device-scrapers.js";
import { HostEntityEvents } from "./entity-events.js";
import { HostFiles } from "./host-files.js";
import { originOf, type ScraperName } from "./metrics.js";
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

/** Metrics about the machine from its /proc, with the Collector's names. */
export const hostMetricsReceiver = defineReceiver<HostMetricsConfig>({
  type: "host_metrics",
  aliases: ["hostmetrics"],
  summary: "Measures the machine: CPU, load, memory, disks, file systems, network, paging and processes.",
  signals: ["metrics", "logs"],
  workers: "one",
  schema: hostMetricsSchema,
  create: (config, context) => new HostMetricsReceiver(config, context),
});

class HostMetricsReceiver extends ScrapingReceiver<Omit<HostMetricsConfig, "timeout">> {
  private readonly files: HostFiles;
  private readonly scrapers: ReadonlyMap<ScraperName, Scraper>;
  private readonly processes: ReturnType<typeof processScraper> | undefined;
  private readonly entityEvents: HostEntityEvents;

  constructor(config: HostMetricsConfig, context: ReceiverContext) {
    super(config, context, { table: {}, transport: "host", timeout: 0 });
    this.entityEvents = new HostEntityEvents(config.metadata_collection_interval, context);
    this.files = new HostFiles(config.root_path);
    this.scrapers = createScrapers(this.files, config.scrapers, new MountUsage(context.clock));
    const { process } = config.scrapers;
    this.processes = process === undefined ? undefined : processScraper(this.files, process);
  }

  override async start(): Promise<void> {
    this.entityEvents.start();
    await super.start();
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), this.entityEvents.stop()]);
  }

  protected override async open(): Promise<void> {
    await this.bootMs().catch((error: Error) => this.reportNoProc(error));
  }

  /** Another machine's /proc may be mounted later, so this is only logged. A machine without /proc never gets one. */
  private reportNoProc(cause: Error): void {
    const message = `there is no /proc to read: ${cause.message}`;
    if (this.files.root === "") throw new StartError(message, ["root_path"], { cause });
    this.context.logger.warn({ root_path: this.files.root }, `${message}; nothing is measured until there is`);
  }

  protected override async collect({ now, failed }: ScrapeMoment): Promise<PointCollector[]> {
    const bootMs = await this.bootMs().catch(() => now);
    const collectors: PointCollector[] = [];
    for (const [name, scraper] of this.scrapers) {
      const points = new PointCollector(bootMs, {}, originOf(name));
      collectors.push(points);
      await scraper(points).catch((error: unknown) => failed(name, error));
    }
    const processes = await this.processes?.(bootMs, now).catch((error: unknown) => failed("process", error));
    return [...collectors, ...(processes ?? [])];
  }

  private async bootMs(): Promise<number> {
    const seconds = (await this.files.numbers("stat")).get("btime");
    if (seconds === undefined) throw new Error("it does not contain the machine's start time");
    return seconds * 1000;
  }
}

function createScrapers(
  files: HostFiles,
  configs: HostMetricsConfig["scrapers"],
  mounts: MountUsage,
): Map<ScraperName, Scraper> {
  const { cpu, load, memory, disk, filesystem, network, paging, processes, system } = configs;
  const scrapers = new Map<ScraperName, Scraper>();
  if (cpu) scrapers.set("cpu", cpuScraper(files, cpu));
  if (load) scrapers.set("load", loadScraper(files, load));
  if (memory) scrapers.set("memory", memoryScraper(files, memory));
  if (disk) scrapers.set("disk", diskScraper(files, disk));
  if (filesystem) scrapers.set("filesystem", filesystemScraper(files, filesystem, mounts));
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
