import type { ServiceSettings } from "#config";
import type { Logger } from "#contract";
import type { ListeningServer } from "#net";
import { bridgeMetrics } from "./metric-bridge.js";
import {
  DEFAULT_PULL,
  listenForScrapes,
  type PullTarget,
  type PushTarget,
  periodicReader,
  prometheusReader,
  pullFromAddress,
} from "./metric-readers.js";
import type { MetricRegistry } from "./metric-registry.js";
import { otlpOptions } from "./otlp-target.js";
import { lateServerAuthenticator, type OwnAuthenticators } from "./own-authenticators.js";
import type { ResourceAttributes } from "./resource-attributes.js";

type MetricsSettings = ServiceSettings["telemetry"]["metrics"];
type RenderMetrics = () => Promise<string>;

const PATH = ["service", "telemetry", "metrics"];

/**
 * If only scrapes are configured, OpenTelemetry is loaded after this delay, or at the first scrape, so that the start
 * is quick.
 */
const LOAD_AFTER_MS = 1000;

interface MetricExportSettings {
  readonly metrics: MetricsSettings;
  readonly registry: MetricRegistry;
  readonly resource: ResourceAttributes;
  readonly logger: Logger;
  readonly authenticators: OwnAuthenticators;
  /** Whether a key is in the config, and not only a default. */
  readonly isWritten: (path: readonly (string | number)[]) => boolean;
  /** Called before each scrape. */
  readonly refresh: (() => Promise<void>) | undefined;
}

/** Exports the registry's metrics as configured in service.telemetry.metrics. */
export class MetricExport {
  private readonly settings: MetricExportSettings;
  private readonly servers: ListeningServer[] = [];
  private scrapes: Promise<RenderMetrics[]> | undefined;
  private shutdown: () => Promise<void> = async () => {};
  private timer: NodeJS.Timeout | undefined;

  constructor(settings: MetricExportSettings) {
    this.settings = settings;
  }

  async start(): Promise<void> {
    const pulls = pullTargets(this.settings);
    const pushes = await pushTargets(this.settings);
    const load = () => (this.scrapes ??= this.load(pulls, pushes));
    try {
      await this.listen(pulls, load);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if (pushes.length > 0) await load();
    else if (this.servers.length > 0) this.timer = setTimeout(() => void load().catch(() => {}), LOAD_AFTER_MS).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    await Promise.all(this.servers.splice(0).map((server) => server.close()));
    await this.scrapes?.catch(() => {});
    await this.shutdown();
  }

  private async listen(pulls: readonly PullTarget[], load: () => Promise<RenderMetrics[]>): Promise<void> {
    for (const [index, pull] of pulls.entries()) {
      const scrape = async () => {
        await this.settings.refresh?.();
        return (await load())[index]!();
      };
      const server = await listenForScrapes(pull, scrape, this.settings.logger);
      if (server) this.servers.push(server);
    }
  }

  private async load(pulls: readonly PullTarget[], pushes: readonly PushTarget[]): Promise<RenderMetrics[]> {
    const { registry, resource, logger } = this.settings;
    const [{ MeterProvider }, { resourceFromAttributes }] = await Promise.all([
      import("@opentelemetry/sdk-metrics"),
      import("@opentelemetry/resources"),
    ]);
    const pulled = await Promise.all(pulls.map((pull) => prometheusReader(registry, pull)));
    const pushed = await Promise.all(pushes.map((push) => periodicReader(push, logger)));
    const readers = [...pulled.map(({ reader }) => reader), ...pushed];
    const provider = new MeterProvider({ resource: resourceFromAttributes(resource), readers });
    this.shutdown = () => provider.shutdown();
    bridgeMetrics(registry, provider.getMeter("sluice"));
    return pulled.map(({ scrape }) => scrape);
  }
}

function pullTargets({ metrics, isWritten, authenticators }: MetricExportSettings): PullTarget[] {
  const fromAddress = metrics.address === undefined ? [] : [pullFromAddress(metrics.address, [...PATH, "address"])];
  if (metrics.readers === undefined) return fromAddress.length > 0 ? fromAddress : [DEFAULT_PULL];
  const fromReaders = metrics.readers.flatMap(({ pull }, index) => {
    const prometheus = pull?.exporter.prometheus;
    if (prometheus === undefined) return [];
    const keys = [...PATH, "readers", String(index), "pull", "exporter", "prometheus"];
    const path = [...keys, "port"];
    const written = isWritten(path.map((key, depth) => (depth === PATH.length + 1 ? index : key)));
    const endpoint = { host: prometheus.host, port: prometheus.port };
    const tls = prometheus.tls && { config: prometheus.tls, path: [...keys, "tls"] };
    const authenticator = prometheus.auth && lateServerAuthenticator(prometheus.auth, authenticators);
    // As in the Collector, one of the two keys is enough.
    const hasSuffixes = !prometheus.without_type_suffix || !prometheus.without_units;
    return [{ endpoint, configPath: written ? path : undefined, tls, authenticator, hasSuffixes }];
  });
  return [...fromAddress, ...fromReaders];
}

function pushTargets({ metrics, authenticators, logger }: MetricExportSettings): Promise<PushTarget[]> {
  const targets = (metrics.readers ?? []).map(async ({ periodic }, index) => {
    const otlp = periodic?.exporter.otlp;
    if (periodic === undefined || otlp === undefined) return [];
    const path = [...PATH, "readers", String(index), "periodic", "exporter", "otlp"];
    const options = await otlpOptions(otlp, "/v1/metrics", path, { authenticators, logger });
    return [{ options, intervalMs: periodic.interval, timeoutMs: periodic.timeout }];
  });
  return Promise.all(targets).then((found) => found.flat());
}
