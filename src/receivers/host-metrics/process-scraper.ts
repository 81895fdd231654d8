import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { MetricOutput, PointCollector } from "#receiving";
import type { ScraperConfigs } from "./config.js";
import { nameFilter } from "./device-scrapers.js";
import { type HostFiles, numbersIn, TICKS_PER_SECOND } from "./host-files.js";
import { HOST_METRICS } from "./metrics.js";

export async function listProcesses(files: HostFiles): Promise<string[]> {
  return (await readdir(`${files.root}/proc`)).filter((name) => /^\d+$/.test(name));
}

/** A command line can have megabytes; the rest is cut off. */
const MAX_COMMAND_LINE = 4096;

interface CpuTimes {
  readonly user: number;
  readonly system: number;
  readonly wait: number;
}

/**
 * Measures every wanted process, each with its own resource. Processes that end meanwhile or cannot be read are left
 * out.
 */
export function processScraper(files: HostFiles, config: ScraperConfigs["process"]) {
  const output = new MetricOutput(HOST_METRICS.process, config.metrics);
  const isWanted = nameFilter(config.include, config.exclude);
  let before = new Map<string, { readonly times: CpuTimes; readonly atMs: number }>();

  return async (bootMs: number, nowMs: number): Promise<PointCollector[]> => {
    const collectors: PointCollector[] = [];
    const now: typeof before = new Map();
    const total = ((await files.numbers("meminfo")).get("MemTotal") ?? 0) * 1024;
    for (const pid of await listProcesses(files)) {
      const points = await measure(pid, bootMs, nowMs, total, now).catch(() => undefined);
      if (points !== undefined) collectors.push(points);
    }
    before = now;
    return collectors;
  };

  async function measure(pid: string, bootMs: number, nowMs: number, totalMemory: number, now: typeof before) {
    const stat = parseStat(await files.readProcess(pid, "stat"));
    const command = (await files.read(`${pid}/cmdline`)).slice(0, MAX_COMMAND_LINE).split("\0");
    const path = await files.link(`${pid}/exe`).catch(() => "");
    const name = path === "" ? stat.name : basename(path);
    // Kernel threads have no command line, and users do not count them as processes.
    if (command[0] === "" || !isWanted(name)) return undefined;
    const startMs = bootMs + (stat.startTicks / TICKS_PER_SECOND) * 1000;
    if (nowMs - startMs < config.scrape_process_delay) return undefined;
    const status = numbersIn(await files.readProcess(pid, "status"));
    const points = new PointCollector(startMs, {
      "process.pid": Number(pid),
      "process.parent_pid": stat.parent,
      "process.executable.name": name,
      ...(path !== "" && { "process.executable.path": path }),
      "process.command": command[0]!,
      "process.command_line": command.join(" ").trim(),
      ...(status.has("Uid") && { "process.owner": String(status.get("Uid")) }),
    });
    const key = `${pid} ${stat.startTicks}`;
    now.set(key, { times: stat.times, atMs: nowMs });
    const last = before.get(key);
    for (const state of ["user", "system", "wait"] as const) {
      output.add(points, "process.cpu.time", stat.times[state], { state });
      if (last === undefined || nowMs <= last.atMs) continue;
      const share = (stat.times[state] - last.times[state]) / ((nowMs - last.atMs) / 1000);
      output.add(points, "process.cpu.utilization", Math.max(0, share), { state });
    }
    const resident = (status.get("VmRSS") ?? 0) * 1024;
    output.add(points, "process.memory.usage", resident);
    output.add(points, "process.memory.virtual", (status.get("VmSize") ?? 0) * 1024);
    output.add(points, "process.memory.utilization", (100 * resident) / totalMemory);
    output.add(points, "process.threads", status.get("Threads"));
    output.add(points, "process.paging.faults", stat.majorFaults, { type: "major" });
    output.add(points, "process.paging.faults", stat.minorFaults, { type: "minor" });
    output.add(points, "process.uptime", (nowMs - startMs) / 1000);
    const io = await files.numbers(`${pid}/io`).catch(() => undefined);
    output.add(points, "process.disk.io", io?.get("read_bytes"), { direction: "read" });
    output.add(points, "process.disk.io", io?.get("write_bytes"), { direction: "write" });
    if (output.wants("process.open_file_descriptors")) {
      const open = await readdir(`${files.root}/proc/${pid}/fd`).catch(() => undefined);
      output.add(points, "process.open_file_descriptors", open?.length);
    }
    return points;
  }
}

/** The name stands in parentheses and may contain parentheses itself. */
function parseStat(text: string) {
  const end = text.lastIndexOf(")");
  const fields = text.slice(end + 2).split(" ");
  const number = (index: number) => Number(fields[index - 3]); // numbered as in proc(5), where the state is field 3
  return {
    name: text.slice(text.indexOf("(") + 1, end),
    parent: number(4),
    minorFaults: number(10),
    majorFaults: number(12),
    startTicks: number(22),
    times: {
      user: number(14) / TICKS_PER_SECOND,
      system: number(15) / TICKS_PER_SECOND,
      wait: (number(42) || 0) / TICKS_PER_SECOND,
    },
  };
}
