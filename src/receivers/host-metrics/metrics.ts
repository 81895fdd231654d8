import { counter, gauge, type MetricTable, optional, upDown } from "#receiving";

export const HOST_METRICS = {
  cpu: {
    "system.cpu.time": counter("s", "Seconds each logical CPU spent on each mode.", false),
    "system.cpu.utilization": optional(
      gauge("1", "Share of the time since the last collection that each CPU spent on each mode."),
    ),
    "system.cpu.logical.count": optional(upDown("{cpu}", "Number of logical CPUs.")),
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
  },
  disk: {
    "system.disk.io": counter("By", "Bytes read and written."),
    "system.disk.operations": counter("{operation}", "Reads and writes."),
    "system.disk.io_time": counter("s", "Time that the disk was busy.", false),
    "system.disk.operation_time": counter("s", "Time spent in operations.", false),
    "system.disk.weighted_io_time": counter("s", "Time that the disk was busy, times the operations under way.", false),
    "system.disk.pending_operations": upDown("{operation}", "Operations under way."),
    "system.disk.merged": counter("{operation}", "Operations that were merged into one."),
  },
  filesystem: {
    "system.filesystem.usage": upDown("By", "Bytes of file systems."),
    "system.filesystem.inodes.usage": upDown("{inode}", "Inodes of file systems."),
    "system.filesystem.utilization": optional(gauge("1", "Share of a file system in use.")),
  },
  network: {
    "system.network.packets": counter("{packet}", "Packets."),
    "system.network.dropped": counter("{packet}", "Packets that were dropped."),
    "system.network.errors": counter("{error}", "Errors."),
    "system.network.io": counter("By", "Bytes."),
    "system.network.connections": upDown("{connection}", "Connections."),
    "system.network.conntrack.count": optional(upDown("{entry}", "Entries in the table of connections.")),
    "system.network.conntrack.max": optional(upDown("{entry}", "Limit of entries in the table of connections.")),
  },
  paging: {
    "system.paging.usage": upDown("By", "Swap in use."),
    "system.paging.utilization": optional(gauge("1", "Share of swap in use.")),
    "system.paging.operations": counter("{operation}", "Pages read and written."),
    "system.paging.faults": counter("{fault}", "Page faults."),
  },
  processes: {
    "system.processes.created": counter("{process}", "Processes created since the start."),
    "system.processes.count": upDown("{process}", "Processes in each state."),
  },
  process: {
    "process.cpu.time": counter("s", "CPU seconds, by mode.", false),
    "process.cpu.utilization": optional(gauge("1", "Share of one CPU's time since the last collection.")),
    "process.memory.usage": upDown("By", "Physical memory in use."),
    "process.memory.virtual": upDown("By", "Virtual memory in use."),
    "process.memory.utilization": optional(gauge("1", "Percentage of the machine's memory in use.")),
    "process.disk.io": counter("By", "Bytes read from and written to disk."),
    "process.threads": optional(upDown("{thread}", "Threads.")),
    "process.paging.faults": optional(counter("{fault}", "Page faults.")),
    "process.open_file_descriptors": optional(upDown("{count}", "Open file descriptors.")),
    "process.uptime": optional(gauge("s", "Time since the process began.")),
  },
  system: {
    "system.uptime": gauge("s", "Time since the machine started."),
  },
} as const satisfies Readonly<Record<string, MetricTable>>;

export type ScraperName = keyof typeof HOST_METRICS;

export const SCRAPER_NAMES = Object.keys(HOST_METRICS) as ScraperName[];
