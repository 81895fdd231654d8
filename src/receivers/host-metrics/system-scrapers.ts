import { readFile } from "node:fs/promises";
import { MetricOutput, type PointCollector } from "#receiving";
import type { ScraperConfigs } from "./config.js";
import { type HostFiles, ratio, TICKS_PER_SECOND } from "./host-files.js";
import { HOST_METRICS } from "./metrics.js";

/** Measures one subject and adds its points. */
export type Scraper = (points: PointCollector) => Promise<void>;

/** Columns of a CPU in /proc/stat by state, in the order in which the Collector adds them up. */
const CPU_STATES = { user: 0, system: 2, idle: 3, interrupt: 5, nice: 1, softirq: 6, steal: 7, wait: 4 } as const;

export function cpuScraper(files: HostFiles, { metrics }: ScraperConfigs["cpu"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.cpu, metrics);
  let before = new Map<string, number[]>();
  return async (points) => {
    const now = new Map<string, number[]>();
    for (const line of await files.lines("stat")) {
      const [cpu = "", ...numbers] = line.split(/\s+/);
      if (!/^cpu\d+$/.test(cpu)) continue;
      const ticks = Array.from({ length: 8 }, (_, i) => Number(numbers[i] ?? 0));
      // The kernel already counts guest time in user and nice.
      now.set(cpu, ticks);
      for (const [state, i] of Object.entries(CPU_STATES)) {
        output.add(points, "system.cpu.time", ticks[i]! / TICKS_PER_SECOND, { cpu, state });
      }
      const last = before.get(cpu);
      const total = last === undefined ? 0 : ticks.reduce((sum, each, i) => sum + Math.max(0, each - last[i]!), 0);
      if (last !== undefined && total > 0) {
        for (const [state, i] of Object.entries(CPU_STATES)) {
          output.add(points, "system.cpu.utilization", Math.max(0, ticks[i]! - last[i]!) / total, { cpu, state });
        }
      }
    }
    before = now;
    output.add(points, "system.cpu.logical.count", now.size);
    if (!output.wants("system.cpu.physical.count") && !output.wants("system.cpu.frequency")) return;
    const { cores, megahertz } = await readCpuInfo(files);
    output.add(points, "system.cpu.physical.count", cores);
    for (const [cpu, value] of megahertz) output.add(points, "system.cpu.frequency", value * 1e6, { cpu });
  };
}

async function readCpuInfo(files: HostFiles) {
  const cores = new Set<string>();
  const megahertz = new Map<string, number>();
  let [cpu, socket] = ["", ""];
  for (const line of await files.lines("cpuinfo")) {
    const [key = "", value = ""] = line.split(":").map((part) => part.trim());
    if (key === "processor") cpu = `cpu${value}`;
    if (key === "physical id") socket = value;
    if (key === "core id") cores.add(`${socket} ${value}`);
    if (key === "cpu MHz") megahertz.set(cpu, Number(value));
  }
  return { cores: cores.size === 0 ? undefined : cores.size, megahertz };
}

export function loadScraper(files: HostFiles, { metrics, cpu_average: isAverage }: ScraperConfigs["load"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.load, metrics);
  return async (points) => {
    const [one = Number.NaN, five = Number.NaN, fifteen = Number.NaN] = (await files.read("loadavg"))
      .split(" ")
      .map(Number);
    const cpus = isAverage ? (await files.lines("stat")).filter((line) => /^cpu\d/.test(line)).length || 1 : 1;
    output.add(points, "system.cpu.load_average.1m", one / cpus);
    output.add(points, "system.cpu.load_average.5m", five / cpus);
    output.add(points, "system.cpu.load_average.15m", fifteen / cpus);
  };
}

export function memoryScraper(files: HostFiles, { metrics }: ScraperConfigs["memory"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.memory, metrics);
  return async (points) => {
    const meminfo = await files.numbers("meminfo");
    const bytes = (name: string) => (meminfo.get(name) ?? 0) * 1024;
    const total = bytes("MemTotal");
    const [free, buffered, slab] = [bytes("MemFree"), bytes("Buffers"), bytes("SReclaimable")];
    const cached = bytes("Cached") + slab;
    const available = meminfo.has("MemAvailable") ? bytes("MemAvailable") : cached + free;
    const states = {
      used: total - available,
      free,
      buffered,
      cached,
      slab_reclaimable: slab,
      slab_unreclaimable: bytes("SUnreclaim"),
    };
    for (const [state, value] of Object.entries(states)) {
      output.add(points, "system.memory.usage", value, { state });
      output.add(points, "system.memory.utilization", ratio(value, total), { state });
    }
    output.add(points, "system.memory.limit", total);
    output.add(points, "system.linux.memory.available", available);
    output.add(points, "system.linux.memory.dirty", bytes("Dirty"));
    output.add(points, "system.memory.linux.shared", bytes("Shmem"));
    if (output.wants("system.memory.page_size")) output.add(points, "system.memory.page_size", await pageSize());
    addHugePages(points, meminfo);
  };

  function addHugePages(points: PointCollector, meminfo: ReadonlyMap<string, number>): void {
    const pages = (name: string) => meminfo.get(`HugePages_${name}`) ?? 0;
    const [total, free] = [pages("Total"), pages("Free")];
    output.add(points, "system.memory.linux.hugepages.page_size", (meminfo.get("Hugepagesize") ?? 0) * 1024);
    output.add(points, "system.memory.linux.hugepages.limit", total);
    output.add(points, "system.memory.linux.hugepages.reserved", pages("Rsvd"));
    output.add(points, "system.memory.linux.hugepages.surplus", pages("Surp"));
    for (const [state, count] of Object.entries({ free, used: total - free })) {
      const attributes = { "system.memory.linux.hugepages.state": state };
      output.add(points, "system.memory.linux.hugepages.usage", count, attributes);
      output.add(points, "system.memory.linux.hugepages.utilization", ratio(count, total), attributes);
    }
  }
}

/** The kernel tells every process the size of a page: pairs of 64-bit numbers, in which 6 stands for it. */
async function pageSize(): Promise<number | undefined> {
  const pairs = await readFile("/proc/self/auxv");
  for (let at = 0; at + 16 <= pairs.length; at += 16)
    if (pairs.readBigUInt64LE(at) === 6n) return Number(pairs.readBigUInt64LE(at + 8));
  return undefined;
}

export function pagingScraper(files: HostFiles, { metrics }: ScraperConfigs["paging"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.paging, metrics);
  return async (points) => {
    for (const line of (await files.lines("swaps")).slice(1)) {
      const [device = "", , size, used] = line.split(/\s+/);
      const [total, inUse] = [Number(size) * 1024, Number(used) * 1024];
      for (const [state, value] of [
        ["used", inUse],
        ["free", total - inUse],
      ] as const) {
        output.add(points, "system.paging.usage", value, { device, state });
        output.add(points, "system.paging.utilization", value / total, { device, state });
      }
    }
    const vmstat = await files.numbers("vmstat");
    for (const [direction, type, name] of [
      ["page_in", "major", "pswpin"],
      ["page_out", "major", "pswpout"],
      ["page_in", "minor", "pgpgin"],
      ["page_out", "minor", "pgpgout"],
    ] as const) {
      output.add(points, "system.paging.operations", vmstat.get(name), { direction, type });
    }
    const [all = Number.NaN, major = Number.NaN] = [vmstat.get("pgfault"), vmstat.get("pgmajfault")];
    output.add(points, "system.paging.faults", major, { type: "major" });
    output.add(points, "system.paging.faults", all - major, { type: "minor" });
  };
}

const PROCESS_STATES: Readonly<Record<string, string>> = {
  A: "daemon",
  D: "blocked",
  I: "idle",
  L: "locked",
  O: "orphan",
  R: "running",
  S: "sleeping",
  T: "stopped",
  t: "stopped",
  W: "paging",
  Y: "system",
  Z: "zombies",
};

export function processesScraper(
  files: HostFiles,
  { metrics }: ScraperConfigs["processes"],
  listProcesses: () => Promise<readonly string[]>,
): Scraper {
  const output = new MetricOutput(HOST_METRICS.processes, metrics);
  return async (points) => {
    const stat = await files.numbers("stat");
    output.add(points, "system.processes.created", stat.get("processes"));
    if (!output.wants("system.processes.count")) return;
    const processes = await listProcesses();
    const counts = await countStates(files, processes);
    // The kernel counts these at one moment, and threads too.
    counts.set("blocked", stat.get("procs_blocked") ?? 0);
    counts.set("running", stat.get("procs_running") ?? 0);
    const known = [...counts.values()].reduce((sum, count) => sum + count, 0);
    if (processes.length > known) counts.set("unknown", processes.length - known);
    for (const [status, count] of counts) output.add(points, "system.processes.count", count, { status });
  };
}

async function countStates(files: HostFiles, processes: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const pid of processes) {
    // A process may end while it is being read.
    const text = await files.readProcess(pid, "stat").catch(() => undefined);
    if (text === undefined) continue;
    const state = PROCESS_STATES[text.charAt(text.lastIndexOf(")") + 2)] ?? "unknown";
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

export function systemScraper(files: HostFiles, { metrics }: ScraperConfigs["system"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.system, metrics);
  return async (points) => output.add(points, "system.uptime", Number((await files.read("uptime")).split(" ")[0]));
}
