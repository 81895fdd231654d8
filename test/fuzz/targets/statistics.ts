import { addInspection, addStats } from "../../../src/receivers/docker-stats/container-points.js";
import { DOCKER_METRICS } from "../../../src/receivers/docker-stats/metrics.js";
import { KUBELET_METRICS } from "../../../src/receivers/kubelet-stats/metrics.js";
import { catalogOf } from "../../../src/receivers/kubelet-stats/pod-catalog.js";
import * as summary from "../../../src/receivers/kubelet-stats/summary-points.js";
import { volumeAttributes } from "../../../src/receivers/kubelet-stats/volume-attributes.js";
import {
  batchOfPoints,
  MetricOutput,
  PointCollector,
} from "../../../src/runtime/receiving/scraping/point-collector.js";
import { fieldsOf, listOf, textOf } from "../../../src/runtime/text/json/door.js";
import { type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const NOW = 1_700_000_000_000;
const CONTAINER = {
  cpu_stats: { cpu_usage: { total_usage: 5, percpu_usage: [1, 2] }, system_cpu_usage: 9, online_cpus: 2 },
  precpu_stats: { cpu_usage: { total_usage: 1 }, system_cpu_usage: 2 },
  memory_stats: { usage: 10, limit: 20, stats: { inactive_file: 3, total_rss: 4 } },
  blkio_stats: { io_service_bytes_recursive: [{ major: 8, minor: 0, op: "Read", value: 7 }] },
  networks: { eth0: { rx_bytes: 1, tx_errors: 2 } },
  pids_stats: { current: 3, limit: 9 },
  State: { StartedAt: "2023-01-01T00:00:00Z", Health: { Status: "healthy" } },
  RestartCount: 1,
  HostConfig: { CpuShares: 2, CpusetCpus: "0-2,4", CpuQuota: 50_000 },
};
const NODE = {
  node: {
    nodeName: "n1",
    startTime: "2023-01-01T00:00:00Z",
    cpu: { usageNanoCores: 5, usageCoreNanoSeconds: 18_446_744_073_709_552_000 },
    memory: { usageBytes: 7, workingSetBytes: 6 },
    network: { name: "eth0", rxBytes: 1, interfaces: [{ name: "eth1", txBytes: 2 }] },
    fs: { usedBytes: 1, capacityBytes: 2, inodes: 3 },
    rlimit: { maxpid: 5, curproc: 1 },
  },
  pods: [{ podRef: { uid: "u" }, containers: [{ name: "c", rootfs: { usedBytes: 1 } }], volume: [{ name: "v" }] }],
  items: [
    {
      metadata: { uid: "u" },
      spec: {
        containers: [{ name: "c", resources: { limits: { cpu: "500m", memory: "1Gi" }, requests: { cpu: "1e3" } } }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }],
      },
      status: { containerStatuses: [{ name: "c", containerID: "containerd://abc" }] },
    },
  ],
};
const WORDS = [...'{}[]:,"', "null", "true", "1e308", "-1", "0.5", "9223372036854775808", '""', "[]", "{}"];

/** Answers of servers that are asked for measurements. */
export const statisticsTargets: readonly FuzzTarget[] = [
  jsonTarget("Docker's statistics", CONTAINER, dockerPoints),
  jsonTarget("the kubelet's summary", NODE, kubeletPoints),
];

/** All measurements in a server's answer become points, or are skipped. */
function jsonTarget(name: string, seed: object, collect: (answer: unknown) => PointCollector[]): FuzzTarget {
  return {
    name,
    share: 2,
    seeds: [Buffer.from(JSON.stringify(seed))],
    mutate: textMutator(WORDS),
    run(input) {
      let answer: unknown;
      try {
        answer = JSON.parse(input.toString());
      } catch {
        return "no JSON";
      }
      const batch = batchOfPoints(collect(answer), NOW);
      holdToOtlp(batch);
      return `${batch.count} points in ${magnitude(batch.byteLength)}`;
    },
  };
}

const enabled = (table: object) => Object.fromEntries(Object.keys(table).map((name) => [name, { enabled: true }]));
const dockerOutput = new MetricOutput(DOCKER_METRICS, enabled(DOCKER_METRICS));
const kubeletOutput = new MetricOutput(KUBELET_METRICS, enabled(KUBELET_METRICS));

function dockerPoints(answer: unknown): PointCollector[] {
  const points = new PointCollector(NOW - 1000);
  addStats(fieldsOf(answer), points, dockerOutput);
  addInspection(fieldsOf(answer), points, dockerOutput, NOW);
  return [points];
}

function kubeletPoints(answer: unknown): PointCollector[] {
  const { node, pods } = fieldsOf(answer);
  const catalog = catalogOf(answer);
  const target = { points: new PointCollector(NOW - 1000), output: kubeletOutput };
  summary.addUsage("k8s.node", fieldsOf(node), target, NOW);
  summary.addFilesystem("k8s.node", fieldsOf(node, "fs"), target);
  summary.addNetwork("k8s.node", fieldsOf(node, "network"), true, target);
  summary.addNode(fieldsOf(node), target);
  for (const pod of listOf(pods)) {
    const known = catalog.get(textOf(pod, "podRef", "uid"));
    summary.addShares("k8s.pod", fieldsOf(pod), target, { amounts: known?.amounts, capacity: undefined });
    for (const container of listOf(pod, "containers")) {
      summary.addUsage("container", fieldsOf(container), target, NOW);
      summary.addEphemeralStorage(fieldsOf(container), target);
    }
    for (const volume of listOf(pod, "volume")) summary.addVolume(fieldsOf(volume), target);
    for (const spec of known?.volumes.values() ?? []) volumeAttributes(spec);
  }
  return [target.points];
}
