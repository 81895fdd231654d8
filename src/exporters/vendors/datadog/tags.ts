import { type PlainAttributes, plainValueText } from "#otlp/json";

/** Datadog's names of resource attributes that become tags. */
const TAG_NAMES: Readonly<Record<string, string>> = {
  "service.name": "service",
  "service.version": "version",
  "deployment.environment": "env",
  "deployment.environment.name": "env",
  "container.id": "container_id",
  "container.name": "container_name",
  "container.image.name": "image_name",
  "container.image.tag": "image_tag",
  "cloud.provider": "cloud_provider",
  "cloud.region": "region",
  "cloud.availability_zone": "zone",
  "aws.ecs.task.family": "task_family",
  "aws.ecs.task.arn": "task_arn",
  "aws.ecs.cluster.arn": "ecs_cluster_name",
  "aws.ecs.task.revision": "task_version",
  "aws.ecs.container.name": "ecs_container_name",
  "k8s.container.name": "kube_container_name",
  "k8s.cluster.name": "kube_cluster_name",
  "k8s.deployment.name": "kube_deployment",
  "k8s.replicaset.name": "kube_replica_set",
  "k8s.statefulset.name": "kube_stateful_set",
  "k8s.daemonset.name": "kube_daemon_set",
  "k8s.job.name": "kube_job",
  "k8s.cronjob.name": "kube_cronjob",
  "k8s.namespace.name": "kube_namespace",
  "k8s.pod.name": "pod_name",
};

/** Returns the tags of a resource: those that Datadog has names for, and all others too if `hasAll`. */
export function tagsOf(resource: PlainAttributes, hasAll: boolean): string[] {
  const tags: string[] = [];
  for (const [key, value] of Object.entries(resource)) {
    const name = TAG_NAMES[key];
    if (name !== undefined) tags.push(tagOf(name, value));
    if (hasAll) tags.push(tagOf(key, value));
  }
  return tags;
}

export function tagOf(key: string, value: unknown): string {
  return `${key}:${plainValueText(value) || "n/a"}`;
}

/** Returns the host of a resource; empty if neither it nor the config has one. */
export function hostOf(resource: PlainAttributes, configured: string): string {
  return plainValueText(resource["datadog.host.name"]) || plainValueText(resource["host.name"]) || configured;
}
