import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { usableCpus, workerCount } from "../../../src/runtime/system/usable-cpus.js";

const cpus = availableParallelism();

function usableWith(files: Readonly<Record<string, string>>): number {
  return usableCpus((path) => files[path]);
}

describe("usableCpus", () => {
  it("is the number of CPUs without a limit", () => {
    expect(usableWith({})).toBe(cpus);
    expect(usableWith({ "/sys/fs/cgroup/cpu.max": "max 100000\n" })).toBe(cpus);
    expect(usableWith({ "/sys/fs/cgroup/cpu.max": "garbage" })).toBe(cpus);
  });

  it("is no more than the limit of the container, and at least 1", () => {
    expect(usableWith({ "/sys/fs/cgroup/cpu.max": "100000 100000\n" })).toBe(1);
    expect(usableWith({ "/sys/fs/cgroup/cpu.max": "50000 100000\n" })).toBe(1);
    expect(usableWith({ "/sys/fs/cgroup/cpu.max": "99999900000 100000\n" })).toBe(cpus);
  });

  it("reads the limit of cgroup version 1 too", () => {
    const limit = (quota: number) => ({
      "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": `${quota}\n`,
      "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    });
    expect(usableWith(limit(100_000))).toBe(1);
    expect(usableWith(limit(-1))).toBe(cpus);
  });
});

describe("usableCpus of a process in a cgroup below the root", () => {
  const limited = (path: string) => ({ [path]: "100000 100000\n" });

  it("is no more than the limit of its service, such as CPUQuota of systemd", () => {
    const own = { "/proc/self/cgroup": "0::/system.slice/sluice.service\n" };
    expect(usableWith({ ...own, ...limited("/sys/fs/cgroup/system.slice/sluice.service/cpu.max") })).toBe(1);
    expect(usableWith({ ...own, ...limited("/sys/fs/cgroup/system.slice/cpu.max") })).toBe(1);
    expect(usableWith({ ...own, ...limited("/sys/fs/cgroup/cpu.max") })).toBe(1);
    expect(usableWith({ ...own, ...limited("/sys/fs/cgroup/system.slice/other.service/cpu.max") })).toBe(cpus);
  });

  it("finds the limit of the controller cpu of version 1", () => {
    const folder = "/sys/fs/cgroup/cpu/docker/abc";
    const files = {
      "/proc/self/cgroup": "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
      [`${folder}/cpu.cfs_period_us`]: "100000\n",
    };
    expect(usableWith({ ...files, [`${folder}/cpu.cfs_quota_us`]: "100000\n" })).toBe(1);
    expect(usableWith({ ...files, [`${folder}/cpu.cfs_quota_us`]: "-1\n" })).toBe(cpus);
  });
});

describe("workerCount", () => {
  it("is the number in the config, or that of usable CPUs", () => {
    expect(workerCount(3)).toBe(3);
    expect(workerCount("auto")).toBeGreaterThanOrEqual(1);
    expect(workerCount("auto")).toBeLessThanOrEqual(cpus);
  });
});
