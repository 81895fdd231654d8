import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

/**
 * How many CPUs this process may keep busy, at least 1: those that it may run on, and no more than the limit of its
 * container (cgroup), which the number of CPUs does not show.
 */
export function usableCpus(read: (path: string) => string | undefined = readIfPresent): number {
  const limit = cgroupLimit(read);
  return Math.max(
    1,
    Math.min(availableParallelism(), limit === undefined ? Number.POSITIVE_INFINITY : Math.floor(limit)),
  );
}

/** The limit of version 2, or of version 1, in CPUs; undefined if there is none. */
function cgroupLimit(read: (path: string) => string | undefined): number | undefined {
  const [quota, period] = (read("/sys/fs/cgroup/cpu.max") ?? oldLimit(read))?.trim().split(/\s+/).map(Number) ?? [];
  const cpus = Number(quota) / Number(period);
  return Number.isFinite(cpus) && cpus > 0 ? cpus : undefined;
}

function oldLimit(read: (path: string) => string | undefined): string | undefined {
  const [quota, period] = ["quota", "period"].map((name) => read(`/sys/fs/cgroup/cpu/cpu.cfs_${name}_us`));
  return quota === undefined || period === undefined ? undefined : `${quota.trim()} ${period.trim()}`;
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
