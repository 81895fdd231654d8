import { cpuUsage, memoryUsage } from "node:process";
import type { ResolvedConfig } from "#config/resolve";
import type { Place, Problem } from "#config/text";
import type { Authenticators, Logger } from "#contract";
import { isStartError } from "#contract/errors";
import { keepAliveTimer, waitAtMost } from "#contract/time";
import { painterFor, printable } from "#text";
import { turns } from "#work";
import { LogStream } from "./log-stream.js";
import { createLogger, maskedLogger } from "./logger.js";
import { MetricExport } from "./metric-export.js";
import { MetricRegistry } from "./metric-registry.js";
import { OtlpLogs } from "./otlp-logs.js";
import { OwnAuthenticators } from "./own-authenticators.js";
import { prettyLine } from "./pretty-line.js";
import { resourceAttributes } from "./resource-attributes.js";

/**
 * The agent's own logs and metrics. Logger and metrics work from the beginning; `start` begins to export them. Nothing
 * is global: several agents in one process have separate metrics.
 */
export interface SelfTelemetry {
  readonly logger: Logger;
  readonly metrics: MetricRegistry;
  /**
   * Call this when the authenticators have started. Until then, requests that need authentication are rejected, and
   * exports that need credentials wait.
   */
  useAuthenticators(authenticators: Authenticators): void;
  /** Throws a `StartError` whose path begins at the config's root; its `problems` have the place. */
  start(): Promise<void>;
  /** Sends remaining data, for a limited time. Never rejects. */
  stop(): Promise<void>;
}

interface SelfTelemetryOptions {
  readonly stderr: NodeJS.WritableStream;
  readonly isTerminal: boolean;
  /** Replaces the log that `service.telemetry.logs` describes. */
  readonly logger?: Logger | undefined;
  /** Fields of every line of the log. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** One of several processes that work as one agent: a worker exports no metrics, its parent those of all. */
  readonly role?: "worker" | "parent";
  /** Called before metrics are scraped. */
  readonly refreshMetrics?: () => Promise<void>;
}

/** How long a stop waits for an unresponsive OTLP target, in milliseconds. */
const STOP_MS = 2000;

export function createSelfTelemetry(config: ResolvedConfig, options: SelfTelemetryOptions): SelfTelemetry {
  const { logs, metrics, resource: writtenResource } = config.service.telemetry;
  const registry = new MetricRegistry();
  const otlpLogs = logs.processors?.length ? new OtlpLogs() : undefined;
  const stderrLog = options.logger === undefined ? createStderrLog(config, options, otlpLogs) : undefined;
  const logger = options.logger === undefined ? stderrLog!.logger : maskedLogger(options.logger);
  let metricExport: MetricExport | undefined;
  const authenticators = new OwnAuthenticators();

  async function startExports(): Promise<void> {
    const resource = resourceAttributes(writtenResource);
    await otlpLogs?.start(logs.processors ?? [], resource, { logger, authenticators });
    if (metrics.level === "none") return;
    if (options.role !== "parent") addProcessMetrics(registry);
    if (options.role === "worker") return;
    const isWritten = (path: readonly (string | number)[]) => config.placeOf(path) !== undefined;
    metricExport = new MetricExport({
      metrics,
      registry,
      resource,
      logger,
      authenticators,
      isWritten,
      refresh: options.refreshMetrics,
    });
    await metricExport.start();
  }

  async function flush(): Promise<void> {
    authenticators.giveUp();
    await waitAtMost(STOP_MS, Promise.allSettled([metricExport?.stop(), otlpLogs?.stop()]), keepAliveTimer);
    await stderrLog?.stream.flush();
  }

  const start = () =>
    startExports().catch((error: unknown) => {
      throw withConfigPlace(error, config);
    });
  let stopped: Promise<void> | undefined;
  const useAuthenticators = (started: Authenticators) => authenticators.use(started);
  return { logger, metrics: registry, useAuthenticators, start, stop: () => (stopped ??= flush()) };
}

/**
 * Logs to stderr, and to OTLP if configured. People also read JSON in terminals, so characters that change the
 * direction of text or are invisible are escaped in it.
 */
function createStderrLog(
  config: ResolvedConfig,
  { stderr, isTerminal, fields }: SelfTelemetryOptions,
  otlpLogs: OtlpLogs | undefined,
) {
  const { logs } = config.service.telemetry;
  const stream: LogStream = new LogStream(stderr, (lines) => {
    logger.warn({ lines }, "log lines were dropped: the reader was too slow");
  });
  const pretty = logs.encoding === undefined ? isTerminal : logs.encoding === "console";
  const paint = painterFor(stderr, isTerminal);
  const logger: Logger = createLogger({
    level: logs.level,
    initialFields: { ...logs.initial_fields, ...fields },
    output: {
      write(line) {
        stream.write(pretty ? prettyLine(line, paint) : `${printable(line.trimEnd())}\n`);
        otlpLogs?.write(line);
      },
    },
  });
  return { stream, logger };
}

/** Process metrics under the Collector's names. */
export function addProcessMetrics(registry: MetricRegistry): void {
  const started = performance.now();
  registry.observedCounter("otelcol_process_uptime", { description: "Uptime of the process", unit: "s" }, () => {
    return (performance.now() - started) / 1000;
  });
  registry.observedCounter(
    "otelcol_process_cpu_seconds",
    { description: "Total CPU user and system time in seconds", unit: "s" },
    () => {
      const { user, system } = cpuUsage();
      return (user + system) / 1e6;
    },
  );
  registry.observedCounter(
    "sluice_work_slices",
    { description: "Pieces of work that were measured or cut so that none holds the event loop for long." },
    () => turns.slices,
  );
  registry.gauge(
    "otelcol_process_memory_rss",
    { description: "Total physical memory (resident set size)", unit: "By" },
    () => memoryUsage.rss(),
  );
  registry.gauge(
    "otelcol_process_runtime_heap_alloc_bytes",
    { description: "Bytes of allocated heap objects", unit: "By" },
    () => memoryUsage().heapUsed,
  );
  registry.gauge(
    "otelcol_process_runtime_total_sys_memory_bytes",
    { description: "Total bytes of memory that the runtime has for its heap and for buffers", unit: "By" },
    () => {
      const { heapTotal, external } = memoryUsage();
      return heapTotal + external;
    },
  );
}

/** Adds the place in the config to a `StartError`; returns any other error unchanged. */
function withConfigPlace(error: unknown, config: ResolvedConfig): unknown {
  if (!isStartError(error)) return error;
  const { path, message } = error;
  const place = nearestPlace(config, path.map(listIndex));
  const problem: Problem = { severity: "error", code: "start_failed", place, path: path.join("."), message };
  return Object.assign(error, { problems: [problem] });
}

/** The place of the key, or of its nearest existing parent. */
function nearestPlace(config: ResolvedConfig, path: readonly (string | number)[]): Place | undefined {
  for (let length = path.length; length > 0; length--) {
    const place = config.placeOf(path.slice(0, length));
    if (place) return place;
  }
  return undefined;
}

function listIndex(key: string): string | number {
  return /^\d+$/.test(key) ? Number(key) : key;
}
