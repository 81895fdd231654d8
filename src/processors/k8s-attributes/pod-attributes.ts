import { compilePattern, type Pattern } from "#text/patterns";
import type { Value } from "../../plugin.js";
import type { ExtractRule, K8sAttributesConfig } from "./config.js";
import type { MetadataObject, Pod, PodContainer } from "./pod.js";

/** Other objects that describe a pod. */
interface PodRelatedObjects {
  readonly namespace: MetadataObject | undefined;
  readonly node: MetadataObject | undefined;
  readonly replicaSet: MetadataObject | undefined;
  readonly job: MetadataObject | undefined;
  readonly clusterUid: string;
}

type FieldOwner = ExtractRule["from"];
type FieldSource = "labels" | "annotations";

interface CompiledRule extends Pick<ExtractRule, "tag_name" | "key" | "from"> {
  readonly source: FieldSource;
  readonly pattern: Pattern | undefined;
}

const OTEL_PREFIX = "resource.opentelemetry.io/";

/** Makes the configured attributes of a resource from the API's description of its pod. */
export class PodAttributes {
  private readonly wanted: ReadonlySet<string>;
  private readonly rules: readonly CompiledRule[];
  private readonly hasOtelAnnotations: boolean;

  constructor({ metadata, labels, annotations, otel_annotations }: K8sAttributesConfig["extract"]) {
    this.wanted = new Set(metadata);
    this.rules = [...compileRules("labels", labels), ...compileRules("annotations", annotations)];
    this.hasOtelAnnotations = otel_annotations;
  }

  /** Whether the configured attributes need namespaces. The getters below say the same for other objects. */
  get needsNamespaces(): boolean {
    return this.rules.some(({ from }) => from === "namespace");
  }

  get needsNodes(): boolean {
    return this.wanted.has("k8s.node.uid") || this.rules.some(({ from }) => from === "node");
  }

  get needsReplicaSets(): boolean {
    return this.wanted.has("k8s.deployment.uid");
  }

  get needsJobs(): boolean {
    return this.wanted.has("k8s.cronjob.uid");
  }

  get needsClusterUid(): boolean {
    return this.wanted.has("k8s.cluster.uid");
  }

  /** Returns the attributes of the pod that do not depend on the container. */
  podAttributes(pod: Pod, related: PodRelatedObjects): Map<string, Value> {
    const { metadata } = pod;
    const owners = ownersOf(pod);
    const found = new Map<string, Value>();
    const add = (key: string, value: string | undefined) => {
      if (value && this.wanted.has(key)) found.set(key, value);
    };
    add("k8s.namespace.name", metadata.namespace);
    add("k8s.pod.name", metadata.name);
    add("k8s.pod.uid", metadata.uid);
    add("k8s.pod.hostname", pod.hostname || metadata.name);
    add("k8s.pod.ip", pod.ips[0]);
    add("k8s.pod.start_time", pod.startTime);
    add("k8s.node.name", pod.nodeName);
    add("k8s.node.uid", related.node?.metadata.uid);
    add("k8s.cluster.uid", related.clusterUid);
    for (const [key, value] of owners) add(key, value);
    const deployment = related.replicaSet?.metadata.ownerReferences?.find(({ kind }) => kind === "Deployment");
    add("k8s.deployment.uid", deployment?.uid);
    const cronJob = related.job?.metadata.ownerReferences?.find(({ kind }) => kind === "CronJob");
    add("k8s.cronjob.uid", cronJob?.uid);
    add("service.namespace", metadata.namespace);
    add("service.name", SERVICE_NAMES.map((key) => owners.get(key)).find(Boolean) ?? metadata.name);
    this.addFields(found, { pod, namespace: related.namespace, node: related.node });
    return found;
  }

  /** Returns the additional attributes of one container of the pod. */
  containerAttributes(pod: Pod, container: PodContainer, restarts: number | undefined): Map<string, Value> {
    const found = new Map<string, Value>();
    const add = (key: string, value: Value | undefined) => {
      if (value && this.wanted.has(key)) found.set(key, value);
    };
    const { name, tag, digest } = imageOf(container.image);
    add("k8s.container.name", container.name);
    add("container.id", container.ids.get(restarts ?? container.restarts));
    add("container.image.name", name);
    add("container.image.tag", tag || (digest === "" ? "latest" : ""));
    const repoDigest = container.imageId.replace(/^[^:/]*:\/\//, "");
    if (repoDigest.includes("@")) add("container.image.repo_digests", [repoDigest]);
    add("service.version", tag && digest ? `${tag}@${digest}` : tag || digest);
    const { namespace, name: podName } = pod.metadata;
    add("service.instance.id", `${namespace ?? ""}.${podName}.${container.name}`);
    return found;
  }

  get needsContainers(): boolean {
    return CONTAINER_FIELDS.some((field) => this.wanted.has(field));
  }

  private addFields(found: Map<string, Value>, owners: Readonly<Record<FieldOwner, MetadataObject | undefined>>): void {
    for (const { tag_name, key, from, source, pattern } of this.rules) {
      const fields = owners[from]?.metadata[source] ?? {};
      for (const [name, value] of Object.entries(fields)) {
        const isMeant = pattern === undefined ? name === key : pattern.test(name);
        if (!isMeant) continue;
        const tag = pattern === undefined ? tag_name : pattern.replaceAll(name, tag_name);
        found.set(tag || `k8s.${from}.${source}.${name}`, value);
      }
    }
    if (!this.hasOtelAnnotations) return;
    for (const [name, value] of Object.entries(owners.pod?.metadata.annotations ?? {})) {
      if (name.startsWith(OTEL_PREFIX)) found.set(name.slice(OTEL_PREFIX.length), value);
    }
  }
}

const CONTAINER_FIELDS =
  `k8s.container.name container.id container.image.name container.image.tag container.image.repo_digests
  service.version service.instance.id`.split(/\s+/);

/** OpenTelemetry's conventions take the service name from the first of these owners that the pod has. */
const SERVICE_NAMES = ["deployment", "replicaset", "statefulset", "daemonset", "cronjob", "job"].map(
  (kind) => `k8s.${kind}.name`,
);

const KINDS: Readonly<Record<string, string>> = {
  ReplicaSet: "replicaset",
  DaemonSet: "daemonset",
  StatefulSet: "statefulset",
  Job: "job",
};

/** Returns attributes of the pod's owners, and of the owners' owners where their names can be derived. */
function ownersOf({ metadata: { ownerReferences = [], labels = {} } }: Pod): Map<string, string> {
  const found = new Map<string, string>();
  for (const { kind = "", name = "", uid = "" } of ownerReferences) {
    const attribute = KINDS[kind];
    if (attribute === undefined) continue;
    found.set(`k8s.${attribute}.name`, name);
    found.set(`k8s.${attribute}.uid`, uid);
    // A deployment appends this hash to the names of its replica sets and labels their pods with it. So its name is
    // known without a request.
    const hash = `-${labels["pod-template-hash"] ?? ""}`;
    if (kind === "ReplicaSet" && hash !== "-" && name.endsWith(hash))
      found.set("k8s.deployment.name", name.slice(0, -hash.length));
    const cronJob = kind === "Job" ? /^(.+)-\d+$/.exec(name)?.[1] : undefined;
    if (cronJob !== undefined) found.set("k8s.cronjob.name", cronJob);
  }
  return found;
}

/** Splits `registry:5000/team/app:1.2@sha256:...` into `registry:5000/team/app`, `1.2` and `sha256:...`. */
function imageOf(image: string): { readonly name: string; readonly tag: string; readonly digest: string } {
  const [reference = "", digest = ""] = image.split("@", 2);
  const colon = reference.indexOf(":", reference.lastIndexOf("/") + 1);
  if (colon < 0) return { name: reference, tag: "", digest };
  return { name: reference.slice(0, colon), tag: reference.slice(colon + 1), digest };
}

function compileRules(source: FieldSource, rules: readonly ExtractRule[] | null | undefined): CompiledRule[] {
  return (rules ?? []).map(({ key_regex, ...rule }) => ({
    ...rule,
    source,
    pattern: key_regex === "" ? undefined : compilePattern(`^(?:${key_regex})$`),
  }));
}
