import { context, createContextKey } from "@opentelemetry/api";
import type { ExporterSpec, ResolvedConfig } from "../config/spec.js";
import type { Exporter } from "../contract/component.js";

/** The key by which OpenTelemetry's instrumentations know that a call is not to be traced. */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/**
 * The config with exporters whose calls are not traced: an instrumented http module would make a span of every export,
 * whose export makes the next.
 */
export function withoutTraces(config: ResolvedConfig): ResolvedConfig {
  const exporters = new Map([...config.exporters].map(([id, spec]) => [id, untraced(spec)]));
  return { ...config, exporters };
}

function untraced(spec: ExporterSpec): ExporterSpec {
  const create = (...args: Parameters<typeof spec.factory.create>) => quiet(spec.factory.create(...args));
  return { ...spec, factory: { ...spec.factory, create } };
}

/** The same exporter, quietly. What is no exporter is left for the runtime to find out. */
function quiet(exporter: Exporter): Exporter {
  if (typeof exporter?.send !== "function") return exporter;
  const { start, check, stop } = exporter;
  return {
    ...(start && { start: () => quietly(() => exporter.start!()) }),
    ...(check && { check: (abort: AbortSignal) => quietly(() => exporter.check!(abort)) }),
    ...(stop && { stop: () => quietly(() => exporter.stop!()) }),
    send: (batch, abort, options) => quietly(() => exporter.send(batch, abort, options)),
  };
}

function quietly<T>(run: () => T): T {
  return context.with(context.active().setValue(SUPPRESS_TRACING, true), run);
}
