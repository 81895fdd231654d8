/**
 * Whether a tag of this name belongs to the resource: Zipkin has one list of tags for both. These are the names that
 * the Collector uses.
 */
export function isResourceKey(key: string): boolean {
  return RESOURCE_KEYS.has(key);
}

const RESOURCE_KEYS: ReadonlySet<string> = new Set([
  ...below("cloud", "provider account.id region availability_zone platform resource_id"),
  ...below("aws.ecs", "container.arn cluster.arn launchtype task.arn task.family task.revision"),
  ...below("aws", "eks.cluster.arn log.group.names log.group.arns log.stream.names log.stream.arns"),
  ...below("container", "name id runtime image.name image.tag"),
  ...below("deployment", "environment"),
  ...below("device", "id model.identifier model.name manufacturer"),
  ...below("faas", "name id version instance max_memory"),
  ...below("host", "id name type arch image.name image.id image.version"),
  ...below(
    "k8s",
    "cluster.name node.name node.uid namespace.name pod.uid pod.name container.name container.restart_count",
  ),
  ...below("k8s", "replicaset.uid replicaset.name deployment.uid deployment.name statefulset.uid statefulset.name"),
  ...below("k8s", "daemonset.uid daemonset.name job.uid job.name cronjob.uid cronjob.name"),
  ...below("os", "type description name version"),
  ...below("process", "pid executable.name executable.path command command_line command_args owner"),
  ...below("process.runtime", "name version description"),
  ...below("service", "name namespace instance.id version"),
  ...below("telemetry", "sdk.name sdk.language sdk.version auto.version"),
  ...below("webengine", "name version description"),
]);

function below(prefix: string, names: string): string[] {
  return names.split(" ").map((name) => `${prefix}.${name}`);
}
