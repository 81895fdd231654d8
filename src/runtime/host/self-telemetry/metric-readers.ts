import type { IMetricReader } from "@opentelemetry/sdk-metrics";
import type { Logger, ServerAuthenticator } from "#contract";
import { systemClock } from "#contract";
import { StartError } from "#contract/errors";
import { metricName, nameRules } from "#metrics";
import type { ListeningServer, TlsServerConfig } from "#net";
import { formatAddress, type HostPort, isPortInUse, parseHostPort, startSimpleHttpServer } from "#net";
import { rejectUnauthenticated } from "#net/auth";
import { logExportFailures } from "./log-export-failures.js";
import type { MetricFamily, MetricRegistry } from "./metric-registry.js";
import type { OtlpOptions } from "./otlp-target.js";

/** An address where the agent's metrics can be scraped. */
export interface PullTarget {
  readonly endpoint: HostPort;
  /** Path of the port in the config; undefined for the default port. */
  readonly configPath: readonly string[] | undefined;
  /** If present, the endpoint uses https. */
  readonly tls?: { readonly config: TlsServerConfig; readonly path: readonly string[] } | undefined;
  readonly authenticator?: ServerAuthenticator | undefined;
  /** Whether the Collector's metrics have units and `_total` in their names. */
  readonly hasSuffixes: boolean;
}

export interface PushTarget {
  readonly options: OtlpOptions;
  readonly intervalMs: number;
  readonly timeoutMs: number | undefined;
}

export const DEFAULT_PULL: PullTarget = {
  endpoint: { host: "127.0.0.1", port: 8888 },
  configPath: undefined,
  hasSuffixes: false,
};

/** Converts the old form `address: host:port`. */
export function pullFromAddress(address: string, path: readonly string[]): PullTarget {
  const endpoint = parseHostPort(address);
  if (endpoint === undefined) throw new StartError("expected host:port, such as 127.0.0.1:8888", path);
  return { endpoint, configPath: path, hasSuffixes: false };
}

/** Returns undefined when the default port is taken: logs it, and the agent runs without the endpoint. */
export async function listenForScrapes(
  { endpoint, configPath, tls, authenticator }: PullTarget,
  scrape: () => Promise<string>,
  logger: Logger,
): Promise<ListeningServer | undefined> {
  try {
    const server = await startSimpleHttpServer({
      address: endpoint,
      configPath: configPath ?? [],
      ...(tls && { tls: tls.config, tlsPath: tls.path }),
      clock: systemClock,
      logger,
      answer: (path) => answer(path, scrape),
      refuse: authenticator && rejectUnauthenticated(authenticator),
    });
    const url = `${tls ? "https" : "http"}://${formatAddress(server.address)}/metrics`;
    logger.info({ url }, "metrics for Prometheus");
    return server;
  } catch (error) {
    if (configPath !== undefined) throw error;
    logger.warn({}, `${(error as Error).message}; the agent runs without its metrics endpoint`);
    if (!isPortInUse(error)) logger.debug({ error }, "why the metrics endpoint is missing");
    return undefined;
  }
}

/** A metric reader for scrapes, and a function that renders its text. */
export async function prometheusReader(
  registry: MetricRegistry,
  { hasSuffixes }: PullTarget,
): Promise<{ reader: IMetricReader; scrape: () => Promise<string> }> {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, false, true);
  const scrape = async () => {
    const page = serializer.serialize((await reader.collect()).resourceMetrics);
    return `${withCollectorNames(page, registry.all(), hasSuffixes)}\n`;
  };
  return { reader, scrape };
}

/** A reader that exports to an OTLP target periodically, and once more on shutdown. */
export async function periodicReader(target: PushTarget, logger: Logger): Promise<IMetricReader> {
  const [{ PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import("@opentelemetry/sdk-metrics"),
    target.options.encoding === "json"
      ? import("@opentelemetry/exporter-metrics-otlp-http")
      : import("@opentelemetry/exporter-metrics-otlp-proto"),
  ]);
  return new PeriodicExportingMetricReader({
    exporter: logExportFailures(new OTLPMetricExporter(target.options), "metrics", target.options, logger),
    exportIntervalMillis: target.intervalMs,
    exportTimeoutMillis: Math.min(target.timeoutMs ?? 30_000, target.intervalMs),
  });
}

async function answer(path: string, scrape: () => Promise<string>) {
  if (path !== "/metrics") return { status: 404, type: "text/plain", body: "the metrics are at /metrics\n" };
  return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: await scrape() };
}

/** Metrics with the Collector's names, which dashboards made for the Collector ask for. */
const COLLECTOR_PREFIX = "otelcol_";
const WITH_SUFFIXES = nameRules("", true, "NoUTF8EscapingWithSuffixes");

/**
 * Gives the metrics with the Collector's names on a page for Prometheus the names that the Collector's page has: those of
 * the instruments, or with `hasSuffixes` those with units and `_total`. OpenTelemetry's serializer knows only a name with
 * `_total` and without a unit. Other metrics keep that one.
 */
function withCollectorNames(page: string, families: Iterable<MetricFamily>, hasSuffixes: boolean): string {
  const names = new Map<string, string>();
  for (const family of families) {
    if (!family.name.startsWith(COLLECTOR_PREFIX)) continue;
    const name = hasSuffixes ? suffixedName(family) : family.name;
    for (const part of PARTS[family.kind]) names.set(serializedName(family) + part, name + part);
  }
  return page.replace(LINE_START, (_, before: string, name: string) => before + (names.get(name) ?? name));
}

/** The name of a sample, or of the metric that a comment is about. */
const LINE_START = /^((?:# (?:HELP|TYPE|UNIT) )?)([A-Za-z_:][\w:]*)/gm;

/** The suffixes that the samples of a metric have behind its name. */
const PARTS: Readonly<Record<MetricFamily["kind"], readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["", "_bucket", "_sum", "_count"],
};

function serializedName({ name, kind }: MetricFamily): string {
  return kind === "counter" && !name.endsWith("_total") ? `${name}_total` : name;
}

function suffixedName({ name, kind, description }: MetricFamily): string {
  return metricName(name, description.unit ?? "", kind === "histogram" ? "other" : kind, WITH_SUFFIXES);
}
