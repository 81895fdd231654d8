import { cpuUsage, memoryUsage } from "node:process";
import type { MetricRegistry } from "./metric-registry.js";

/** How the process is doing, under the Collector's names. */
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
}
