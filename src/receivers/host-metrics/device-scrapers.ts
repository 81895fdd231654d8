import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { waitAtMost } from "#contract/time";
import { MetricOutput } from "#receiving";
import { compilePattern } from "#text/patterns";
import type { Clock } from "../../plugin.js";
import type { ScraperConfigs } from "./config.js";
import { type HostFiles, type NamePredicate, ratio } from "./host-files.js";
import { HOST_METRICS } from "./metrics.js";
import type { Scraper } from "./system-scrapers.js";

/** The kernel counts in sectors of this size, whatever the disk's own sector size. */
const SECTOR_BYTES = 512;

type NameFilter = ScraperConfigs["disk"]["include"];

export function nameFilter(include: NameFilter, exclude: NameFilter): NamePredicate {
  const isIncluded = include === undefined ? () => true : matcher(include);
  const isExcluded = exclude === undefined ? () => false : matcher(exclude);
  return (name) => isIncluded(name) && !isExcluded(name);
}

function matcher({ names, isPattern }: NonNullable<NameFilter>): NamePredicate {
  if (!isPattern) return (name) => names.includes(name);
  const patterns = names.map(compilePattern);
  return (name) => patterns.some((pattern) => pattern.test(name));
}

export function diskScraper(files: HostFiles, { metrics, include, exclude }: ScraperConfigs["disk"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.disk, metrics);
  const isWanted = nameFilter(include, exclude);
  return async (points) => {
    for (const line of await files.lines("diskstats")) {
      const [, , device = "", ...numbers] = line.trim().split(/\s+/);
      if (!isWanted(device)) continue;
      const counts = numbers.map(Number);
      // Devices that nothing was ever done with, such as unused loop devices.
      if (counts.slice(0, 11).every((count) => count === 0)) continue;
      const [
        reads,
        readsMerged,
        sectorsRead,
        readMs,
        writes,
        writesMerged,
        sectorsWritten,
        writeMs,
        pending,
        busyMs,
        weightedMs,
      ] = counts;
      for (const [direction, operations, merged, sectors, ms] of [
        ["read", reads, readsMerged, sectorsRead, readMs],
        ["write", writes, writesMerged, sectorsWritten, writeMs],
      ] as const) {
        output.add(points, "system.disk.io", sectors! * SECTOR_BYTES, { device, direction });
        output.add(points, "system.disk.operations", operations, { device, direction });
        output.add(points, "system.disk.operation_time", ms! / 1000, { device, direction });
        output.add(points, "system.disk.merged", merged, { device, direction });
      }
      output.add(points, "system.disk.io_time", busyMs! / 1000, { device });
      output.add(points, "system.disk.weighted_io_time", weightedMs! / 1000, { device });
      output.add(points, "system.disk.pending_operations", pending, { device });
    }
  };
}

/** Measures the file systems that answer, then rejects if some did not. */
export function filesystemScraper(files: HostFiles, config: ScraperConfigs["filesystem"], mounts: MountUsage): Scraper {
  const output = new MetricOutput(HOST_METRICS.filesystem, config.metrics);
  const isDevice = nameFilter(config.include_devices, config.exclude_devices);
  const isType = nameFilter(config.include_fs_types, config.exclude_fs_types);
  const isMountPoint = nameFilter(config.include_mount_points, config.exclude_mount_points);
  return async (points) => {
    const physical = await physicalTypes(files);
    const seen = new Set<string>();
    const problems: string[] = [];
    for (const line of await files.lines(`${files.hostProcess}/mounts`)) {
      const [device = "", mountpoint = "", type = "", options = ""] = line.split(" ").map(unescapeOctal);
      if (!config.include_virtual_filesystems && !physical.has(type)) continue;
      if (seen.has(mountpoint) || !isDevice(device) || !isType(type) || !isMountPoint(mountpoint)) continue;
      seen.add(mountpoint);
      const path = join(files.root || "/", mountpoint);
      const usage = await mounts.of(path).catch((error: Error): undefined => void problems.push(error.message));
      if (usage === undefined || usage.blocks === 0) continue;
      const mode = options.split(",").includes("ro") ? "ro" : "rw";
      const attributes = { device, mode, mountpoint, type };
      const { bsize, blocks, bfree, bavail, files: inodes, ffree } = usage;
      const used = (blocks - bfree) * bsize;
      output.add(points, "system.filesystem.usage", used, { ...attributes, state: "used" });
      output.add(points, "system.filesystem.usage", bavail * bsize, { ...attributes, state: "free" });
      output.add(points, "system.filesystem.usage", (bfree - bavail) * bsize, { ...attributes, state: "reserved" });
      output.add(points, "system.filesystem.utilization", ratio(used, used + bavail * bsize), attributes);
      output.add(points, "system.filesystem.inodes.usage", inodes - ffree, { ...attributes, state: "used" });
      output.add(points, "system.filesystem.inodes.usage", ffree, { ...attributes, state: "free" });
    }
    if (problems.length > 0) throw new Error(problems.join("; "));
  };
}

/** File system types that have a device. */
async function physicalTypes(files: HostFiles): Promise<ReadonlySet<string>> {
  const types = (await files.lines("filesystems")).filter((line) => !line.startsWith("nodev"));
  return new Set([...types.map((line) => line.trim()), "zfs"]);
}

/** The kernel writes spaces in names as \040. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}

/** States by their numbers in /proc; one of the Collector's that no connection has on Linux is the last. */
const TCP_STATES: Readonly<Record<string, string>> = {
  "01": "ESTABLISHED",
  "02": "SYN_SENT",
  "03": "SYN_RECV",
  "04": "FIN_WAIT_1",
  "05": "FIN_WAIT_2",
  "06": "TIME_WAIT",
  "07": "CLOSE",
  "08": "CLOSE_WAIT",
  "09": "LAST_ACK",
  "0A": "LISTEN",
  "0B": "CLOSING",
  "": "DELETE",
};

export function networkScraper(files: HostFiles, { metrics, include, exclude }: ScraperConfigs["network"]): Scraper {
  const output = new MetricOutput(HOST_METRICS.network, metrics);
  const isWanted = nameFilter(include, exclude);
  return async (points) => {
    for (const line of (await files.lines(`${files.hostProcess}/net/dev`)).slice(2)) {
      const [name = "", rest = ""] = line.split(/:(.*)/s);
      const device = name.trim();
      if (!isWanted(device)) continue;
      const numbers = rest.trim().split(/\s+/).map(Number);
      for (const [direction, from] of [
        ["receive", 0],
        ["transmit", 8],
      ] as const) {
        output.add(points, "system.network.io", numbers[from], { device, direction });
        output.add(points, "system.network.packets", numbers[from + 1], { device, direction });
        output.add(points, "system.network.errors", numbers[from + 2], { device, direction });
        output.add(points, "system.network.dropped", numbers[from + 3], { device, direction });
      }
    }
    if (output.wants("system.network.connections")) {
      const counts = new Map(Object.values(TCP_STATES).map((state) => [state, 0]));
      for (const file of ["tcp", "tcp6"]) {
        for (const line of (await files.lines(`${files.hostProcess}/net/${file}`).catch(() => [])).slice(1)) {
          const state = TCP_STATES[line.trim().split(/\s+/)[3] ?? "00"];
          if (state !== undefined) counts.set(state, counts.get(state)! + 1);
        }
      }
      for (const [state, count] of counts)
        output.add(points, "system.network.connections", count, { protocol: "tcp", state });
    }
    for (const [name, file] of [
      ["system.network.conntrack.count", "nf_conntrack_count"],
      ["system.network.conntrack.max", "nf_conntrack_max"],
    ] as const) {
      if (!output.wants(name)) continue;
      const text = await files.read(`sys/net/netfilter/${file}`).catch(() => undefined);
      output.add(points, name, text === undefined ? undefined : Number(text));
    }
  };
}

const ANSWER_LIMIT_MS = 5000;
/** Each unanswered query blocks one of the few threads that do all of the agent's file access. */
const MAX_UNANSWERED = 2;

/**
 * Queries how full file systems are. If a file system's server is gone, the query may never return and cannot be
 * cancelled. That file system is not queried again until it answers, and when several hang, no other is queried either.
 */
export class MountUsage {
  private readonly clock: Clock;
  private readonly ask: (path: string) => Promise<StatsFs>;
  private readonly unanswered = new Set<string>();

  constructor(clock: Clock, ask: (path: string) => Promise<StatsFs> = (path) => statfs(path)) {
    this.clock = clock;
    this.ask = ask;
  }

  /** Returns undefined if the file system reports no size. Rejects if it does not answer. */
  async of(path: string): Promise<StatsFs | undefined> {
    const { unanswered } = this;
    if (unanswered.has(path)) throw new Error(`${path} does not answer`);
    if (unanswered.size >= MAX_UNANSWERED)
      throw new Error(`${path} is not asked while ${[...unanswered].join(" and ")} do not answer`);
    unanswered.add(path);
    const answer = this.ask(path)
      .catch(() => undefined)
      .finally(() => unanswered.delete(path));
    const known = await waitAtMost(ANSWER_LIMIT_MS, answer, this.clock, () => "late" as const);
    if (known === "late") throw new Error(`${path} does not answer`);
    return known;
  }
}
