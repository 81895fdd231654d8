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
  gae_app: {
    location: ["cloud.availability_zone", "cloud.region"],
    module_id: ["faas.name"],
    version_id: ["faas.version"],
  },
  gae_instance: {
    location: ["cloud.availability_zone", "cloud.region"],
    module_id: ["faas.name"],
    version_id: ["faas.version"],
    instance_id: ["faas.instance"],
  },
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
    cluster: ["cluster", "k8s.cluster.name", "k8s.cluster.uid"],
    namespace: ["namespace", "k8s.namespace.name"],
    job: `job service.name faas.name k8s.deployment.name k8s.statefulset.name k8s.daemonset.name k8s.job.name
      k8s.cronjob.name`.split(/\s+/),
    instance: ["instance", "service.instance.id", "faas.instance", "k8s.pod.name", "host.id"],
  },
};

/** Returns the monitored resource that an OpenTelemetry resource is. */
export function monitoredResource(resource: PlainAttributes, type = typeOf(resource)): MonitoredResource {
  const labels = Object.entries(LABELS[type]!).map(([label, keys]) => {
    const missing = label === "location" ? "global" : "";
    return [label, firstText(resource, keys) || missing] as const;
  });
  return { type, labels: Object.fromEntries(labels) };
}

/** Returns the same for logs, where App Engine has no instances. */
export function loggingResource(resource: PlainAttributes): MonitoredResource {
  const type = typeOf(resource);
  return monitoredResource(resource, type === "gae_instance" ? "gae_app" : type);
}

/** Returns the resource of Google's managed service for Prometheus: a target that is scraped. */
export function prometheusTarget(resource: PlainAttributes): MonitoredResource {
  const { type, labels } = monitoredResource(resource, "prometheus_target");
  const { cluster = "", job = "", instance = "" } = labels;
  const namespace = plainValueText(resource["service.namespace"]);
  const container = plainValueText(resource["k8s.container.name"]);
  const isPod = instance !== "" && instance === plainValueText(resource["k8s.pod.name"]);
  return {
    type,
    labels: {
      ...labels,
      cluster: cluster || (CLUSTERS[plainValueText(resource["cloud.platform"])] ?? ""),
      job: namespace === "" ? job : `${namespace}/${job}`,
      instance: isPod && container !== "" ? `${instance}/${container}` : instance,
    },
  };
}

/** Google's names of clusters where there is none. */
const CLUSTERS: Readonly<Record<string, string>> = { gcp_compute_engine: "__gce__", gcp_cloud_run: "__run__" };

/** The SDK's name for a service without one counts only if there is no other. */
function firstText(resource: PlainAttributes, keys: readonly string[]): string {
  const texts = keys.map((key) => plainValueText(resource[key])).filter((text) => text !== "");
  return texts.find((text) => !text.startsWith("unknown_service")) ?? texts[0] ?? "";
}

function typeOf(resource: PlainAttributes): string {
  const has = (key: string) => resource[key] !== undefined;
  const platform = plainValueText(resource["cloud.platform"]);
  if (platform === "gcp_compute_engine") return "gce_instance";
  if (platform === "gcp_app_engine") return "gae_instance";
  if (platform === "aws_ec2") return "aws_ec2_instance";
  if (has("k8s.cluster.name")) {
    if (has("k8s.container.name")) return "k8s_container";
    if (has("k8s.pod.name")) return "k8s_pod";
    return has("k8s.node.name") ? "k8s_node" : "k8s_cluster";
  }
  const isTask = (has("service.name") && has("service.instance.id")) || (has("faas.name") && has("faas.instance"));
  return isTask ? "generic_task" : "generic_node";
}
