import { MetricOutput, type PointCollector } from "#receiving";
import type { ScraperConfigs } from "./config.js";
import { type HostFiles, TICKS_PER_SECOND } from "./host-files.js";
import { HOST_METRICS } from "./metrics.js";

/** Measures one subject and adds its points. */
export type Scraper = (points: PointCollector) => Promise<void>;

const CPU_STATES = ["user", "nice", "system", "idle", "wait", "interrupt", "softirq", "steal"] as const;

export function cpuScraper(files: HostFiles, { metrics }: ScraperConfigs["cpu"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.cpu, metrics);
  let before = new Map<string, number[]>();
  return async (points) => {
    const now = new Map<string, number[]>();
    for (const line of await files.lines("stat")) {
      const [cpu = "", ...numbers] = line.split(/\s+/);
      if (!/^cpu\d+$/.test(cpu)) continue;
      const ticks = CPU_STATES.map((_, i) => Number(numbers[i] ?? 0));
      // The kernel already counts guest time in user and nice.
      now.set(cpu, ticks);
      for (const [i, state] of CPU_STATES.entries()) {
        output.add(points, "system.cpu.time", ticks[i]! / TICKS_PER_SECOND, { cpu, state });
      }
      const last = before.get(cpu);
      const total = last === undefined ? 0 : ticks.reduce((sum, each, i) => sum + Math.max(0, each - last[i]!), 0);
      if (last !== undefined && total > 0) {
        for (const [i, state] of CPU_STATES.entries()) {
          output.add(points, "system.cpu.utilization", Math.max(0, ticks[i]! - last[i]!) / total, { cpu, state });
        }
      }
    }
    before = now;
    output.add(points, "system.cpu.logical.count", now.size);
    if (output.wants("system.cpu.physical.count"))
      output.add(points, "system.cpu.physical.count", await physicalCpus(files));
  };
}

async function physicalCpus(files: HostFiles): Promise<number | undefined> {
  const cores = new Set<string>();
  let socket = "";
  for (const line of await files.lines("cpuinfo")) {
    const [key = "", value = ""] = line.split(/\s*:\s*/);
    if (key === "physical id") socket = value;
    if (key === "core id") cores.add(`${socket} ${value}`);
  }
  return cores.size === 0 ? undefined : cores.size;
}

export function loadScraper(files: HostFiles, { metrics, cpu_average: isAverage }: ScraperConfigs["load"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.load, metrics);
  return async (points) => {
    const [one, five, fifteen] = (await files.read("loadavg")).split(" ").map(Number);
    const cpus = isAverage ? (await files.lines("stat")).filter((line) => /^cpu\d/.test(line)).length || 1 : 1;
    output.add(points, "system.cpu.load_average.1m", one! / cpus);
    output.add(points, "system.cpu.load_average.5m", five! / cpus);
    output.add(points, "system.cpu.load_average.15m", fifteen! / cpus);
  };
}

export function memoryScraper(files: HostFiles, { metrics }: ScraperConfigs["memory"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.memory, metrics);
  return async (points) => {
    const meminfo = await files.numbers("meminfo");
    const bytes = (name: string) => (meminfo.get(name) ?? 0) * 1024;
    const total = bytes("MemTotal");
    const cached = bytes("Cached") + bytes("SReclaimable");
    const states = {
      buffered: bytes("Buffers"),
      cached,
      free: bytes("MemFree"),
      inactive: bytes("Inactive"),
      slab_reclaimable: bytes("SReclaimable"),
      slab_unreclaimable: bytes("SUnreclaim"),
      used: Math.max(0, total - bytes("MemFree") - bytes("Buffers") - cached),
    };
    for (const [state, value] of Object.entries(states)) {
      output.add(points, "system.memory.usage", value, { state });
      output.add(points, "system.memory.utilization", value / total, { state });
    }
    output.add(points, "system.memory.limit", total);
    output.add(
      points,
      "system.linux.memory.available",
      meminfo.has("MemAvailable") ? bytes("MemAvailable") : undefined,
    );
  };
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
  R: "running",
  S: "sleeping",
  D: "blocked",
  Z: "zombies",
  T: "stopped",
  t: "stopped",
  I: "idle",
  X: "zombies",
  W: "paging",
  L: "locked",
};

export function processesScraper(
  files: HostFiles,
  { metrics }: ScraperConfigs["processes"],
  listProcesses: () => Promise<readonly string[]>,
): Scraper {
  const output = new MetricOutput(HOST_METRICS.processes, metrics);
  return async (points) => {
    output.add(points, "system.processes.created", (await files.numbers("stat")).get("processes"));
    if (!output.wants("system.processes.count")) return;
    const counts = new Map<string, number>();
    for (const pid of await listProcesses()) {
      // A process may end while it is being read.
      const text = await files.readProcess(pid, "stat").catch(() => undefined);
      if (text === undefined) continue;
      const state = PROCESS_STATES[text.charAt(text.lastIndexOf(")") + 2)] ?? "unknown";
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    for (const [status, count] of counts) output.add(points, "system.processes.count", count, { status });
  };
}

export function systemScraper(files: HostFiles, { metrics }: ScraperConfigs["system"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.system, metrics);
  return async (points) => output.add(points, "system.uptime", Number((await files.read("uptime")).split(" ")[0]));
}
