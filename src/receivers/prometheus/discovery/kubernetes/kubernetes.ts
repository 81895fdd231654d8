import { KubernetesApi, type KubernetesObject, WatchedList } from "#net/kubernetes";
import { fieldsOf, listOf, textOf, textsOf } from "#text/json";
import type { ScrapeHttpClient } from "../../http-client.js";
import type { Labels } from "../../relabel.js";
import type { Discovery } from "../discovery.js";
import type { DiscoveryServices } from "../polled-discovery.js";
import { endpointSliceTargets, endpointsTargets } from "./endpoint-targets.js";
import type { MetaLabels } from "./labels.js";
import { ingressTargets, nodeMetaLabels, nodeTargets, serviceTargets } from "./other-targets.js";
import { podTargets } from "./pod-targets.js";

export const KUBERNETES_ROLES = ["node", "pod", "service", "endpoints", "endpointslice", "ingress"] as const;

type KubernetesRole = (typeof KUBERNETES_ROLES)[number];

export interface KubernetesDiscoverySettings {
  readonly role: KubernetesRole;
  readonly apiServer: string | undefined;
  /** Makes the requests to `apiServer`. */
  readonly client: ScrapeHttpClient | undefined;
  /** Empty means all namespaces. */
  readonly namespaces: readonly string[];
  readonly ownNamespace: boolean;
  readonly selectors: readonly { readonly role: string; readonly label: string; readonly field: string }[];
  readonly attachesNodes: boolean;
}

const PATHS: Readonly<Record<KubernetesRole, readonly [group: string, plural: string]>> = {
  node: ["/api/v1", "nodes"],
  pod: ["/api/v1", "pods"],
  service: ["/api/v1", "services"],
  endpoints: ["/api/v1", "endpoints"],
  endpointslice: ["/apis/discovery.k8s.io/v1", "endpointslices"],
  ingress: ["/apis/networking.k8s.io/v1", "ingresses"],
};

/** Changes within this time are reported together: a rollout makes hundreds of changes. */
const SETTLE_MS = 500;

/** The watched lists of a role, one per namespace, and all objects in them. */
class WatchedObjects {
  private readonly lists: WatchedList<KubernetesObject>[] = [];
  private readonly known: (readonly KubernetesObject[] | undefined)[] = [];

  constructor(
    paths: readonly string[],
    settings: Omit<ConstructorParameters<typeof WatchedList>[0], "path" | "onChange">,
    onChange: () => void,
  ) {
    for (const [i, path] of paths.entries()) {
      this.known.push(undefined);
      const notify = (items: readonly KubernetesObject[]) => {
        this.known[i] = items;
        onChange();
      };
      this.lists.push(new WatchedList<KubernetesObject>({ ...settings, read: trimmed, path, onChange: notify }));
    }
  }

  get isKnown(): boolean {
    return this.known.every((items) => items !== undefined);
  }

  get all(): KubernetesObject[] {
    return this.known.flatMap((items) => items ?? []);
  }

  start(): void {
    for (const list of this.lists) void list.start();
  }

  stop(): void {
    for (const list of this.lists) list.stop();
  }
}

/** Finds targets with the Kubernetes API, by role. While the API cannot be reached, the last known targets stay. */
export class KubernetesDiscovery implements Discovery {
  private readonly settings: KubernetesDiscoverySettings;
  private readonly services: DiscoveryServices;
  private readonly objects = new Map<KubernetesRole, WatchedObjects>();
  private update: (targets: readonly Labels[]) => void = () => {};
  private cancelReport: (() => void) | undefined;
  private isStopped = false;
  private hasReported = false;

  constructor(settings: KubernetesDiscoverySettings, services: DiscoveryServices) {
    this.settings = settings;
    this.services = services;
  }

  start(update: (targets: readonly Labels[]) => void): void {
    this.update = update;
    void this.watchAll();
  }

  stop(): void {
    this.isStopped = true;
    this.cancelReport?.();
    for (const objects of this.objects.values()) objects.stop();
    this.settings.client?.close();
  }

  private async watchAll(): Promise<void> {
    const { role, apiServer, client, ownNamespace, attachesNodes } = this.settings;
    const own = ownNamespace ? [await KubernetesApi.ownNamespace()] : [];
    const namespaces = [...this.settings.namespaces, ...own];
    if (this.isStopped) return;
    const api = new KubernetesApi({
      apiServer,
      ...(client && { request: (url, headers, abort) => client.get(url, headers, abort) }),
    });
    const isOfEndpoints = role === "endpoints" || role === "endpointslice";
    const roles: KubernetesRole[] = [role, ...(isOfEndpoints ? (["pod", "service"] as const) : [])];
    if (attachesNodes && role !== "node") roles.push("node");
    for (const each of roles) this.objects.set(each, this.watch(each, api, namespaces));
    for (const objects of this.objects.values()) objects.start();
  }

  private watch(role: KubernetesRole, api: KubernetesApi, namespaces: readonly string[]): WatchedObjects {
    const [group, plural] = PATHS[role];
    const isEverywhere = role === "node" || namespaces.length === 0;
    const paths = isEverywhere
      ? [`${group}/${plural}`]
      : namespaces.map((namespace) => `${group}/namespaces/${encodeURIComponent(namespace)}/${plural}`);
    const selector = this.settings.selectors.find((each) => each.role === role);
    const settings = {
      api,
      clock: this.services.clock,
      random: this.services.random,
      ...(selector?.label && { labelSelector: selector.label }),
      ...(selector?.field && { fieldSelector: selector.field }),
      onError: (error: unknown) => this.services.onError(`the Kubernetes API, ${plural}`, error),
    };
    return new WatchedObjects(paths, settings, () => this.onChange());
  }

  /** Updates at once the first time, and later after a short pause without changes. */
  private onChange(): void {
    if (this.cancelReport !== undefined || this.isStopped) return;
    if (![...this.objects.values()].every(({ isKnown }) => isKnown)) return;
    const notify = () => {
      this.cancelReport = undefined;
      this.hasReported = true;
      this.update(this.targets());
    };
    if (this.hasReported) this.cancelReport = this.services.clock.after(SETTLE_MS, notify);
    else notify();
  }

  private targets(): Labels[] {
    const { role } = this.settings;
    const all = this.objects.get(role)!.all;
    switch (role) {
      case "node":
        return all.flatMap(nodeTargets);
      case "service":
        return all.flatMap(serviceTargets);
      case "ingress":
        return all.flatMap(ingressTargets);
      case "pod": {
        const nodeLabels = this.nodeLabels();
        return all.flatMap((pod) => podTargets(pod, nodeLabels));
      }
      default: {
        const pods = byName(this.objects.get("pod")!.all);
        const services = byName(this.objects.get("service")!.all);
        const related = {
          pod: (namespace: string, name: string) => pods.get(`${namespace}/${name}`),
          service: (namespace: string, name: string) => services.get(`${namespace}/${name}`),
          nodeLabels: this.nodeLabels(),
        };
        const targetsOf = role === "endpoints" ? endpointsTargets : endpointSliceTargets;
        return all.flatMap((object) => targetsOf(object, related));
      }
    }
  }

  private nodeLabels(): (nodeName: string) => MetaLabels {
    const nodes = byName(this.objects.get("node")?.all ?? []);
    return (name) => {
      const node = nodes.get(`/${name}`);
      return node === undefined ? {} : nodeMetaLabels(node);
    };
  }
}

function byName(objects: readonly KubernetesObject[]): Map<string, KubernetesObject> {
  return new Map(
    objects.map((object) => [`${textOf(object, "metadata", "namespace")}/${object.metadata.name}`, object]),
  );
}

/**
 * Removes the parts of a pod that are not needed here: they are most of it, and there may be tens of thousands of pods.
 */
function trimmed(object: KubernetesObject): KubernetesObject {
  const { name, namespace, uid } = object.metadata;
  const containers = (kind: string) =>
    listOf(object, "spec", kind).map((each) => ({
      name: textOf(each, "name"),
      image: textOf(each, "image"),
      ports: listOf(each, "ports"),
    }));
  const spec = { ...fieldsOf(object, "spec"), volumes: undefined, affinity: undefined, tolerations: undefined };
  return {
    ...object,
    metadata: {
      name,
      ...(typeof namespace === "string" && { namespace }),
      ...(typeof uid === "string" && { uid }),
      ownerReferences: listOf(object, "metadata", "ownerReferences"),
      labels: textsOf(object, "metadata", "labels"),
      annotations: textsOf(object, "metadata", "annotations"),
    } as KubernetesObject["metadata"],
    spec: { ...spec, containers: containers("containers"), initContainers: containers("initContainers") },
  } as KubernetesObject;
}
