import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { posix } from "node:path";

type ReadIfPresent = (path: string) => string | undefined;

/**
 * How many CPUs this process may keep busy, at least 1: those that it may run on, and no more than the limit of its
 * container or service (cgroup), which the number of CPUs does not show.
 */
export function usableCpus(read: ReadIfPresent = readIfPresent): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(cgroupLimit(read))));
}

/** The lowest limit of the cgroups that this process is in, in CPUs: each one limits all below it. */
function cgroupLimit(read: ReadIfPresent): number {
  const groups = groupsOf(read("/proc/self/cgroup") ?? "");
  const limits = [
    ...pathsUpTo(groups.unified).map((path) => read(`${ROOT}${path}/cpu.max`)),
    ...pathsUpTo(groups.unified).map((path) => read(`${ROOT}/unified${path}/cpu.max`)),
    ...pathsUpTo(groups.cpu).map((path) => limitOfVersion1(`${ROOT}/cpu${path}`, read)),
  ];
  return Math.min(...limits.map(cpusOf));
}

const ROOT = "/sys/fs/cgroup";

/**
 * The paths of this process's cgroups, of version 2 and of the controller `cpu` of version 1. In a container they are
 * often the root, or a path of the host that does not exist here.
 */
function groupsOf(text: string): { readonly unified: string; readonly cpu: string } {
  const lines = text.split("\n").map((line) => /^\d+:([^:]*):(\/.*)$/.exec(line));
  const pathOf = (isIt: (controllers: string) => boolean) => lines.find((line) => line && isIt(line[1]!))?.[2] ?? "/";
  return {
    unified: pathOf((controllers) => controllers === ""),
    cpu: pathOf((controllers) => controllers.split(",").includes("cpu")),
  };
}

/** `/a/b` gives `/a/b`, `/a` and the root, which is the empty text. */
function pathsUpTo(path: string): readonly string[] {
  const parts = posix.normalize(path).split("/").filter(Boolean);
  return [...parts.map((_, index) => `/${parts.slice(0, parts.length - index).join("/")}`), ""];
}

function limitOfVersion1(folder: string, read: ReadIfPresent): string | undefined {
  const [quota, period] = ["quota", "period"].map((name) => read(`${folder}/cpu.cfs_${name}_us`));
  return quota === undefined || period === undefined ? undefined : `${quota.trim()} ${period.trim()}`;
}

/** A quota and a period of time, such as `150000 100000`. Without a limit, `max` or -1 takes the place of the quota. */
function cpusOf(limit: string | undefined): number {
  const [quota, period] = limit?.trim().split(/\s+/).map(Number) ?? [];
  const cpus = Number(quota) / Number(period);
  return Number.isFinite(cpus) && cpus > 0 ? cpus : Number.POSITIVE_INFINITY;
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** How many workers `service.workers` asks for. */
export function workerCount(workers: number | "auto"): number {
  return workers === "auto" ? usableCpus() : workers;
}
