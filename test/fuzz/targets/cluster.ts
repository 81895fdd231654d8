import { parseJournalEntry } from "../../../src/receivers/journald/journal-entry.js";
import { MEASURED_KINDS } from "../../../src/receivers/k8s-cluster/measured-kinds.js";
import { CLUSTER_METRICS, type ClusterMetric } from "../../../src/receivers/k8s-cluster/metrics.js";
import { countedSlice, endpointCounts } from "../../../src/receivers/k8s-cluster/service-endpoints.js";
import { eventEntry, objectEntry } from "../../../src/receivers/k8s-objects/object-entry.js";
import { LogBatchWriter, LogEntry, writeEntry } from "../../../src/runtime/logs/entries/door.js";
import type { KubernetesObject } from "../../../src/runtime/net/kubernetes/door.js";
import {
  batchOfPoints,
  MetricOutput,
  PointCollector,
} from "../../../src/runtime/receiving/scraping/point-collector.js";
import { type FuzzTarget, magnitude } from "../fuzz.js";
import { holdToOtlp } from "../hold-to-otlp.js";
import { textMutator } from "../mutate-text.js";

const OBJECT = {
  metadata: { name: "a", namespace: "b", uid: "c", creationTimestamp: "2026-01-02T03:04:05Z", labels: { a: "b" } },
  spec: {
    replicas: 3,
    nodeName: "n",
    containers: [{ name: "c", resources: { requests: { cpu: "250m", storage: "1Gi" }, limits: { memory: "1e3" } } }],
    capacity: { storage: "5Gi" },
    scaleTargetRef: { kind: "Deployment" },
  },
  status: {
    phase: "Running",
    active: [1],
    hard: { "requests.cpu": "2", pods: "10" },
    total: { hard: { pods: "1" } },
    namespaces: [{ namespace: "b", status: { used: { "limits.cpu": "1" } } }],
    conditions: [{ type: "Ready", status: "True" }],
    allocatable: { cpu: "4", "hugepages-1Gi": "0" },
    nodeInfo: { containerRuntimeVersion: "containerd://2.1" },
    containerStatuses: [{ name: "c", image: "r:5/a:1@sha256:x", state: { waiting: { reason: "ErrImagePull" } } }],
  },
  addressType: "IPv4",
  endpoints: [{ zone: "z", conditions: { ready: true } }],
  involvedObject: { kind: "Pod", name: "p" },
  ...{ type: "Warning", message: "m", count: 7, lastTimestamp: "2026-01-02T03:04:05.123456Z" },
};
const ENTRY = {
  __CURSOR: "s=1;i=2",
  __REALTIME_TIMESTAMP: "1794961876294617",
  MESSAGE: [104, 195, 169],
  TWICE: ["a", [1, 2]],
  LONG: null,
};
const WORDS = [
  ...'{}[]:,"',
  "null",
  "true",
  "1e308",
  "1e400",
  "-1",
  "0.5",
  "9223372036854775808",
  '""',
  "[]",
  "{}",
  "__proto__",
];
const NODE_METRICS = { node_conditions_to_report: ["Ready", "PIDPressure"], allocatable_types_to_report: ["cpu"] };

/** Data that a cluster and a machine report about themselves. */
export const clusterTargets: readonly FuzzTarget[] = [
  jsonTarget("Kubernetes objects", OBJECT, runObject),
  jsonTarget("entries of the journal", ENTRY, (_, text) => {
    const { body, timestamp } = parseJournalEntry(text, true);
    const entry = new LogEntry(body, {}, {}, undefined);
    entry.timestamp = timestamp;
    hold(entry);
    return `${magnitude(Object.keys(body).length)}`;
  }),
];

function jsonTarget(name: string, seed: object, run: (value: unknown, text: string) => string): FuzzTarget {
  return {
    name,
    share: 2,
    seeds: [Buffer.from(JSON.stringify(seed))],
    mutate: textMutator(WORDS),
    run(input) {
      const text = input.toString();
      let value: unknown;
      try {
        value = JSON.parse(text);
      } catch {
        return "no JSON";
      }
      try {
        return run(value, text);
      } catch (error) {
        if (/^it (is not a|has no) /.test((error as Error).message)) return (error as Error).message;
        throw error;
      }
    },
  };
}

function runObject(value: unknown): string {
  const object = value as KubernetesObject | null;
  if (typeof object?.metadata?.name !== "string") return "no object";
  const enabled = Object.fromEntries(Object.keys(CLUSTER_METRICS).map((name) => [name, { enabled: true }]));
  const output = new MetricOutput(CLUSTER_METRICS, enabled);
  const values = [
    ...MEASURED_KINDS.flatMap(({ measure }) => measure(object, NODE_METRICS)).flatMap(({ values: all }) => all),
    ...[...endpointCounts([countedSlice(object)]).values()].flat(),
  ];
  const points = new PointCollector(0);
  for (const { name, value: number, attributes = {}, metric } of values) {
    if (metric === undefined) output.add(points, name as ClusterMetric, number, attributes);
    else if (number !== undefined) points.add(metric, name, number, attributes);
  }
  const batch = batchOfPoints([points], 1);
  holdToOtlp(batch);
  for (const entry of [objectEntry(object, "pods"), objectEntry(object, "pods", "ADDED"), eventEntry(object)])
    hold(entry);
  return `${magnitude(batch.count)}`;
}

function hold(entry: LogEntry): void {
  const writer = new LogBatchWriter(new Uint8Array(0), new Uint8Array(0), 1024);
  writer.add(100, (wire) => writeEntry(wire, entry));
  holdToOtlp(writer.finish());
}
