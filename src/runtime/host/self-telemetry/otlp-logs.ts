import type { AnyValueMap, Logger as OtelLogger } from "@opentelemetry/api-logs";
import type { LogRecordExporter } from "@opentelemetry/sdk-logs";
import type { LogProcessorConfig, OtlpTarget } from "#config";
import { SEVERITY_NUMBERS, type Severity } from "#otlp/signals";
import { logExportFailures } from "./log-export-failures.js";
import type { LogOutput } from "./logger.js";
import { type OtlpOptions, otlpOptions, type TargetServices } from "./otlp-target.js";
import type { ResourceAttributes } from "./resource-attributes.js";

const PATH = ["service", "telemetry", "logs", "processors"];
const MAX_BUFFERED_LINES = 1000;

/** Exports the agent's own log lines as OTLP. Lines written before `start` are sent after it. */
export class OtlpLogs implements LogOutput {
  private buffered: string[] = [];
  private logger: OtelLogger | undefined;
  private shutdown: () => Promise<void> = async () => {};

  write(line: string): void {
    if (this.logger) emit(this.logger, line);
    else if (this.buffered.length < MAX_BUFFERED_LINES) this.buffered.push(line);
  }

  /** Throws a `StartError` when a target cannot be used as configured. Failing exports are reported to the logger. */
  async start(
    processors: readonly LogProcessorConfig[],
    resource: ResourceAttributes,
    services: TargetServices,
  ): Promise<void> {
    const targets = await Promise.all(processors.flatMap((processor, index) => targetsOf(processor, index, services)));
    const [{ LoggerProvider, BatchLogRecordProcessor, SimpleLogRecordProcessor }, resources] = await Promise.all([
      import("@opentelemetry/sdk-logs"),
      import("@opentelemetry/resources"),
    ]);
    const making = targets.map(async ({ options, batched }) => {
      const exporter = logExportFailures(await createExporter(options), "logs", options, services.logger);
      return batched ? new BatchLogRecordProcessor({ exporter }) : new SimpleLogRecordProcessor({ exporter });
    });
    const made = await Promise.all(making);
    const provider = new LoggerProvider({ resource: resources.resourceFromAttributes(resource), processors: made });
    this.shutdown = () => provider.shutdown();
    this.logger = provider.getLogger("sluice");
    for (const line of this.buffered.splice(0)) emit(this.logger, line);
  }

  /**
   * Sends the remaining lines. This can take as long as the target's timeout; callers with less time must not await it.
   */
  stop(): Promise<void> {
    return this.shutdown();
  }
}

async function createExporter(options: OtlpOptions): Promise<LogRecordExporter> {
  const { OTLPLogExporter } = await (options.encoding === "json"
    ? import("@opentelemetry/exporter-logs-otlp-http")
    : import("@opentelemetry/exporter-logs-otlp-proto"));
  return new OTLPLogExporter(options);
}

interface LogTarget {
  readonly options: OtlpOptions;
  readonly batched: boolean;
}

function targetsOf(processor: LogProcessorConfig, index: number, services: TargetServices): Promise<LogTarget>[] {
  return (["batch", "simple"] as const).flatMap((kind) => {
    const otlp = processor[kind]?.exporter.otlp;
    const path = [...PATH, String(index), kind, "exporter", "otlp"];
    const target = async (written: OtlpTarget) => {
      return { options: await otlpOptions(written, "/v1/logs", path, services), batched: kind === "batch" };
    };
    return otlp === undefined ? [] : [target(otlp)];
  });
}

interface LogLine extends AnyValueMap {
  readonly time: string;
  readonly level: Severity;
  readonly msg: string;
}

function emit(logger: OtelLogger, line: string): void {
  const { time, level, msg, ...fields } = JSON.parse(line) as LogLine;
  logger.emit({
    timestamp: new Date(time),
    severityNumber: SEVERITY_NUMBERS[level] ?? 0,
    severityText: level.toUpperCase(),
    body: msg,
    attributes: fields,
  });
}
