import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { MetricOutput, PointCollector } from "#receiving";
import { withoutEnd } from "#text";
import type { ScraperConfigs } from "./config.js";
import { nameFilter } from "./device-scrapers.js";
import { type HostFiles, numbersIn, TICKS_PER_SECOND } from "./host-files.js";
import { HOST_METRICS, originOf } from "./metrics.js";

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

/** The readings that all processes of a collection share. */
interface Machine {
  readonly bootMs: number;
  readonly nowMs: number;
  readonly memory: number;
  readonly cpus: number;
  readonly users: ReadonlyMap<string, string>;
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
    const machine: Machine = {
      bootMs,
      nowMs,
      memory: ((await files.numbers("meminfo")).get("MemTotal") ?? 0) * 1024,
      cpus: (await files.lines("stat")).filter((line) => /^cpu\d/.test(line)).length || 1,
      users: await files.users(),
    };
    for (const pid of await listProcesses(files)) {
      const points = await measure(pid, machine, now).catch(() => undefined);
      if (points !== undefined) collectors.push(points);
    }
    before = now;
    return collectors;
  };

  async function measure(pid: string, machine: Machine, now: typeof before) {
    const { bootMs, nowMs } = machine;
    const stat = parseStat(await files.readProcess(pid, "stat"));
    const command = withoutEnd((await files.read(`${pid}/cmdline`)).slice(0, MAX_COMMAND_LINE), "\0").split("\0");
    const name = fullName(stat.name, command[0]!);
    if (!isWanted(name)) return undefined;
    const startMs = bootMs + (stat.startTicks / TICKS_PER_SECOND) * 1000;
    if (nowMs - startMs < config.scrape_process_delay) return undefined;
    const status = numbersIn(await files.readProcess(pid, "status"));
    const owner = machine.users.get(String(status.get("Uid")));
    const isCgroupWanted = config.resource_attributes["process.cgroup"]!.enabled;
    const attributes = {
      "process.pid": Number(pid),
      "process.parent_pid": stat.parent,
      "process.executable.name": name,
      "process.executable.path": await files.link(`${pid}/exe`).catch(() => ""),
      ...(isCgroupWanted && { "process.cgroup": (await files.read(`${pid}/cgroup`).catch(() => "")).trimEnd() }),
      "process.command": command[0]!,
      "process.command_line": command.join(" "),
      ...(owner !== undefined && { "process.owner": owner }),
    };
    const kept = Object.entries(attributes).filter(([key]) => config.resource_attributes[key]!.enabled);
    const points = new PointCollector(startMs, Object.fromEntries(kept), originOf("process"));
    const key = `${pid} ${stat.startTicks}`;
    now.set(key, { times: stat.times, atMs: nowMs });
    const last = before.get(key);
    for (const state of ["user", "system", "wait"] as const) {
      output.add(points, "process.cpu.time", stat.times[state], { state });
      if (last === undefined || nowMs <= last.atMs) continue;
      const share = (stat.times[state] - last.times[state]) / ((nowMs - last.atMs) / 1000) / machine.cpus;
      output.add(points, "process.cpu.utilization", Math.max(0, share), { state });
    }
    const resident = (status.get("VmRSS") ?? 0) * 1024;
    output.add(points, "process.memory.usage", resident);
    output.add(points, "process.memory.virtual", (status.get("VmSize") ?? 0) * 1024);
    output.add(points, "process.memory.utilization", (100 * resident) / machine.memory);
    output.add(points, "process.threads", status.get("Threads"));
    output.add(points, "process.paging.faults", stat.majorFaults, { type: "major" });
    output.add(points, "process.paging.faults", stat.minorFaults, { type: "minor" });
    output.add(points, "process.uptime", (nowMs - startMs) / 1000);
    await addCalls(points, pid);
    if (output.wants("process.context_switches")) await addSwitches(points, pid);
    if (output.wants("process.signals_pending"))
      output.add(points, "process.signals_pending", await pendingSignals(pid));
    if (output.wants("process.open_file_descriptors")) {
      const open = await readdir(`${files.root}/proc/${pid}/fd`).catch(() => undefined);
      output.add(points, "process.open_file_descriptors", open?.length);
    }
    return points;
  }

  async function addCalls(points: PointCollector, pid: string): Promise<void> {
    const io = await files.numbers(`${pid}/io`).catch(() => undefined);
    output.add(points, "process.disk.io", io?.get("rchar"), { direction: "read" });
    output.add(points, "process.disk.io", io?.get("wchar"), { direction: "write" });
    output.add(points, "process.disk.operations", io?.get("syscr"), { direction: "read" });
    output.add(points, "process.disk.operations", io?.get("syscw"), { direction: "write" });
  }

  async function addSwitches(points: PointCollector, pid: string): Promise<void> {
    const sums = { involuntary: 0, voluntary: 0 };
    for (const thread of await readdir(`${files.root}/proc/${pid}/task`).catch(() => [])) {
      const status = numbersIn(await files.readProcess(pid, `task/${thread}/status`).catch(() => ""));
      sums.involuntary += status.get("nonvoluntary_ctxt_switches") ?? 0;
      sums.voluntary += status.get("voluntary_ctxt_switches") ?? 0;
    }
    for (const [type, sum] of Object.entries(sums)) output.add(points, "process.context_switches", sum, { type });
  }

  /** Signals that wait for the process as a whole are bits of a number. */
  async function pendingSignals(pid: string): Promise<number | undefined> {
    const bits = /^ShdPnd:\s*([0-9a-f]+)$/m.exec(await files.readProcess(pid, "status"))?.[1];
    return bits === undefined ? undefined : [...BigInt(`0x${bits}`).toString(2)].filter((bit) => bit === "1").length;
  }
}

/** The kernel cuts names off after 15 bytes; a program's first argument often has the rest. */
function fullName(name: string, command: string): string {
  if (Buffer.byteLength(name) < MAX_KERNEL_NAME) return name;
  const called = basename(command);
  return called.startsWith(name) ? called : name;
}

const MAX_KERNEL_NAME = 15;

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
