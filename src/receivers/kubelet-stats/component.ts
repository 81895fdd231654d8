import { PointCollector, type ScrapeMoment, ScrapingReceiver } from "#receiving";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import { defineReceiver, type ReceiverContext } from "../../plugin.js";
import { Cluster, type NodeCapacity } from "./cluster.js";
import { type KubeletAttributes, type KubeletStatsConfig, kubeletStatsSchema } from "./config.js";
import { KubeletApi } from "./kubelet-api.js";
import { AMOUNTS, KUBELET_METRICS } from "./metrics.js";
import { type CatalogedPod, catalogOf } from "./pod-catalog.js";
import {
  addEphemeralStorage,
  addFilesystem,
  addNetwork,
  addNode,
  addShares,
  addUsage,
  addVolume,
  type PointTarget,
  startOf,
} from "./summary-points.js";
import { volumeAttributes } from "./volume-attributes.js";

/** Metrics from a kubelet about its node, pods, containers and volumes. */
export const kubeletStatsReceiver = defineReceiver<KubeletStatsConfig>({
  type: "kubelet_stats",
  aliases: ["kubeletstats"],
  summary: "Collects metrics about a kubelet's node, pods, containers and volumes.",
  signals: ["metrics"],
  workers: "one",
  schema: kubeletStatsSchema,
  create: (config, context) => new KubeletStatsReceiver(config, context),
});

/** The state of one collection: the responses and the destination of its points. */
interface Collection extends ScrapeMoment {
  /** Undefined if the pods were not queried or the query failed. */
  readonly pods: ReadonlyMap<string, CatalogedPod> | undefined;
  readonly capacity: NodeCapacity | undefined;
  readonly collectors: PointCollector[];
}

class KubeletStatsReceiver extends ScrapingReceiver<KubeletStatsConfig, typeof KUBELET_METRICS> {
  private readonly cluster: Cluster | undefined;
  private kubelet: KubeletApi | undefined;
  /** The start time for counters whose own start the kubelet does not report. */
  private began = 0;

  constructor(config: KubeletStatsConfig, context: ReceiverContext) {
    super(config, context, { table: KUBELET_METRICS, transport: "http" });
    this.cluster = config.k8s_api_config && new Cluster(config.k8s_api_config);
  }

  protected override async open(): Promise<void> {
    this.kubelet = await KubeletApi.open(this.config);
    this.began = this.context.clock.now();
  }

  protected override async collect(moment: ScrapeMoment): Promise<PointCollector[]> {
    const { abort, failed } = moment;
    const settled = <T>(what: string, answer: Promise<T> | undefined) =>
      answer?.catch((error: unknown): undefined => failed(what, error) as undefined);
    const [summary, pods, capacity] = await Promise.all([
      settled("/stats/summary", this.kubelet!.get("/stats/summary", abort)),
      settled("/pods", this.needsPods ? this.kubelet!.get("/pods", abort).then(catalogOf) : undefined),
      settled("node", this.needsCapacity ? this.cluster?.capacity(this.config.node!, abort) : undefined),
    ]);
    if (summary === undefined) return [];
    const collection: Collection = { ...moment, pods, capacity, collectors: [] };
    await this.addSummary(fieldsOf(summary), collection);
    return collection.collectors;
  }

  private get needsPods(): boolean {
    const isShare = (prefix: string) => AMOUNTS.some((amount) => this.output.wants(`${prefix}.${amount}_utilization`));
    return this.config.extra_metadata_labels.length > 0 || isShare("k8s.pod") || isShare("k8s.container");
  }

  private get needsCapacity(): boolean {
    return Object.keys(KUBELET_METRICS).some((name) => name.endsWith(".node.utilization") && this.output.wants(name));
  }

  private async addSummary(summary: ObjectFields, collection: Collection): Promise<void> {
    const { node, pods } = summary;
    if (node === undefined && pods === undefined)
      collection.failed("/stats/summary", new Error("the answer is not a summary of a node and its pods"));
    this.addNode(fieldsOf(node), collection);
    for (const pod of listOf(pods)) await this.addPod(fieldsOf(pod), collection);
    this.cluster?.forgetUnused();
  }

  private addNode(node: ObjectFields, collection: Collection): void {
    if (!this.config.metric_groups.includes("node")) return;
    const name = { "k8s.node.name": textOf(node, "nodeName") };
    const target = this.target(node, name, collection);
    addUsage("k8s.node", node, target, collection.now);
    addFilesystem("k8s.node", fieldsOf(node, "fs"), target);
    addNetwork("k8s.node", fieldsOf(node, "network"), this.config.collect_all_network_interfaces.node, target);
    addNode(node, target);
    for (const each of listOf(node, "systemContainers")) {
      const part = fieldsOf(each);
      const partName = { ...name, "k8s.node.system_container.name": textOf(part, "name") };
      addUsage("k8s.node.system_container", part, this.target(part, partName, collection), collection.now);
    }
  }

  private async addPod(pod: ObjectFields, collection: Collection): Promise<void> {
    const { metric_groups: groups, collect_all_network_interfaces: all } = this.config;
    const uid = textOf(pod, "podRef", "uid");
    if (uid === "") return collection.failed("pod", new Error("a pod of the summary has no uid"));
    const name: KubeletAttributes = {
      "k8s.pod.uid": uid,
      "k8s.pod.name": textOf(pod, "podRef", "name"),
      "k8s.namespace.name": textOf(pod, "podRef", "namespace"),
    };
    const known = collection.pods?.get(uid);
    if (groups.includes("pod")) {
      const target = this.target(pod, name, collection);
      addUsage("k8s.pod", pod, target, collection.now);
      addShares("k8s.pod", pod, target, { amounts: known?.amounts, capacity: collection.capacity });
      addFilesystem("k8s.pod", fieldsOf(pod, "ephemeral-storage"), target);
      addNetwork("k8s.pod", fieldsOf(pod, "network"), all.pod, target);
    }
    if (groups.includes("container"))
      for (const each of listOf(pod, "containers")) this.addContainer(fieldsOf(each), name, known, collection);
    if (groups.includes("volume"))
      for (const each of listOf(pod, "volume")) await this.addVolume(fieldsOf(each), name, known, collection);
  }

  private addContainer(
    container: ObjectFields,
    pod: KubeletAttributes,
    known: CatalogedPod | undefined,
    collection: Collection,
  ): void {
    const name = textOf(container, "name");
    const id = known?.containerIds.get(name);
    const isIdWanted = this.config.extra_metadata_labels.includes("container.id");
    // Without its id the container would be another resource now than from the next collection on.
    if (isIdWanted && !id) return this.reportUnknown(`container ${name}`, pod, collection);
    const attributes = { ...pod, "k8s.container.name": name, ...(isIdWanted && id && { "container.id": id }) };
    const target = this.target(container, attributes, collection);
    addUsage("container", container, target, collection.now);
    const amounts = known?.containerAmounts.get(name);
    addShares("k8s.container", container, target, { amounts, capacity: collection.capacity });
    addFilesystem("container", fieldsOf(container, "rootfs"), target);
    addEphemeralStorage(container, target);
  }

  private async addVolume(
    volume: ObjectFields,
    pod: KubeletAttributes,
    known: CatalogedPod | undefined,
    collection: Collection,
  ): Promise<void> {
    const name = textOf(volume, "name");
    const attributes: KubeletAttributes = { ...pod, "k8s.volume.name": name };
    if (this.config.extra_metadata_labels.includes("k8s.volume.type")) {
      const spec = known?.volumes.get(name);
      if (spec === undefined) return this.reportUnknown(`volume ${name}`, pod, collection);
      Object.assign(attributes, volumeAttributes(spec));
      try {
        Object.assign(attributes, await this.volumeBehindClaim(attributes, collection.abort));
      } catch (error) {
        return collection.failed(`volume ${name} of ${pod["k8s.pod.name"]}`, error);
      }
    }
    addVolume(volume, this.target(volume, attributes, collection));
  }

  /** Replaces the attributes of a claim with those of the volume behind it. */
  private async volumeBehindClaim(attributes: KubeletAttributes, abort: AbortSignal): Promise<KubeletAttributes> {
    const claim = attributes["k8s.persistentvolumeclaim.name"];
    if (this.cluster === undefined || !claim) return {};
    return volumeAttributes(await this.cluster.volumeOf(attributes["k8s.namespace.name"]!, claim, abort));
  }

  /** Reports a missing pod or container, unless the query for all pods failed, which has been reported once. */
  private reportUnknown(what: string, pod: KubeletAttributes, { pods, failed }: Collection): void {
    if (pods !== undefined) failed(`${what} of ${pod["k8s.pod.name"]}`, new Error("/pods does not know it yet"));
  }

  private target(stats: ObjectFields, attributes: KubeletAttributes, { now, collectors }: Collection): PointTarget {
    const wanted = Object.entries(attributes).filter(
      ([name]) => this.config.resource_attributes[name as keyof KubeletAttributes].enabled,
    );
    const points = new PointCollector(startOf(stats, now) ?? this.began, Object.fromEntries(wanted));
    collectors.push(points);
    return { points, output: this.output };
  }
}
