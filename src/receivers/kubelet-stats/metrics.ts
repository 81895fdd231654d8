import { counter, gauge, type MetricTable, optional, upDown } from "#receiving";

/** The measured kinds of objects; the names of their metrics start with these. */
export type MeasuredThing = "container" | "k8s.pod" | "k8s.node" | "k8s.node.system_container";

/** Memory fields of a summary with their metric names and units. */
export const MEMORY: readonly (readonly [field: string, metric: string, unit: string])[] = [
  ["availableBytes", "available", "By"],
  ["usageBytes", "usage", "By"],
  ["rssBytes", "rss", "By"],
  ["workingSetBytes", "working_set", "By"],
  ["pageFaults", "page_faults", "1"],
  ["majorPageFaults", "major_page_faults", "1"],
];

export const FILESYSTEM: readonly (readonly [field: string, metric: string])[] = [
  ["availableBytes", "available"],
  ["capacityBytes", "capacity"],
  ["usedBytes", "usage"],
];

export const VOLUME: readonly (readonly [field: string, metric: string, unit: string])[] = [
  ["availableBytes", "available", "By"],
  ["capacityBytes", "capacity", "By"],
  ["inodes", "inodes", "1"],
  ["inodesFree", "inodes.free", "1"],
  ["inodesUsed", "inodes.used", "1"],
];

/** The metric names for the limits and requests of a pod's spec. */
export const AMOUNTS = ["cpu_limit", "cpu_request", "memory_limit", "memory_request"] as const;

export const KUBELET_METRICS: MetricTable = {
  ...usage("container", "container"),
  ...usage("k8s.pod", "pod"),
  ...usage("k8s.node", "node"),
  ...shares("k8s.container", "container"),
  ...shares("k8s.pod", "pod"),
  ...network("k8s.pod", "pod"),
  ...network("k8s.node", "node"),
  ...named(VOLUME, ([, name, unit]) => [
    `k8s.volume.${name}`,
    gauge(unit, `What the volume has as ${name.replace(".", " ")}.`, true),
  ]),
  "k8s.pod.volume.usage": optional(upDown("By", "Bytes in use of a volume.")),
  "k8s.container.ephemeral_storage.usage": optional(
    upDown("By", "Bytes in use of the container's own files, and of its logs."),
  ),
  "k8s.node.filesystem.inode.count": optional(upDown("{inode}", "Inodes of the node's root filesystem.")),
  "k8s.node.filesystem.inode.free": optional(upDown("{inode}", "Those of them that are free.")),
  "k8s.node.pid.limit": optional(upDown("{thread}", "How many processes and threads the node may have.")),
  "k8s.node.pid.usage": optional(upDown("{thread}", "How many it has.")),
  "k8s.node.system_container.cpu.time": optional(counter("s", "CPU time of a part of the system.", false)),
  "k8s.node.system_container.cpu.usage": optional(gauge("{cpu}", "CPUs that a part of the system uses.")),
  "k8s.node.system_container.memory.usage": optional(gauge("By", "Memory in use of a part of the system.", true)),
  "k8s.node.system_container.memory.working_set": optional(
    gauge("By", "Memory of a part of the system that cannot be given up.", true),
  ),
};

function usage(prefix: MeasuredThing, what: string): MetricTable {
  return {
    [`${prefix}.cpu.time`]: counter("s", `CPU time of the ${what} since it began.`, false),
    [`${prefix}.cpu.usage`]: gauge("{cpu}", `CPUs that the ${what} uses, as the kubelet has measured it.`),
    [`${prefix}.cpu.utilization`]: optional(gauge("1", `The older name of ${prefix}.cpu.usage.`)),
    ...named(MEMORY, ([, name, unit]) => [
      `${prefix}.memory.${name}`,
      gauge(unit, `Memory of the ${what}: ${name.replaceAll("_", " ")}.`, true),
    ]),
    ...named(FILESYSTEM, ([, name]) => [
      `${prefix}.filesystem.${name}`,
      gauge("By", `Filesystem of the ${what}: ${name}.`, true),
    ]),
    [`${prefix}.uptime`]: optional(counter("s", `Time since the ${what} began.`)),
  };
}

function shares(prefix: string, what: string): MetricTable {
  return {
    ...named(AMOUNTS, (amount) => [
      `${prefix}.${amount}_utilization`,
      optional(gauge("1", `Use as a part of the ${what}'s ${amount.replace("_", " ")}.`)),
    ]),
    [`${prefix}.cpu.node.utilization`]: optional(gauge("1", "Use as a part of the CPUs of the node.")),
    [`${prefix}.memory.node.utilization`]: optional(gauge("1", "Use as a part of the memory of the node.")),
  };
}

function network(prefix: MeasuredThing, what: string): MetricTable {
  return {
    [`${prefix}.network.io`]: counter("By", `Bytes that the ${what} has received and sent.`),
    [`${prefix}.network.errors`]: counter("1", `Errors of the ${what} at receiving and sending.`),
  };
}

function named<T>(rows: readonly T[], entry: (row: T) => [string, MetricTable[string]]): MetricTable {
  return Object.fromEntries(rows.map(entry));
}
