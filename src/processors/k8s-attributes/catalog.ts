import { type KubernetesApi, type KubernetesObject, kubernetesApi, WatchedList } from "#net/kubernetes";
import { ResourceStamp } from "#otlp";
import { environmentVariable } from "#system";
import { compilePattern, type Pattern } from "#text/patterns";
import { type ComponentContext, limitedLog, type Value } from "../../plugin.js";
import type { K8sAttributesConfig, PodAssociation } from "./config.js";
import { type MetadataObject, type Pod, type PodContainer, readMetadata, readPod } from "./pod.js";
import { PodAttributes } from "./pod-attributes.js";

/** A deleted pod stays known this long, because its data may still arrive. */
const GRACE_MS = 120_000;

const CLUSTER_NAMESPACE = "/api/v1/namespaces/kube-system";

/** A pod and the stamps for its resources, which are made on first use. */
export class CatalogEntry {
  readonly pod: Pod;
  readonly keys: readonly string[];
  private readonly stamps = new Map<string, ResourceStamp>();
  private readonly create: (container: PodContainer | undefined, restarts: number | undefined) => ResourceStamp;

  constructor(pod: Pod, keys: readonly string[], create: CatalogEntry["create"]) {
    this.pod = pod;
    this.keys = keys;
    this.create = create;
  }

  stamp(container: PodContainer | undefined, restarts: number | undefined): ResourceStamp {
    const key = `${container?.name ?? ""} ${restarts ?? ""}`;
    let stamp = this.stamps.get(key);
    if (stamp === undefined) {
      stamp = this.create(container, restarts);
      // The number is limited because clients may send any restart count.
      if (this.stamps.size < MAX_STAMPS) this.stamps.set(key, stamp);
    }
    return stamp;
  }

  forgetStamps(): void {
    this.stamps.clear();
  }
}

const MAX_STAMPS = 100;

/** All pods that the config selects, found by the attributes of resources and kept up to date. */
export class PodCatalog {
  readonly attributes: PodAttributes;
  /** True once the first list of pods has arrived. */
  isKnown = false;
  private readonly config: K8sAttributesConfig;
  private readonly context: ComponentContext;
  private readonly api: KubernetesApi;
  private readonly associations: readonly PodAssociation[];
  private readonly excluded: readonly Pattern[];
  private readonly pods = new Map<string, CatalogEntry>();
  private readonly index = new Map<string, CatalogEntry>();
  private readonly related = {
    namespaces: new Map<string, MetadataObject>(),
    nodes: new Map<string, MetadataObject>(),
  };
  private readonly replicaSets = new Map<string, MetadataObject>();
  private readonly jobs = new Map<string, MetadataObject>();
  private readonly lists: { start(): Promise<void>; stop(): void }[] = [];
  private readonly leaving = new Set<() => void>();
  private readonly stopping = new AbortController();
  private clusterUid = "";

  constructor(config: K8sAttributesConfig, context: ComponentContext, associations: readonly PodAssociation[]) {
    this.config = config;
    this.context = context;
    this.associations = associations;
    this.attributes = new PodAttributes(config.extract);
    this.excluded = (config.exclude.pods ?? []).map(({ name }) => compilePattern(name));
    this.api = kubernetesApi(config);
  }

  /** Resolves when every list has been read once or has failed. Failed lists are retried until `stop` is called. */
  async start(): Promise<void> {
    const { attributes } = this;
    if (attributes.needsClusterUid) await this.readClusterUid();
    if (attributes.needsNamespaces) this.watch("/api/v1/namespaces", readMetadata, this.related.namespaces);
    if (attributes.needsNodes) this.watch("/api/v1/nodes", readMetadata, this.related.nodes);
    if (attributes.needsReplicaSets)
      this.watch(`/apis/apps/v1${this.inNamespace()}/replicasets`, readMetadata, this.replicaSets);
    if (attributes.needsJobs) this.watch(`/apis/batch/v1${this.inNamespace()}/jobs`, readMetadata, this.jobs);
    // Namespaces, nodes, replica sets and jobs must be known before the pods that are described with them.
    await Promise.all(this.lists.map((list) => list.start()));
    const pods = this.podList();
    this.lists.push(pods);
    await pods.start();
  }

  stop(): void {
    this.stopping.abort();
    for (const list of this.lists) list.stop();
    for (const cancel of this.leaving) cancel();
    this.leaving.clear();
  }

  /**
   * Finds the pod of a resource by the values of one association. Returns undefined if no such pod is known or the pod
   * is excluded.
   */
  find(association: number, values: readonly string[]): CatalogEntry | undefined {
    return this.index.get(indexKey(association, values));
  }

  private podList(): WatchedList<Pod> {
    const { filter } = this.config;
    const node = filter?.node || (filter?.node_from_env_var && environmentVariable(filter.node_from_env_var));
    const fields = [
      ...(node ? [`spec.nodeName=${node}`] : []),
      ...(filter?.fields ?? []).map(({ key, value, op }) => `${key}${op === "equals" ? "=" : "!="}${value}`),
    ];
    const labels = (filter?.labels ?? []).map(({ key, value, op }) => {
      if (op === "exists") return key;
      if (op === "does-not-exist") return `!${key}`;
      return `${key}${op === "equals" ? "=" : "!="}${value}`;
    });
    return new WatchedList<Pod>({
      ...this.listSettings(`/api/v1${this.inNamespace()}/pods`, readPod),
      ...(fields.length > 0 && { fieldSelector: fields.join(",") }),
      ...(labels.length > 0 && { labelSelector: labels.join(",") }),
      onChange: (pods) => this.replaceAll(pods),
      onItem: (pod, isGone) => (isGone ? this.leave(pod) : this.put(pod)),
    });
  }

  private inNamespace(): string {
    const { namespace } = this.config.filter ?? {};
    return namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  }

  private watch(
    path: string,
    read: (object: KubernetesObject) => MetadataObject,
    into: Map<string, MetadataObject>,
  ): void {
    const put = (item: MetadataObject) => into.set(nameKey(item), item);
    this.lists.push(
      new WatchedList<MetadataObject>({
        ...this.listSettings(path, read),
        onChange: (items) => {
          into.clear();
          for (const item of items) put(item);
          this.forgetStamps();
        },
        onItem: (item, isGone) => {
          if (isGone) into.delete(nameKey(item));
          else put(item);
          this.forgetStamps();
        },
      }),
    );
  }

  private listSettings<Item extends KubernetesObject>(path: string, read: (object: KubernetesObject) => Item) {
    const logFailure = limitedLog<unknown>(this.context.clock, (error, suppressed) =>
      this.context.logger.warn(
        { path, error: error instanceof Error ? error.message : String(error), suppressed },
        "the Kubernetes API cannot be read; the last known data stays in use",
      ),
    );
    const { clock, random } = this.context;
    return { api: this.api, path, clock, random, read, onError: logFailure };
  }

  private async readClusterUid(): Promise<void> {
    const late = AbortSignal.any([this.stopping.signal, AbortSignal.timeout(this.config.wait_for_metadata_timeout)]);
    try {
      const { metadata } = (await this.api.get(CLUSTER_NAMESPACE, late)) as KubernetesObject;
      this.clusterUid = typeof metadata?.uid === "string" ? metadata.uid : "";
    } catch (error) {
      if (!this.stopping.signal.aborted)
        this.context.logger.warn({ error: (error as Error).message }, "the uid of the cluster cannot be read");
    }
  }

  /** Pods missing from a new list were deleted in the meantime. They too stay known for the grace period. */
  private replaceAll(pods: readonly Pod[]): void {
    const listed = new Set(pods.map(podKey));
    for (const [key, { pod }] of this.pods) if (!listed.has(key)) this.leave(pod);
    for (const pod of pods) this.put(pod);
    this.isKnown = true;
  }

  private put(pod: Pod): void {
    const old = this.pods.get(podKey(pod));
    if (old !== undefined) this.remove(old);
    if (this.excluded.some((pattern) => pattern.test(pod.metadata.name))) return;
    const entry = new CatalogEntry(pod, this.keysOf(pod), (container, restarts) =>
      this.createStamp(pod, container, restarts),
    );
    this.pods.set(podKey(pod), entry);
    for (const key of entry.keys) {
      // Kubernetes may give an address to a new pod while the old one is still known; the newer pod wins.
      const other = this.index.get(key);
      if (other === undefined || other.pod.startTime <= pod.startTime) this.index.set(key, entry);
    }
  }

  private leave(pod: Pod): void {
    const entry = this.pods.get(podKey(pod));
    if (entry === undefined) return;
    const cancel = this.context.clock.after(GRACE_MS, () => {
      this.leaving.delete(cancel);
      if (this.pods.get(podKey(pod)) === entry) this.remove(entry);
    });
    this.leaving.add(cancel);
  }

  private remove(entry: CatalogEntry): void {
    this.pods.delete(podKey(entry.pod));
    for (const key of entry.keys) if (this.index.get(key) === entry) this.index.delete(key);
  }

  private forgetStamps(): void {
    for (const entry of this.pods.values()) entry.forgetStamps();
  }

  private createStamp(pod: Pod, container: PodContainer | undefined, restarts: number | undefined): ResourceStamp {
    const found = this.extract(pod);
    if (container !== undefined)
      for (const [key, value] of this.attributes.containerAttributes(pod, container, restarts)) found.set(key, value);
    return new ResourceStamp(found, "where_empty");
  }

  private extract(pod: Pod): Map<string, Value> {
    const { namespace = "", ownerReferences = [] } = pod.metadata;
    const ownerIn = (objects: ReadonlyMap<string, MetadataObject>, of: string) => {
      const name = ownerReferences.find(({ kind }) => kind === of)?.name;
      return name === undefined ? undefined : objects.get(`${namespace}/${name}`);
    };
    return this.attributes.podAttributes(pod, {
      namespace: this.related.namespaces.get(`/${namespace}`),
      node: this.related.nodes.get(`/${pod.nodeName}`),
      replicaSet: ownerIn(this.replicaSets, "ReplicaSet"),
      job: ownerIn(this.jobs, "Job"),
      clusterUid: this.clusterUid,
    });
  }

  /** An association may also name an extracted attribute of the pod, such as a label. */
  private extractedValue(pod: Pod, name: string): string[] {
    const value = this.extract(pod).get(name);
    return typeof value === "string" && value !== "" ? [value] : [];
  }

  private keysOf(pod: Pod): string[] {
    return this.associations.flatMap(({ sources }, i) => {
      let combinations: string[][] = [[]];
      for (const source of sources) {
        const values = valuesOf(pod, source) ?? this.extractedValue(pod, source.name);
        combinations = combinations.flatMap((before) => values.map((value) => [...before, value]));
      }
      return combinations.map((values) => indexKey(i, values));
    });
  }
}

/**
 * Returns the values that a source may have for this pod. A pod can have several addresses and containers, or none.
 * Returns undefined if the source names another attribute.
 */
function valuesOf(pod: Pod, { from, name }: PodAssociation["sources"][number]): readonly string[] | undefined {
  const { metadata, ips, isOnHostNetwork } = pod;
  // Pods on the host network all share the address of their node.
  const addresses = isOnHostNetwork ? [] : ips;
  if (from === "connection") return addresses;
  switch (name) {
    case "k8s.pod.ip":
    case "ip":
      return addresses;
    case "k8s.pod.uid":
    case "pod_uid":
      return metadata.uid === undefined ? [] : [metadata.uid];
    case "k8s.pod.name":
      return [metadata.name];
    case "k8s.namespace.name":
      return metadata.namespace === undefined ? [] : [metadata.namespace];
    case "k8s.node.name":
      return pod.nodeName === "" ? [] : [pod.nodeName];
    case "host.name":
    case "k8s.pod.hostname":
      return [...addresses, pod.hostname || metadata.name];
    case "container.id":
      return pod.containers.flatMap(({ ids }) => [...ids.values()].filter((id) => id !== ""));
    default:
      return undefined;
  }
}

function indexKey(association: number, values: readonly string[]): string {
  return `${association}\n${values.join("\n")}`;
}

function podKey(pod: Pod): string {
  return `${nameKey(pod)} ${pod.metadata.uid ?? ""}`;
}

function nameKey({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
