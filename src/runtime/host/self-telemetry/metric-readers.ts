import type { IMetricReader } from "@opentelemetry/sdk-metrics";
import type { Logger, ServerAuthenticator } from "#contract";
import { systemClock } from "#contract";
import { StartError } from "#contract/errors";
import type { ListeningServer, TlsServerConfig } from "#net";
import { formatAddress, type HostPort, isPortInUse, parseHostPort, startSimpleHttpServer } from "#net";
import { rejectUnauthenticated } from "#net/auth";
import { logExportFailures } from "./log-export-failures.js";
import type { OtlpOptions } from "./otlp-target.js";

/** An address where the agent's metrics can be scraped. */
export interface PullTarget {
  readonly endpoint: HostPort;
  /** Path of the port in the config; undefined for the default port. */
  readonly configPath: readonly string[] | undefined;
  /** If present, the endpoint uses https. */
  readonly tls?: { readonly config: TlsServerConfig; readonly path: readonly string[] } | undefined;
  readonly authenticator?: ServerAuthenticator | undefined;
}

export interface PushTarget {
  readonly options: OtlpOptions;
  readonly intervalMs: number;
  readonly timeoutMs: number | undefined;
}

export const DEFAULT_PULL: PullTarget = { endpoint: { host: "127.0.0.1", port: 8888 }, configPath: undefined };

/** Converts the old form `address: host:port`. */
export function pullFromAddress(address: string, path: readonly string[]): PullTarget {
  const endpoint = parseHostPort(address);
  if (endpoint === undefined) throw new StartError("expected host:port, such as 127.0.0.1:8888", path);
  return { endpoint, configPath: path };
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
export async function prometheusReader(): Promise<{ reader: IMetricReader; scrape: () => Promise<string> }> {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, false, true);
  const scrape = async () => `${serializer.serialize((await reader.collect()).resourceMetrics)}\n`;
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
