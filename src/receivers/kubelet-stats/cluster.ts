import { KubernetesApi, quantityOf } from "#net/kubernetes";
import { fieldsOf, type ObjectFields, textOf } from "#text/json";
import type { KubeletStatsConfig } from "./config.js";

/** CPUs and bytes of memory of a node; 0 if unknown. */
export interface NodeCapacity {
  readonly cpu: number;
  readonly memory: number;
}

/** Reads what only the cluster's API server knows. */
export class Cluster {
  private readonly api: KubernetesApi;
  /** Volume sources by claim. A bound claim keeps its volume. */
  private sources = new Map<string, ObjectFields>();
  private used = new Map<string, ObjectFields>();

  constructor(config: NonNullable<KubeletStatsConfig["k8s_api_config"]>) {
    const { api_server: apiServer, token_file: tokenFile, ca_file: caFile } = config;
    this.api = new KubernetesApi({ apiServer: apiServer && String(apiServer), tokenFile, caFile });
  }

  async capacity(node: string, abort: AbortSignal): Promise<NodeCapacity> {
    const found = await this.api.get(`/api/v1/nodes/${encodeURIComponent(node)}`, abort);
    const capacity = fieldsOf(found, "status", "capacity");
    return { cpu: quantityOf(capacity["cpu"]), memory: quantityOf(capacity["memory"]) };
  }

  /** Returns the source of the volume behind a claim. */
  async volumeOf(namespace: string, claim: string, abort: AbortSignal): Promise<ObjectFields> {
    const key = `${namespace}/${claim}`;
    const source = this.sources.get(key) ?? (await this.ask(namespace, claim, abort));
    this.sources.set(key, source);
    this.used.set(key, source);
    return source;
  }

  /** Forgets claims that were not asked for since the last call. */
  forgetUnused(): void {
    this.sources = this.used;
    this.used = new Map();
  }

  private async ask(namespace: string, claim: string, abort: AbortSignal): Promise<ObjectFields> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(claim)}`;
    const name = textOf(await this.api.get(path, abort), "spec", "volumeName");
    if (name === "") throw new Error(`the claim ${claim} has no volume yet`);
    return fieldsOf(await this.api.get(`/api/v1/persistentvolumes/${encodeURIComponent(name)}`, abort), "spec");
  }
}
