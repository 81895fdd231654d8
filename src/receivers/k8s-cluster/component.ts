import {
  type KubernetesApi,
  KubernetesApiError,
  type KubernetesObject,
  kubernetesApi,
  WatchedList,
} from "#net/kubernetes";
import { PointCollector, type ScrapeMoment, ScrapingReceiver, whileLeader } from "#receiving";
import { defineReceiver, type ReceiverContext } from "../../plugin.js";
import { type ClusterAttribute, type K8sClusterConfig, k8sClusterSchema } from "./config.js";
import { MEASURED_KINDS } from "./measured-kinds.js";
import type { MeasuredKind, MeasuredObject, MeasuredResource, MeasuredValue } from "./measured-object.js";
import { CLUSTER_METRICS, type ClusterMetric } from "./metrics.js";
import { type CountedSlice, countedSlice, endpointCounts } from "./service-endpoints.js";

/** Metrics about the objects of a Kubernetes cluster. */
export const k8sClusterReceiver = defineReceiver<K8sClusterConfig>({
  type: "k8s_cluster",
  summary: "Collects metrics about the nodes, pods, deployments and other objects of a Kubernetes cluster.",
  signals: ["metrics"],
  workers: "one",
  schema: k8sClusterSchema,
  create: (config, context) =>
    whileLeader(config.k8s_leader_elector, context, () => new K8sClusterReceiver(config, context)),
});

const ORIGIN = {
  scope: "github.com/open-telemetry/opentelemetry-collector-contrib/receiver/k8sclusterreceiver",
  schemaUrl: "https://opentelemetry.io/schemas/1.18.0",
};
const NOT_FOUND = 404;
/** The problem of a list that the API server does not have. */
const MISSING = "missing";

/** A list of the API server, with what is known of it. */
interface ClusterList {
  readonly name: string;
  readonly start: () => Promise<void>;
  readonly stop: () => void;
  /** Why the last request failed; undefined if it did not. */
  problem: unknown;
}

class K8sClusterReceiver extends ScrapingReceiver<K8sClusterConfig, typeof CLUSTER_METRICS> {
  private readonly api: KubernetesApi;
  private readonly objects = new Map<string, WatchedList<MeasuredObject>>();
  private readonly slices = new Map<string, WatchedList<CountedSlice>>();
  private readonly lists: ClusterList[] = [];
  private listed: Promise<unknown> = Promise.resolve();
  private began = 0;
  /** The points of resources, which stay the same until the object changes. */
  private readonly collected = new WeakMap<MeasuredResource, PointCollector>();

  constructor(config: K8sClusterConfig, context: ReceiverContext) {
    super(config, context, { table: CLUSTER_METRICS, transport: "http" });
    this.api = kubernetesApi(config);
  }

  protected override async open(): Promise<void> {
    this.began = this.context.clock.now();
    for (const kind of MEASURED_KINDS) if (this.wantsKind(kind)) this.watchKind(kind);
    if (this.output.wants("k8s.service.endpoint.count"))
      for (const path of this.pathsOf(["/apis/discovery.k8s.io/v1", "endpointslices"]))
        this.watch(path, countedSlice, this.slices);
    this.listed = Promise.all(this.lists.map((list) => list.start()));
  }

  override async stop(): Promise<void> {
    for (const list of this.lists) list.stop();
    await super.stop();
  }

  private get namespaces(): readonly string[] {
    const { namespaces, namespace } = this.config;
    return namespaces.length > 0 ? namespaces : namespace ? [namespace] : [];
  }

  private wantsKind({ path: [group], isNamespaced, prefixes }: MeasuredKind): boolean {
    if (!isNamespaced && this.namespaces.length > 0) return false;
    if (group.includes("openshift") && this.config.distribution !== "openshift") return false;
    const { node_conditions_to_report: conditions, allocatable_types_to_report: allocatable } = this.config;
    if (prefixes.includes("k8s.node.") && conditions.length + allocatable.length > 0) return true;
    const names = Object.keys(CLUSTER_METRICS) as ClusterMetric[];
    return names.some((name) => prefixes.some((prefix) => name.startsWith(prefix)) && this.output.wants(name));
  }

  private watchKind(kind: MeasuredKind): void {
    const read = (object: KubernetesObject): MeasuredObject => {
      const { name, namespace, uid } = object.metadata;
      const metadata = { name, ...(namespace && { namespace }), ...(uid && { uid }) };
      return { metadata, resources: kind.measure(object, this.config) };
    };
    for (const path of kind.isNamespaced ? this.pathsOf(kind.path) : [kind.path.join("/")])
      this.watch(path, read, this.objects);
  }

  private pathsOf([group, resource]: readonly [string, string]): string[] {
    const { namespaces } = this;
    if (namespaces.length === 0) return [`${group}/${resource}`];
    return namespaces.map((name) => `${group}/namespaces/${encodeURIComponent(name)}/${resource}`);
  }

  private watch<Item extends KubernetesObject>(
    path: string,
    read: (object: KubernetesObject) => Item,
    into: Map<string, WatchedList<Item>>,
  ): void {
    const { clock, random, logger } = this.context;
    const list = new WatchedList<Item>({
      api: this.api,
      path,
      clock,
      random,
      read,
      onAnswer: () => {
        entry.problem = undefined;
      },
      onError: (error) => {
        const isMissing = error instanceof KubernetesApiError && error.status === NOT_FOUND;
        if (isMissing && entry.problem !== MISSING)
          logger.warn({ path }, "the API server does not have these objects; they are not measured");
        entry.problem = isMissing ? MISSING : error;
      },
    });
    into.set(path, list);
    const entry: ClusterList = { name: path, start: () => list.start(), stop: () => list.stop(), problem: undefined };
    this.lists.push(entry);
  }

  protected override async collect({ abort, failed }: ScrapeMoment): Promise<PointCollector[]> {
    await untilAborted(this.listed, abort);
    for (const { name, problem } of this.lists) if (problem !== undefined && problem !== MISSING) failed(name, problem);
    const endpoints = endpointCounts([...this.slices.values()].flatMap(({ values }) => [...values]));
    const collectors: PointCollector[] = [];
    for (const [path, list] of this.objects) {
      const isService = path.endsWith("/services");
      for (const { metadata, resources } of list.values) {
        const more = isService ? endpoints.get(`${metadata.namespace ?? ""}/${metadata.name}`) : undefined;
        for (const resource of resources) collectors.push(this.pointsOf(resource, more));
      }
    }
    return collectors;
  }

  private pointsOf(resource: MeasuredResource, more: readonly MeasuredValue[] | undefined): PointCollector {
    if (more !== undefined) return this.createPoints(resource, more);
    let points = this.collected.get(resource);
    if (points === undefined) {
      points = this.createPoints(resource, []);
      this.collected.set(resource, points);
    }
    return points;
  }

  private createPoints({ attributes, values }: MeasuredResource, more: readonly MeasuredValue[]): PointCollector {
    const wanted = Object.entries(attributes).filter(
      ([name]) => this.config.resource_attributes[name as ClusterAttribute].enabled,
    );
    const points = new PointCollector(this.began, Object.fromEntries(wanted), ORIGIN);
    for (const { name, value, attributes: labels = {}, metric } of [...values, ...more]) {
      if (metric === undefined) this.output.add(points, name as ClusterMetric, value, labels);
      else if (value !== undefined) points.add(metric, name, value, labels);
    }
    return points;
  }
}

/** Waits for the first lists, which may take long, no longer than the collection may take. */
async function untilAborted(promise: Promise<unknown>, abort: AbortSignal): Promise<void> {
  if (abort.aborted) return;
  let onAbort = () => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    abort.addEventListener("abort", onAbort, { once: true });
  });
  await Promise.race([promise, aborted]);
  abort.removeEventListener("abort", onAbort);
}
