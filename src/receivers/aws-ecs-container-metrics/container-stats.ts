import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";

/** Values of one container, or their sums over a task, by metric without its prefix. */
export type EcsValues = Record<string, number>;

const CPU_UNITS = 1024;
const MIB = 1024 * 1024;

/** Reads what Docker measured of one container, and what the task reserves for it. */
export function containerValues(stats: ObjectFields, limits: ObjectFields): EcsValues {
  const values: EcsValues = {
    ...memoryValues(fieldsOf(stats["memory_stats"])),
    ...cpuValues(stats),
    ...networkValues(stats),
    ...storageValues(fieldsOf(stats["blkio_stats"])),
    "memory.reserved": numberOf(limits["Memory"]),
    "cpu.reserved": numberOf(limits["CPU"]),
  };
  if (values["cpu.reserved"]! > 0) values["cpu.utilized"] = values["cpu.utilized"]! / values["cpu.reserved"]!;
  return values;
}

/** Sums up containers, and takes the limits and the storage of the task where it has them. */
export function taskValues(containers: readonly EcsValues[], task: ObjectFields): EcsValues {
  const values: EcsValues = containerValues({}, {});
  for (const container of containers) for (const [name, value] of Object.entries(container)) values[name]! += value;
  const limits = fieldsOf(task["Limits"]);
  if (typeof limits["Memory"] === "number") values["memory.reserved"] = limits["Memory"];
  if (typeof limits["CPU"] === "number") values["cpu.reserved"] = limits["CPU"] * CPU_UNITS;
  values["cpu.utilized"] = values["cpu.reserved"]! > 0 ? values["cpu.usage.vcpu"]! * CPU_UNITS : 0;
  const storage = fieldsOf(task["EphemeralStorageMetrics"]);
  values["ephemeral_storage.utilized"] = numberOf(storage["Utilized"]);
  values["ephemeral_storage.reserved"] = numberOf(storage["Reserved"]);
  return values;
}

function memoryValues(memory: ObjectFields): EcsValues {
  const usage = numberOf(memory["usage"]);
  const stats = memory["stats"];
  const withoutCache = Math.max(0, usage - numberOf(fieldsOf(stats)["cache"]));
  return {
    "memory.usage": usage,
    "memory.usage.max": numberOf(memory["max_usage"]),
    "memory.usage.limit": numberOf(memory["limit"]),
    "memory.utilized": typeof stats === "object" && stats !== null ? Math.floor(withoutCache / MIB) : 0,
  };
}

/** Without both of the readings that Docker compares, all values are 0. */
function cpuValues(stats: ObjectFields): EcsValues {
  const cpu = fieldsOf(stats["cpu_stats"]);
  const before = fieldsOf(stats["precpu_stats"]);
  const isKnown = cpu["cpu_usage"] !== undefined && before["cpu_usage"] !== undefined;
  const usage = isKnown ? fieldsOf(cpu["cpu_usage"]) : {};
  const total = numberOf(usage["total_usage"]);
  const elapsedNs = elapsedNanoseconds(stats["preread"], stats["read"]);
  const used = total - numberOf(fieldsOf(before["cpu_usage"])["total_usage"]);
  const vcpu = isKnown && elapsedNs > 0 ? used / elapsedNs : 0;
  return {
    "cpu.usage.total": total,
    "cpu.usage.kernelmode": numberOf(usage["usage_in_kernelmode"]),
    "cpu.usage.usermode": numberOf(usage["usage_in_usermode"]),
    "cpu.cores": listOf(usage["percpu_usage"]).length,
    "cpu.onlines": isKnown ? numberOf(cpu["online_cpus"]) : 0,
    "cpu.usage.system": isKnown ? numberOf(cpu["system_cpu_usage"]) : 0,
    "cpu.usage.vcpu": vcpu,
    "cpu.utilized": vcpu * 100,
  };
}

const NETWORK_FIELDS = ["bytes", "packets", "errors", "dropped"].flatMap((what) => [`rx_${what}`, `tx_${what}`]);

function networkValues(stats: ObjectFields): EcsValues {
  const rate = fieldsOf(stats["network_rate_stats"]);
  const interfaces = Object.values(fieldsOf(stats["networks"])).map((each) => fieldsOf(each));
  const sums = NETWORK_FIELDS.map((field) => [
    `network.io.usage.${field}`,
    interfaces.reduce((sum, each) => sum + numberOf(each[field]), 0),
  ]);
  return {
    "network.rate.rx": numberOf(rate["rx_bytes_per_sec"]),
    "network.rate.tx": numberOf(rate["tx_bytes_per_sec"]),
    ...Object.fromEntries(sums),
  };
}

function storageValues(disk: ObjectFields): EcsValues {
  const requests = listOf(disk["io_service_bytes_recursive"]).map((each) => fieldsOf(each));
  const bytesOf = (operation: string) =>
    requests.reduce((sum, { op, value }) => (op === operation ? sum + numberOf(value) : sum), 0);
  return { "storage.read_bytes": bytesOf("Read"), "storage.write_bytes": bytesOf("Write") };
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** Nanoseconds between two times such as 2026-01-02T03:04:05.123456789Z; not a number if one of them is no time. */
export function elapsedNanoseconds(from: unknown, to: unknown): number {
  const [start, end] = [parseTime(from), parseTime(to)];
  return (end.ms - start.ms) * 1e6 + (end.ns - start.ns);
}

/** Whole seconds in milliseconds, and the rest in nanoseconds: one number would be too coarse. */
function parseTime(time: unknown): { readonly ms: number; readonly ns: number } {
  const [, seconds = "", fraction = ""] = /^([\d-]+T[\d:]+)(?:\.(\d{1,9}))?Z$/.exec(textOf(time)) ?? [];
  return { ms: Date.parse(`${seconds}Z`), ns: Number(fraction.padEnd(9, "0")) };
}
