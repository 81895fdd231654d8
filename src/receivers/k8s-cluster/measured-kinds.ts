import { fieldsOf, listOf, numberOf, textOf } from "#text/json";
import {
  bytesOf,
  type ClusterAttributes,
  type MeasuredKind,
  numberAt,
  plainKind,
  quotaValues,
  statesOf,
  value,
} from "./measured-object.js";
import type { ClusterMetric } from "./metrics.js";
import { nodeAttributes, nodeValues } from "./node-values.js";
import { podResources } from "./pod-resources.js";

const CORE = "/api/v1";
const APPS = "/apis/apps/v1";
const BATCH = "/apis/batch/v1";
const PHASES: Readonly<Record<string, number>> = { Active: 1, Terminating: 0 };

/** The pods that a controller should have and those that are available. */
const replicaValues = (desired: ClusterMetric, available: ClusterMetric) => (object: unknown) => {
  const replicas = numberOf(object, "spec", "replicas");
  if (replicas === undefined) return [];
  return [value(desired, replicas), value(available, numberAt(object, "status", "availableReplicas"))];
};

const storageClass = (object: unknown): ClusterAttributes => ({
  "k8s.storageclass.name": textOf(object, "spec", "storageClassName"),
});

function serviceAttributes(service: unknown): ClusterAttributes {
  const traffic = textOf(service, "spec", "trafficDistribution");
  return {
    "k8s.service.type": textOf(service, "spec", "type"),
    "k8s.service.publish_not_ready_addresses": fieldsOf(service, "spec")["publishNotReadyAddresses"] === true,
    ...(traffic !== "" && { "k8s.service.traffic_distribution": traffic }),
  };
}

const cluster = { isNamespaced: false };

/** All kinds that are measured. */
export const MEASURED_KINDS: readonly MeasuredKind[] = [
  { path: [CORE, "pods"], isNamespaced: true, prefixes: ["k8s.pod.", "k8s.container."], measure: podResources },
  plainKind([CORE, "nodes"], "k8s.node", nodeValues, { ...cluster, attributes: nodeAttributes }),
  plainKind(
    [CORE, "namespaces"],
    "k8s.namespace",
    (object) => {
      const phase = textOf(object, "status", "phase");
      return [value("k8s.namespace.phase", phase === "" ? -1 : (PHASES[phase] ?? 0))];
    },
    cluster,
  ),
  plainKind(
    [CORE, "replicationcontrollers"],
    "k8s.replicationcontroller",
    replicaValues("k8s.replication_controller.desired", "k8s.replication_controller.available"),
    { prefixes: ["k8s.replication_controller."] },
  ),
  plainKind(
    [CORE, "resourcequotas"],
    "k8s.resourcequota",
    (object) => [
      ...quotaValues("k8s.resource_quota.hard_limit", fieldsOf(object, "status", "hard")),
      ...quotaValues("k8s.resource_quota.used", fieldsOf(object, "status", "used")),
    ],
    { prefixes: ["k8s.resource_quota."] },
  ),
  plainKind(
    [CORE, "persistentvolumes"],
    "k8s.persistentvolume",
    (object) => [
      ...statesOf(
        "k8s.persistentvolume.status.phase",
        "k8s.persistentvolume.status.phase",
        ["Pending", "Available", "Bound", "Released", "Failed"],
        textOf(object, "status", "phase"),
      ),
      value("k8s.persistentvolume.storage.capacity", bytesOf(fieldsOf(object, "spec", "capacity")["storage"])),
    ],
    {
      ...cluster,
      attributes: (object) => ({
        ...storageClass(object),
        "k8s.persistentvolume.reclaim_policy": textOf(object, "spec", "persistentVolumeReclaimPolicy"),
      }),
    },
  ),
  plainKind(
    [CORE, "persistentvolumeclaims"],
    "k8s.persistentvolumeclaim",
    (object) => [
      ...statesOf(
        "k8s.persistentvolumeclaim.status.phase",
        "k8s.persistentvolumeclaim.status.phase",
        ["Pending", "Bound", "Lost"],
        textOf(object, "status", "phase"),
      ),
      value(
        "k8s.persistentvolumeclaim.storage.request",
        bytesOf(fieldsOf(object, "spec", "resources", "requests")["storage"]),
      ),
      value("k8s.persistentvolumeclaim.storage.capacity", bytesOf(fieldsOf(object, "status", "capacity")["storage"])),
    ],
    { attributes: storageClass },
  ),
  plainKind(
    [CORE, "services"],
    "k8s.service",
    (object) =>
      textOf(object, "spec", "type") === "LoadBalancer"
        ? [value("k8s.service.load_balancer.ingress.count", listOf(object, "status", "loadBalancer", "ingress").length)]
        : [],
    { attributes: serviceAttributes },
  ),
  plainKind(
    [APPS, "deployments"],
    "k8s.deployment",
    replicaValues("k8s.deployment.desired", "k8s.deployment.available"),
  ),
  plainKind(
    [APPS, "replicasets"],
    "k8s.replicaset",
    replicaValues("k8s.replicaset.desired", "k8s.replicaset.available"),
  ),
  plainKind([APPS, "daemonsets"], "k8s.daemonset", (object) => [
    value("k8s.daemonset.current_scheduled_nodes", numberAt(object, "status", "currentNumberScheduled")),
    value("k8s.daemonset.desired_scheduled_nodes", numberAt(object, "status", "desiredNumberScheduled")),
    value("k8s.daemonset.misscheduled_nodes", numberAt(object, "status", "numberMisscheduled")),
    value("k8s.daemonset.ready_nodes", numberAt(object, "status", "numberReady")),
  ]),
  plainKind([APPS, "statefulsets"], "k8s.statefulset", (object) => {
    const replicas = numberOf(object, "spec", "replicas");
    if (replicas === undefined) return [];
    return [
      value("k8s.statefulset.desired_pods", replicas),
      value("k8s.statefulset.ready_pods", numberAt(object, "status", "readyReplicas")),
      value("k8s.statefulset.current_pods", numberAt(object, "status", "currentReplicas")),
      value("k8s.statefulset.updated_pods", numberAt(object, "status", "updatedReplicas")),
    ];
  }),
  plainKind([BATCH, "jobs"], "k8s.job", (object) => [
    value("k8s.job.active_pods", numberAt(object, "status", "active")),
    value("k8s.job.failed_pods", numberAt(object, "status", "failed")),
    value("k8s.job.successful_pods", numberAt(object, "status", "succeeded")),
    value("k8s.job.desired_successful_pods", numberOf(object, "spec", "completions")),
    value("k8s.job.max_parallel_pods", numberOf(object, "spec", "parallelism")),
  ]),
  plainKind([BATCH, "cronjobs"], "k8s.cronjob", (object) => [
    value("k8s.cronjob.active_jobs", listOf(object, "status", "active").length),
  ]),
  plainKind(
    ["/apis/autoscaling/v2", "horizontalpodautoscalers"],
    "k8s.hpa",
    (object) => [
      value("k8s.hpa.max_replicas", numberAt(object, "spec", "maxReplicas")),
      value("k8s.hpa.min_replicas", numberOf(object, "spec", "minReplicas") ?? 1),
      value("k8s.hpa.current_replicas", numberAt(object, "status", "currentReplicas")),
      value("k8s.hpa.desired_replicas", numberAt(object, "status", "desiredReplicas")),
    ],
    {
      attributes: (object) => ({
        "k8s.hpa.scaletargetref.apiversion": textOf(object, "spec", "scaleTargetRef", "apiVersion"),
        "k8s.hpa.scaletargetref.kind": textOf(object, "spec", "scaleTargetRef", "kind"),
        "k8s.hpa.scaletargetref.name": textOf(object, "spec", "scaleTargetRef", "name"),
      }),
    },
  ),
  plainKind(
    ["/apis/quota.openshift.io/v1", "clusterresourcequotas"],
    "openshift.clusterquota",
    (object) => [
      ...quotaValues("openshift.clusterquota.limit", fieldsOf(object, "status", "total", "hard")),
      ...quotaValues("openshift.clusterquota.used", fieldsOf(object, "status", "total", "used")),
      ...listOf(object, "status", "namespaces").flatMap((each) => {
        const namespace = { "k8s.namespace.name": textOf(each, "namespace") };
        return [
          ...quotaValues("openshift.appliedclusterquota.limit", fieldsOf(each, "status", "hard"), namespace),
          ...quotaValues("openshift.appliedclusterquota.used", fieldsOf(each, "status", "used"), namespace),
        ];
      }),
    ],
    { ...cluster, prefixes: ["openshift."] },
  ),
];
