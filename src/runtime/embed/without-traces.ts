import { context, createContextKey } from "@opentelemetry/api";
import type { ExporterSpec, ResolvedConfig } from "../config/spec.js";
import type { Exporter } from "../contract/component.js";

/** The key by which OpenTelemetry's instrumentations know that a call is not to be traced. */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/**
 * The config with exporters whose calls are not traced: an instrumented http module would make a span of every export,
 * whose export makes the next.
 */
export function withUntracedExporters(config: ResolvedConfig): ResolvedConfig {
  const exporters = new Map([...config.exporters].map(([id, spec]) => [id, untracedSpec(spec)]));
  return { ...config, exporters };
}

function untracedSpec(spec: ExporterSpec): ExporterSpec {
  const create = (...args: Parameters<typeof spec.factory.create>) => untracedExporter(spec.factory.create(...args));
  return { ...spec, factory: { ...spec.factory, create } };
}

/** The same exporter, quietly. What is no exporter is left for the runtime to find out. */
function untracedExporter(exporter: Exporter): Exporter {
  if (typeof exporter?.send !== "function") return exporter;
  const { start, check, stop } = exporter;
  return {
    ...(start && { start: () => withoutTracing(() => exporter.start!()) }),
    ...(check && { check: (abort: AbortSignal) => withoutTracing(() => exporter.check!(abort)) }),
    ...(stop && { stop: () => withoutTracing(() => exporter.stop!()) }),
    send: (batch, abort, options) => withoutTracing(() => exporter.send(batch, abort, options)),
  };
}

function withoutTracing<T>(run: () => T): T {
  return context.with(context.active().setValue(SUPPRESS_TRACING, true), run);
}
