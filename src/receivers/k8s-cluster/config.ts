import { z } from "zod";
import { kubernetesApiKeys } from "#net/kubernetes";
import { leaderKey, metricKeys, resourceAttributeKey, scrapingKeys } from "#receiving";
import { ignored, section } from "../../plugin.js";
import { CLUSTER_METRICS } from "./metrics.js";

/** Resource attributes, and whether they are on by default. */
const RESOURCE_ATTRIBUTES = {
  "container.id": true,
  "container.image.name": true,
  "container.image.tag": true,
  "container.runtime": false,
  "container.runtime.version": false,
  "k8s.container.name": true,
  "k8s.container.status.last_terminated_reason": false,
  "k8s.cronjob.name": true,
  "k8s.cronjob.uid": true,
  "k8s.daemonset.name": true,
  "k8s.daemonset.uid": true,
  "k8s.deployment.name": true,
  "k8s.deployment.uid": true,
  "k8s.hpa.name": true,
  "k8s.hpa.scaletargetref.apiversion": false,
  "k8s.hpa.scaletargetref.kind": false,
  "k8s.hpa.scaletargetref.name": false,
  "k8s.hpa.uid": true,
  "k8s.job.name": true,
  "k8s.job.uid": true,
  "k8s.kubelet.version": false,
  "k8s.namespace.name": true,
  "k8s.namespace.uid": true,
  "k8s.node.name": true,
  "k8s.node.uid": true,
  "k8s.persistentvolume.name": true,
  "k8s.persistentvolume.reclaim_policy": false,
  "k8s.persistentvolume.uid": true,
  "k8s.persistentvolumeclaim.name": true,
  "k8s.persistentvolumeclaim.uid": true,
  "k8s.pod.name": true,
  "k8s.pod.qos_class": false,
  "k8s.pod.uid": true,
  "k8s.replicaset.name": true,
  "k8s.replicaset.uid": true,
  "k8s.replicationcontroller.name": true,
  "k8s.replicationcontroller.uid": true,
  "k8s.resourcequota.name": true,
  "k8s.resourcequota.uid": true,
  "k8s.service.name": true,
  "k8s.service.publish_not_ready_addresses": false,
  "k8s.service.traffic_distribution": false,
  "k8s.service.type": true,
  "k8s.service.uid": true,
  "k8s.statefulset.name": true,
  "k8s.statefulset.uid": true,
  "k8s.storageclass.name": true,
  "openshift.clusterquota.name": true,
  "openshift.clusterquota.uid": true,
  "os.description": false,
  "os.type": false,
} as const;

export type ClusterAttribute = keyof typeof RESOURCE_ATTRIBUTES;

const resourceAttributes = Object.fromEntries(
  Object.entries(RESOURCE_ATTRIBUTES).map(([name, isOn]) => [name, resourceAttributeKey(isOn)]),
) as Record<ClusterAttribute, ReturnType<typeof resourceAttributeKey>>;

const names = () =>
  z
    .array(z.string().min(1))
    .nullish()
    .transform((list) => list ?? []);

export const k8sClusterSchema = z.strictObject({
  ...kubernetesApiKeys,
  ...scrapingKeys(10_000),
  node_conditions_to_report: z
    .array(z.string().min(1))
    .nullish()
    .transform((list) => list ?? ["Ready"])
    .meta({ description: "Conditions of nodes, each as a metric such as k8s.node.condition_ready." }),
  allocatable_types_to_report: names().meta({
    description: "Resources of nodes such as cpu, each as a metric such as k8s.node.allocatable_cpu.",
  }),
  distribution: z
    .enum(["kubernetes", "openshift"])
    .default("kubernetes")
    .meta({ description: "With openshift, cluster quotas are measured too." }),
  namespaces: names().meta({
    description: "Only objects of these namespaces. Nodes, namespaces, volumes and cluster quotas are then left out.",
  }),
  namespace: z.string().nullish().meta({ description: "The older form of namespaces, with one name." }),
  metadata_exporters: ignored("exporters do not accept metadata; it is in resource attributes"),
  metadata_collection_interval: ignored("no metadata is sent by itself"),
  k8s_leader_elector: leaderKey,
  ...metricKeys(CLUSTER_METRICS),
  resource_attributes: section(z.strictObject(resourceAttributes))
    .prefault({})
    .meta({ description: "Which attributes resources have." }),
});

export type K8sClusterConfig = z.infer<typeof k8sClusterSchema>;
