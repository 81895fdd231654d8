import { counter, gauge, type MetricTable, optIn, optional, type PointOrigin, upDown } from "#receiving";

export const HOST_METRICS = {
  cpu: {
    "system.cpu.time": optIn(counter("s", "Seconds that logical CPUs spent on each mode.", false), "cpu"),
    "system.cpu.utilization": optional(
      optIn(gauge("1", "Share of the time since the last collection that CPUs spent on each mode."), "cpu"),
    ),
    "system.cpu.frequency": optional(gauge("Hz", "Frequency of each logical CPU.")),
    "system.cpu.logical.count": upDown("{cpu}", "Number of logical CPUs."),
    "system.cpu.physical.count": optional(upDown("{cpu}", "Number of physical CPUs.")),
  },
  load: {
    "system.cpu.load_average.1m": gauge("{thread}", "Average load over a minute."),
    "system.cpu.load_average.5m": gauge("{thread}", "Average load over five minutes."),
    "system.cpu.load_average.15m": gauge("{thread}", "Average load over fifteen minutes."),
  },
  memory: {
    "system.memory.usage": upDown("By", "Bytes of memory in use."),
    "system.memory.utilization": optional(gauge("1", "Share of memory in use.")),
    "system.memory.limit": optional(upDown("By", "Bytes of memory there are.")),
    "system.linux.memory.available": optional(
      upDown("By", "An estimate of how much memory new programs can have without swapping."),
    ),
    "system.linux.memory.dirty": optional(upDown("By", "Bytes that wait to be written to disk.")),
    "system.memory.linux.shared": optional(upDown("By", "Bytes of shared memory and of tmpfs.")),
    "system.memory.page_size": optional(gauge("By", "Size of a page.", true)),
    "system.memory.linux.hugepages.limit": optional(upDown("{page}", "Huge pages there are.")),
    "system.memory.linux.hugepages.page_size": optional(upDown("By", "Size of a huge page.")),
    "system.memory.linux.hugepages.reserved": optional(upDown("{page}", "Huge pages that are promised.")),
    "system.memory.linux.hugepages.surplus": optional(upDown("{page}", "Huge pages beyond the pool.")),
    "system.memory.linux.hugepages.usage": optional(upDown("{page}", "Huge pages in each state.")),
    "system.memory.linux.hugepages.utilization": optional(gauge("1", "Share of huge pages in each state.")),
  },
  disk: {
    "system.disk.io": counter("By", "Bytes read and written."),
    "system.disk.operations": counter("{operations}", "Reads and writes."),
    "system.disk.io_time": counter("s", "Time that the disk was busy.", false),
    "system.disk.operation_time": counter("s", "Time spent in operations.", false),
    "system.disk.weighted_io_time": counter("s", "Time that the disk was busy, times the operations under way.", false),
    "system.disk.pending_operations": upDown("{operations}", "Operations under way."),
    "system.disk.merged": counter("{operations}", "Operations that were merged into one."),
  },
  filesystem: {
    "system.filesystem.usage": upDown("By", "Bytes of file systems."),
    "system.filesystem.inodes.usage": upDown("{inodes}", "Inodes of file systems."),
    "system.filesystem.utilization": optional(gauge("1", "Share of a file system in use.")),
  },
  network: {
    "system.network.packets": counter("{packets}", "Packets."),
    "system.network.dropped": counter("{packets}", "Packets that were dropped."),
    "system.network.errors": counter("{errors}", "Errors."),
    "system.network.io": counter("By", "Bytes."),
    "system.network.connections": upDown("{connections}", "Connections."),
    "system.network.conntrack.count": optional(upDown("{entries}", "Entries in the table of connections.")),
    "system.network.conntrack.max": optional(upDown("{entries}", "Limit of entries in the table of connections.")),
  },
  paging: {
    "system.paging.usage": upDown("By", "Swap in use."),
    "system.paging.utilization": optional(gauge("1", "Share of swap in use.")),
    "system.paging.operations": counter("{operations}", "Pages read and written."),
    "system.paging.faults": counter("{faults}", "Page faults."),
  },
  processes: {
    "system.processes.created": counter("{processes}", "Processes created since the start."),
    "system.processes.count": upDown("{processes}", "Processes in each state."),
  },
  process: {
    "process.cpu.time": counter("s", "CPU seconds, by mode.", false),
    "process.cpu.utilization": optional(gauge("1", "Share of the time of all CPUs since the last collection.")),
    "process.memory.usage": upDown("By", "Physical memory in use."),
    "process.memory.virtual": upDown("By", "Virtual memory in use."),
    "process.memory.utilization": optional(gauge("1", "Percentage of the machine's memory in use.")),
    "process.disk.io": counter("By", "Bytes read and written."),
    "process.disk.operations": optional(counter("{operations}", "Calls that read and write.")),
    "process.context_switches": optional(counter("{count}", "Context switches of all threads.")),
    "process.signals_pending": optional(upDown("{signals}", "Signals that wait for the process.")),
    "process.threads": optional(upDown("{threads}", "Threads.")),
    "process.paging.faults": optional(counter("{faults}", "Page faults.")),
    "process.open_file_descriptors": optional(upDown("{count}", "Open file descriptors.")),
    "process.uptime": optional(gauge("s", "Time since the process began.")),
  },
  system: {
    "system.uptime": gauge("s", "Time since the machine started."),
  },
} as const satisfies Readonly<Record<string, MetricTable>>;

export type ScraperName = keyof typeof HOST_METRICS;

export const SCRAPER_NAMES = Object.keys(HOST_METRICS) as ScraperName[];

const SCOPE = "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/hostmetricsreceiver/internal/scraper";

/** The scope of a scraper's metrics. Backends group by it, so it has the Collector's name. */
export function originOf(scraper: ScraperName): PointOrigin {
  return { scope: `${SCOPE}/${scraper}scraper`, schemaUrl: "https://opentelemetry.io/schemas/1.9.0" };
}
