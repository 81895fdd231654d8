import type { MetricOutput, PointCollector } from "#receiving";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import type { NodeCapacity } from "./cluster.js";
import { AMOUNTS, FILESYSTEM, type KUBELET_METRICS, MEMORY, type MeasuredThing, VOLUME } from "./metrics.js";
import type { Amounts } from "./pod-catalog.js";

/** Where the points of one resource go. */
export interface PointTarget {
  readonly points: PointCollector;
  readonly output: MetricOutput<typeof KUBELET_METRICS>;
}

/** The totals that usage is divided by. */
export interface UsageTotals {
  readonly amounts: Amounts | undefined;
  readonly capacity: NodeCapacity | undefined;
}

/** Adds CPU, memory and uptime of any object in a summary. */
export function addUsage(
  prefix: MeasuredThing,
  stats: ObjectFields,
  { points, output }: PointTarget,
  now: number,
): void {
  const cores = usedCores(stats);
  output.add(points, `${prefix}.cpu.usage`, cores);
  output.add(points, `${prefix}.cpu.utilization`, cores);
  const time = countOf(stats, "cpu", "usageCoreNanoSeconds");
  output.add(points, `${prefix}.cpu.time`, time === undefined ? undefined : time / 1e9);
  for (const [field, name] of MEMORY) output.add(points, `${prefix}.memory.${name}`, countOf(stats, "memory", field));
  const began = startOf(stats, now);
  if (began !== undefined) output.add(points, `${prefix}.uptime`, Math.floor((now - began) / 1000));
}

/** Adds CPU and memory usage as fractions of limits, requests and node capacity. */
export function addShares(
  prefix: "k8s.container" | "k8s.pod",
  stats: ObjectFields,
  { points, output }: PointTarget,
  { amounts, capacity }: UsageTotals,
): void {
  const used = { cpu: usedCores(stats), memory: countOf(stats, "memory", "usageBytes") };
  const add = (name: string, part: number | undefined, whole: number | undefined) => {
    if (part !== undefined && whole) output.add(points, `${prefix}.${name}`, part / whole);
  };
  for (const amount of AMOUNTS)
    add(`${amount}_utilization`, amount.startsWith("cpu") ? used.cpu : used.memory, amounts?.[amount]);
  add("cpu.node.utilization", used.cpu, capacity?.cpu);
  add("memory.node.utilization", used.memory, capacity?.memory);
}

export function addFilesystem(prefix: MeasuredThing, filesystem: ObjectFields, { points, output }: PointTarget): void {
  for (const [field, name] of FILESYSTEM)
    output.add(points, `${prefix}.filesystem.${name}`, countOf(filesystem, field));
}

/** Adds the counters of the default interface, or of all interfaces. */
export function addNetwork(
  prefix: "k8s.pod" | "k8s.node",
  network: ObjectFields,
  isOfAll: boolean,
  { points, output }: PointTarget,
): void {
  const all = listOf(network, "interfaces").map((each) => fieldsOf(each));
  for (const each of isOfAll && all.length > 0 ? all : [network]) {
    const add = (what: string, field: string, direction: string) =>
      output.add(points, `${prefix}.network.${what}`, countOf(each, field), {
        interface: textOf(each, "name"),
        direction,
      });
    add("io", "rxBytes", "receive");
    add("io", "txBytes", "transmit");
    add("errors", "rxErrors", "receive");
    add("errors", "txErrors", "transmit");
  }
}

/** Adds metrics that only nodes have: inodes and processes. */
export function addNode(node: ObjectFields, { points, output }: PointTarget): void {
  output.add(points, "k8s.node.filesystem.inode.count", countOf(node, "fs", "inodes"));
  output.add(points, "k8s.node.filesystem.inode.free", countOf(node, "fs", "inodesFree"));
  output.add(points, "k8s.node.pid.limit", countOf(node, "rlimit", "maxpid"));
  output.add(points, "k8s.node.pid.usage", countOf(node, "rlimit", "curproc"));
}

export function addEphemeralStorage(container: ObjectFields, { points, output }: PointTarget): void {
  for (const type of ["rootfs", "logs"])
    output.add(points, "k8s.container.ephemeral_storage.usage", countOf(container, type, "usedBytes"), {
      "fs.type": type,
    });
}

export function addVolume(volume: ObjectFields, { points, output }: PointTarget): void {
  for (const [field, name] of VOLUME) output.add(points, `k8s.volume.${name}`, countOf(volume, field));
  output.add(points, "k8s.pod.volume.usage", countOf(volume, "usedBytes"));
}

/** When the object started; undefined if the time is missing or impossible. */
export function startOf(stats: ObjectFields, now: number): number | undefined {
  const began = Date.parse(textOf(stats, "startTime"));
  return began > 0 && began <= now ? began : undefined;
}

function usedCores(stats: ObjectFields): number | undefined {
  const nanoCores = countOf(stats, "cpu", "usageNanoCores");
  return nanoCores === undefined ? undefined : nanoCores / 1e9;
}

/** Kubelets report unsigned numbers that went below 0. These are left out because points cannot hold them. */
function countOf(stats: ObjectFields, ...path: readonly string[]): number | undefined {
  const value = fieldsOf(stats, ...path.slice(0, -1))[path.at(-1)!];
  return typeof value === "number" && value >= 0 && value < 2 ** 63 ? value : undefined;
}
