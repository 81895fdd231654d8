import { type PlainAttributes, plainValueText } from "#otlp/json";

/** A monitored resource of Google. */
export interface MonitoredResource {
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The labels of each type, and the attributes that they are made of; the first that exists counts. */
const LABELS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  k8s_container: {
    location: ["cloud.availability_zone", "cloud.region"],
    cluster_name: ["k8s.cluster.name"],
    namespace_name: ["k8s.namespace.name"],
    pod_name: ["k8s.pod.name"],
    container_name: ["k8s.container.name"],
  },
  k8s_pod: {
    location: ["cloud.availability_zone", "cloud.region"],
    cluster_name: ["k8s.cluster.name"],
    namespace_name: ["k8s.namespace.name"],
    pod_name: ["k8s.pod.name"],
  },
  k8s_node: {
    location: ["cloud.availability_zone", "cloud.region"],
    cluster_name: ["k8s.cluster.name"],
    node_name: ["k8s.node.name"],
  },
  k8s_cluster: { location: ["cloud.availability_zone", "cloud.region"], cluster_name: ["k8s.cluster.name"] },
  gce_instance: { zone: ["cloud.availability_zone"], instance_id: ["host.id"] },
  aws_ec2_instance: {
    instance_id: ["host.id"],
    region: ["cloud.availability_zone", "cloud.region"],
    aws_account: ["cloud.account.id"],
  },
  generic_task: {
    location: ["cloud.availability_zone", "cloud.region"],
    namespace: ["service.namespace"],
    job: ["service.name", "faas.name"],
    task_id: ["service.instance.id", "faas.instance"],
  },
  generic_node: {
    location: ["cloud.availability_zone", "cloud.region"],
    namespace: ["service.namespace"],
    node_id: ["host.id", "host.name"],
  },
  prometheus_target: {
    location: ["location", "cloud.availability_zone", "cloud.region"],
    cluster: ["cluster", "k8s.cluster.name"],
    namespace: ["namespace", "k8s.namespace.name"],
    job: ["job", "service.name", "faas.name"],
    instance: ["instance", "service.instance.id", "faas.instance", "k8s.pod.name", "host.id"],
  },
};

/** Returns the monitored resource that an OpenTelemetry resource is. */
export function monitoredResource(resource: PlainAttributes, type = typeOf(resource)): MonitoredResource {
  const labels = Object.entries(LABELS[type]!).map(([label, keys]) => {
    const key = keys.find((each) => resource[each] !== undefined);
    const missing = label === "location" ? "global" : "";
    return [label, key === undefined ? missing : plainValueText(resource[key])] as const;
  });
  return { type, labels: Object.fromEntries(labels) };
}

function typeOf(resource: PlainAttributes): string {
  const has = (key: string) => resource[key] !== undefined;
  const platform = plainValueText(resource["cloud.platform"]);
  if (platform === "gcp_compute_engine") return "gce_instance";
  if (platform === "aws_ec2") return "aws_ec2_instance";
  if (has("k8s.cluster.name")) {
    if (has("k8s.container.name")) return "k8s_container";
    if (has("k8s.pod.name")) return "k8s_pod";
    if (has("k8s.node.name")) return "k8s_node";
    if (platform === "gcp_kubernetes_engine") return "k8s_cluster";
  }
  const isTask = (has("service.name") || has("faas.name")) && (has("service.instance.id") || has("faas.instance"));
  return isTask ? "generic_task" : "generic_node";
}
