import { z } from "zod";
import { gauge, type MetricTable, upDown } from "#receiving";
import { duration } from "../../plugin.js";

export const ecsContainerMetricsSchema = z.strictObject({
  collection_interval: duration()
    .refine((ms) => ms >= 1, "expected a millisecond or more")
    .default(20_000)
    .meta({ description: "How often to collect; the first time after one interval." }),
});

export type EcsContainerMetricsConfig = z.infer<typeof ecsContainerMetricsSchema>;

/** The metrics of containers, whose names begin with `container.`, and of the task, with `ecs.task.`. */
const MEASURED: MetricTable = {
  "memory.usage": gauge("Bytes", "Memory in use.", true),
  "memory.usage.max": gauge("Bytes", "The maximum memory ever used.", true),
  "memory.usage.limit": gauge("Bytes", "The limit of memory.", true),
  "memory.utilized": gauge("MiB", "Memory in use, without the cache of files.", true),
  "memory.reserved": gauge("MiB", "Memory that is reserved.", true),
  "cpu.usage.total": upDown("Nanoseconds", "CPU time."),
  "cpu.usage.kernelmode": upDown("Nanoseconds", "CPU time in the kernel."),
  "cpu.usage.usermode": upDown("Nanoseconds", "CPU time of programs."),
  "cpu.cores": gauge("Count", "CPU cores that are counted one by one.", true),
  "cpu.onlines": gauge("Count", "CPU cores that are online.", true),
  "cpu.usage.system": upDown("Nanoseconds", "CPU time of the whole host."),
  "cpu.utilized": gauge("None", "CPU in use; of a container in relation to what is reserved for it."),
  "cpu.reserved": gauge("None", "CPU units that are reserved."),
  "cpu.usage.vcpu": gauge("vCPU", "vCPUs in use."),
  "network.rate.rx": gauge("Bytes/Second", "Bytes received per second."),
  "network.rate.tx": gauge("Bytes/Second", "Bytes sent per second."),
  "network.io.usage.rx_bytes": upDown("Bytes", "Bytes received."),
  "network.io.usage.rx_packets": upDown("Count", "Packets received."),
  "network.io.usage.rx_errors": upDown("Count", "Errors of receiving."),
  "network.io.usage.rx_dropped": upDown("Count", "Packets that were dropped when received."),
  "network.io.usage.tx_bytes": upDown("Bytes", "Bytes sent."),
  "network.io.usage.tx_packets": upDown("Count", "Packets sent."),
  "network.io.usage.tx_errors": upDown("Count", "Errors of sending."),
  "network.io.usage.tx_dropped": upDown("Count", "Packets that were dropped when sent."),
  "storage.read_bytes": upDown("Bytes", "Bytes read from disks."),
  "storage.write_bytes": upDown("Bytes", "Bytes written to disks."),
};

const withPrefix = (prefix: string): MetricTable =>
  Object.fromEntries(Object.entries(MEASURED).map(([name, metric]) => [`${prefix}${name}`, metric]));

export const ECS_METRICS: MetricTable = {
  ...withPrefix("container."),
  "container.duration": gauge("Seconds", "How long a stopped container ran."),
  ...withPrefix("ecs.task."),
  "ecs.task.ephemeral_storage.utilized": gauge("MiB", "Ephemeral storage in use, on Fargate.", true),
  "ecs.task.ephemeral_storage.reserved": gauge("MiB", "Ephemeral storage that is reserved, on Fargate.", true),
};
