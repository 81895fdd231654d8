import type { IMetricReader } from "@opentelemetry/sdk-metrics";
import { StartError } from "../contract/component.js";
import type { Logger } from "../contract/observability.js";
import { formatAddress, type HostPort, parseHostPort } from "../net/endpoint.js";
import { isPortTaken, listenFailure, type SmallServer, startSmallServer } from "../net/small-server.js";
import { watchExports } from "./export-watch.js";
import type { OtlpOptions } from "./otlp-target.js";

/** Where the agent's metrics can be pulled from. */
export interface PullTarget {
  readonly endpoint: HostPort;
  /** The key of the config that names the port; undefined: nobody asked for this port in particular. */
  readonly writtenAt: readonly string[] | undefined;
}

export interface PushTarget {
  readonly options: OtlpOptions;
  readonly intervalMs: number;
  readonly timeoutMs: number | undefined;
}

export const DEFAULT_PULL: PullTarget = { endpoint: { host: "127.0.0.1", port: 8888 }, writtenAt: undefined };

/** The old `address: host:port`. */
export function pullFromAddress(address: string, path: readonly string[]): PullTarget {
  const endpoint = parseHostPort(address);
  if (endpoint === undefined) throw new StartError("expected host:port, such as 127.0.0.1:8888", path);
  return { endpoint, writtenAt: path };
}

/** Undefined when a port that nobody asked for is taken: that is said in the log, and the agent runs without it. */
export async function listenForScrapes(
  { endpoint, writtenAt }: PullTarget,
  scrape: () => Promise<string>,
  logger: Logger,
): Promise<SmallServer | undefined> {
  try {
    const server = await startSmallServer({ endpoint, answer: (path) => answer(path, scrape) });
    logger.debug({ endpoint: formatAddress(server.endpoint) }, "metrics are at /metrics");
    return server;
  } catch (error) {
    const message = listenFailure(endpoint, error);
    if (writtenAt !== undefined) throw new StartError(message, writtenAt, { cause: error });
    logger.warn({}, `${message}; the agent runs without its metrics endpoint`);
    if (!isPortTaken(error)) logger.debug({ error }, "why the metrics endpoint is missing");
    return undefined;
  }
}

/** A reader for pulls, and the text it gives. */
export async function prometheusReader(): Promise<{ reader: IMetricReader; scrape: () => Promise<string> }> {
  const { PrometheusExporter, PrometheusSerializer } = await import("@opentelemetry/exporter-prometheus");
  const reader = new PrometheusExporter({ preventServerStart: true });
  const serializer = new PrometheusSerializer("", false, undefined, false, true);
  const scrape = async () => `${serializer.serialize((await reader.collect()).resourceMetrics)}\n`;
  return { reader, scrape };
}

/** A reader that sends everything to an OTLP target from time to time, and once more when it is shut down. */
export async function periodicReader(target: PushTarget, logger: Logger): Promise<IMetricReader> {
  const [{ PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import("@opentelemetry/sdk-metrics"),
    import("@opentelemetry/exporter-metrics-otlp-http"),
  ]);
  return new PeriodicExportingMetricReader({
    exporter: watchExports(new OTLPMetricExporter(target.options), "metrics", target.options.url, logger),
    exportIntervalMillis: target.intervalMs,
    exportTimeoutMillis: Math.min(target.timeoutMs ?? 30_000, target.intervalMs),
  });
}

async function answer(path: string, scrape: () => Promise<string>) {
  if (path !== "/metrics") return { status: 404, type: "text/plain", body: "the metrics are at /metrics\n" };
  return { status: 200, type: "text/plain; version=0.0.4; charset=utf-8", body: await scrape() };
}
