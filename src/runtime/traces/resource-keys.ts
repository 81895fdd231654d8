/**
 * Whether a tag of this name belongs to the resource: Zipkin has one list of tags for both. These are the names that
 * the Collector uses.
 */
export function isResourceKey(key: string): boolean {
  return RESOURCE_KEYS.has(key);
}

export const RESOURCE_KEYS: ReadonlySet<string> = new Set([
  ...withPrefix("cloud", "provider account.id region availability_zone platform resource_id"),
  ...withPrefix("aws.ecs", "container.arn cluster.arn launchtype task.arn task.family task.revision"),
  ...withPrefix("aws", "eks.cluster.arn log.group.names log.group.arns log.stream.names log.stream.arns"),
  ...withPrefix("container", "name id runtime image.name image.tag"),
  ...withPrefix("deployment", "environment"),
  ...withPrefix("device", "id model.identifier model.name manufacturer"),
  ...withPrefix("faas", "name id version instance max_memory"),
  ...withPrefix("host", "id name type arch image.name image.id image.version"),
  ...withPrefix(
    "k8s",
    "cluster.name node.name node.uid namespace.name pod.uid pod.name container.name container.restart_count",
  ),
  ...withPrefix(
    "k8s",
    "replicaset.uid replicaset.name deployment.uid deployment.name statefulset.uid statefulset.name",
  ),
  ...withPrefix("k8s", "daemonset.uid daemonset.name job.uid job.name cronjob.uid cronjob.name"),
  ...withPrefix("os", "type description name version"),
  ...withPrefix("process", "pid executable.name executable.path command command_line command_args owner"),
  ...withPrefix("process.runtime", "name version description"),
  ...withPrefix("service", "name namespace instance.id version"),
  ...withPrefix("telemetry", "sdk.name sdk.language sdk.version auto.version"),
  ...withPrefix("webengine", "name version description"),
]);

function withPrefix(prefix: string, names: string): string[] {
  return names.split(" ").map((name) => `${prefix}.${name}`);
}
