import { counter, gauge, type MetricTable, optional, upDown } from "#receiving";

/** The kernel's names for a control group's memory statistics: sizes in bytes here, page counts in `MEMORY_COUNTS`. */
export const MEMORY_BYTES = words(
  `active_anon active_file anon cache dirty file hierarchical_memory_limit hierarchical_memsw_limit inactive_anon inactive_file mapped_file rss rss_huge total_active_anon total_active_file total_cache total_dirty total_inactive_anon total_inactive_file total_mapped_file total_rss total_rss_huge total_unevictable total_writeback unevictable writeback`,
);
export const MEMORY_COUNTS: ReadonlyMap<string, string> = new Map([
  ["pgfault", "{faults}"],
  ["pgmajfault", "{faults}"],
  ["pgpgin", "{operations}"],
  ["pgpgout", "{operations}"],
  ["total_pgfault", "{faults}"],
  ["total_pgmajfault", "{faults}"],
  ["total_pgpgin", "{operations}"],
  ["total_pgpgout", "{operations}"],
]);
const ON_BY_DEFAULT: ReadonlySet<string> = new Set(["file", "total_cache"]);

/** Maps the per-device lists in the response to the metrics they are reported as. */
export const BLOCK_IO: ReadonlyMap<string, string> = new Map([
  ["io_merged_recursive", "{operations}"],
  ["io_queued_recursive", "{operations}"],
  ["io_service_bytes_recursive", "By"],
  ["io_service_time_recursive", "ns"],
  ["io_serviced_recursive", "{operations}"],
  ["io_time_recursive", "ms"],
  ["io_wait_time_recursive", "ns"],
  ["sectors_recursive", "{sectors}"],
]);
const BLOCK_IO_ON = "io_service_bytes_recursive";

/** Maps the response's counters of each network interface to metric names. */
export const NETWORK_IO: ReadonlyMap<string, string> = new Map([
  ["rx_bytes", "By"],
  ["rx_dropped", "{packets}"],
  ["rx_errors", "{errors}"],
  ["rx_packets", "{packets}"],
  ["tx_bytes", "By"],
  ["tx_dropped", "{packets}"],
  ["tx_errors", "{errors}"],
  ["tx_packets", "{packets}"],
]);
const NETWORK_ON: ReadonlySet<string> = new Set(["rx_bytes", "rx_dropped", "tx_bytes", "tx_dropped"]);

export const DOCKER_METRICS: MetricTable = {
  "container.cpu.limit": optional(gauge("{cpus}", "How many CPUs the container may use.")),
  "container.cpu.logical.count": optional(gauge("{cpus}", "CPUs that the container sees.", true)),
  "container.cpu.shares": optional(gauge("1", "The weight of the container when CPUs are scarce.", true)),
  "container.cpu.throttling_data.periods": optional(counter("{periods}", "Periods in which throttling was on.")),
  "container.cpu.throttling_data.throttled_periods": optional(
    counter("{periods}", "Periods in which the container reached its limit."),
  ),
  "container.cpu.throttling_data.throttled_time": optional(counter("ns", "Time for which it was held back.")),
  "container.cpu.usage.kernelmode": counter("ns", "CPU time in the kernel."),
  "container.cpu.usage.percpu": optional(counter("ns", "CPU time on each core.")),
  "container.cpu.usage.system": optional(counter("ns", "CPU time of the whole machine.")),
  "container.cpu.usage.total": counter("ns", "CPU time."),
  "container.cpu.usage.usermode": counter("ns", "CPU time outside of the kernel."),
  "container.cpu.utilization": gauge("1", "Percentage of a CPU in use."),
  "container.memory.fails": optional(counter("{fails}", "How often the limit of memory was reached.")),
  "container.memory.percent": gauge("1", "Percentage of the limit of memory in use."),
  "container.memory.usage.limit": upDown("By", "The limit of memory."),
  "container.memory.usage.max": optional(upDown("By", "The most memory that was in use.")),
  "container.memory.usage.total": upDown("By", "Memory in use, without caches."),
  "container.pids.count": optional(upDown("{pids}", "Processes and threads of the container.")),
  "container.pids.limit": optional(upDown("{pids}", "How many there may be.")),
  "container.restarts": optional(counter("{restarts}", "How often it was restarted.")),
  "container.state.health.status": optional(
    upDown("{container}", "1 for the state of health that it is in, 0 for the others."),
  ),
  "container.uptime": optional(gauge("s", "Time since it began.")),
  ...named([...MEMORY_BYTES], (name) => {
    const metric = upDown("By", `Memory that the kernel counts as ${name}.`);
    return [`container.memory.${name}`, ON_BY_DEFAULT.has(name) ? metric : optional(metric)];
  }),
  ...named([...MEMORY_COUNTS.keys()], (name) => [
    `container.memory.${name}`,
    optional(counter(MEMORY_COUNTS.get(name)!, `What the kernel counts as ${name}.`)),
  ]),
  ...named([...BLOCK_IO.keys()], (name) => {
    const metric = counter(BLOCK_IO.get(name)!, `What Docker counts as ${name}, by device and operation.`);
    return [`container.blockio.${name}`, name === BLOCK_IO_ON ? metric : optional(metric)];
  }),
  ...named([...NETWORK_IO.keys()], (name) => {
    const metric = counter(NETWORK_IO.get(name)!, `What interfaces count as ${name}.`);
    return [`container.network.io.usage.${name}`, NETWORK_ON.has(name) ? metric : optional(metric)];
  }),
};

function named(names: readonly string[], entry: (name: string) => [string, MetricTable[string]]): MetricTable {
  return Object.fromEntries(names.map(entry));
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
