import type { MetricOutput, PointCollector } from "#receiving";
import { fieldsOf, listOf, numberOf, type ObjectFields, textOf } from "#text/json";
import { BLOCK_IO, type DOCKER_METRICS, MEMORY_BYTES, MEMORY_COUNTS, NETWORK_IO } from "./metrics.js";

type DockerOutput = MetricOutput<typeof DOCKER_METRICS>;

/** Adds the points for one container from Docker's `/stats` response. */
export function addStats(stats: ObjectFields, points: PointCollector, output: DockerOutput): void {
  addCpu(stats, points, output);
  addMemory(fieldsOf(stats["memory_stats"]), points, output);
  addBlockIo(fieldsOf(stats["blkio_stats"]), points, output);
  for (const [name, counts] of Object.entries(fieldsOf(stats["networks"]))) {
    for (const what of NETWORK_IO.keys())
      output.add(points, `container.network.io.usage.${what}`, numberOf(fieldsOf(counts)[what]), { interface: name });
  }
  const pids = fieldsOf(stats["pids_stats"]);
  if (numberOf(pids["current"])) {
    output.add(points, "container.pids.count", numberOf(pids["current"]));
    if (numberOf(pids["limit"])) output.add(points, "container.pids.limit", numberOf(pids["limit"]));
  }
}

function addCpu(stats: ObjectFields, points: PointCollector, output: DockerOutput): void {
  const cpu = fieldsOf(stats["cpu_stats"]);
  const usage = fieldsOf(cpu["cpu_usage"]);
  const throttling = fieldsOf(cpu["throttling_data"]);
  output.add(points, "container.cpu.usage.system", numberOf(cpu["system_cpu_usage"]));
  output.add(points, "container.cpu.usage.total", numberOf(usage["total_usage"]));
  output.add(points, "container.cpu.usage.kernelmode", numberOf(usage["usage_in_kernelmode"]));
  output.add(points, "container.cpu.usage.usermode", numberOf(usage["usage_in_usermode"]));
  output.add(points, "container.cpu.throttling_data.periods", numberOf(throttling["periods"]));
  output.add(points, "container.cpu.throttling_data.throttled_periods", numberOf(throttling["throttled_periods"]));
  output.add(points, "container.cpu.throttling_data.throttled_time", numberOf(throttling["throttled_time"]));
  output.add(points, "container.cpu.logical.count", numberOf(cpu["online_cpus"]));
  const perCpu = listOf(usage["percpu_usage"]);
  for (const [core, time] of perCpu.entries())
    output.add(points, "container.cpu.usage.percpu", numberOf(time), { core: `cpu${core}` });
  output.add(points, "container.cpu.utilization", cpuPercent(cpu, fieldsOf(stats["precpu_stats"])));
}

/** CPU time used since the previous response, as a percentage of one CPU: 100 means one CPU was fully busy. */
function cpuPercent(cpu: ObjectFields, before: ObjectFields): number {
  const used = (each: ObjectFields) => numberOf(fieldsOf(each["cpu_usage"])["total_usage"]) ?? 0;
  const system = (each: ObjectFields) => numberOf(each["system_cpu_usage"]) ?? 0;
  const own = used(cpu) - used(before);
  const whole = system(cpu) - system(before);
  const cpus = numberOf(cpu["online_cpus"]) || listOf(fieldsOf(cpu["cpu_usage"])["percpu_usage"]).length;
  return own > 0 && whole > 0 ? (own / whole) * cpus * 100 : 0;
}

function addMemory(memory: ObjectFields, points: PointCollector, output: DockerOutput): void {
  const kernel = fieldsOf(memory["stats"]);
  const used = usedMemory(memory, kernel);
  const limit = numberOf(memory["limit"]);
  output.add(points, "container.memory.usage.total", used);
  output.add(points, "container.memory.usage.limit", limit);
  if (used !== undefined) output.add(points, "container.memory.percent", limit ? (used / limit) * 100 : 0);
  output.add(points, "container.memory.usage.max", numberOf(memory["max_usage"]));
  output.add(points, "container.memory.fails", numberOf(memory["failcnt"]));
  for (const name of [...MEMORY_BYTES, ...MEMORY_COUNTS.keys()])
    output.add(points, `container.memory.${name}`, numberOf(kernel[name]));
}

/** Memory in use without reclaimable page cache, calculated the way `docker stats` does. */
function usedMemory(memory: ObjectFields, kernel: ObjectFields): number | undefined {
  const usage = numberOf(memory["usage"]);
  const cache = numberOf(kernel["total_inactive_file"]) ?? numberOf(kernel["inactive_file"]) ?? 0;
  return usage === undefined ? undefined : cache < usage ? usage - cache : usage;
}

function addBlockIo(io: ObjectFields, points: PointCollector, output: DockerOutput): void {
  for (const name of BLOCK_IO.keys()) {
    for (const each of listOf(io[name])) {
      const { major, minor, op, value } = fieldsOf(each);
      const attributes = {
        device_major: String(major),
        device_minor: String(minor),
        operation: String(op).toLowerCase(),
      };
      output.add(points, `container.blockio.${name}`, numberOf(value), attributes);
    }
  }
}

const HEALTH_STATES = ["starting", "healthy", "unhealthy"];

/** Adds the points that come from inspecting a container and do not depend on its current load. */
export function addInspection(
  inspection: ObjectFields,
  points: PointCollector,
  output: DockerOutput,
  now: number,
): void {
  const state = fieldsOf(inspection["State"]);
  const began = Date.parse(textOf(state["StartedAt"]));
  if (now > began) output.add(points, "container.uptime", (now - began) / 1000);
  output.add(points, "container.restarts", numberOf(inspection["RestartCount"]));
  const host = fieldsOf(inspection["HostConfig"]);
  output.add(points, "container.cpu.shares", numberOf(host["CpuShares"]));
  const limit = cpuLimit(host);
  if (limit > 0) output.add(points, "container.cpu.limit", limit);
  const health = textOf(fieldsOf(state["Health"])["Status"]);
  if (!HEALTH_STATES.includes(health)) return;
  for (const each of HEALTH_STATES)
    output.add(points, "container.state.health.status", each === health ? 1 : 0, {
      "container.state.health.state": each,
    });
}

/** The number of CPUs that the container may use, set by --cpus, by a CPU list or by its quota per period. */
function cpuLimit(host: ObjectFields): number {
  const nano = numberOf(host["NanoCpus"]);
  if (nano) return nano / 1e9;
  const set = textOf(host["CpusetCpus"]);
  if (set !== "") return set.split(",").reduce((sum, part) => sum + rangeLength(part), 0);
  const quota = numberOf(host["CpuQuota"]) ?? 0;
  return quota > 0 ? quota / (numberOf(host["CpuPeriod"]) || 100_000) : 0;
}

function rangeLength(part: string): number {
  const [from = "", to = from] = part.split("-");
  return Number(to) - Number(from) + 1;
}
