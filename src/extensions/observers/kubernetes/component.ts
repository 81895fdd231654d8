import { type BuiltInExtension, defineBuiltInExtension } from "#contract/built-in";
import type { ObservedEndpoint } from "#contract/services";
import { type KubernetesObject, kubernetesApi, WatchedList } from "#net/kubernetes";
import { type ExtensionContext, limitedLog } from "../../../plugin.js";
import { EndpointList } from "../endpoint-list.js";
import { type K8sObserverConfig, k8sObserverSchema } from "./config.js";
import {
  ingressEndpoints,
  nodeEndpoints,
  podEndpoints,
  type ReadEndpoints,
  serviceEndpoints,
} from "./object-endpoints.js";

/** Finds pods, containers, ports, nodes, services and ingresses of a Kubernetes cluster. */
export const k8sObserver = defineBuiltInExtension<K8sObserverConfig>({
  type: "k8s_observer",
  summary: "Finds pods, ports, nodes, services and ingresses of a Kubernetes cluster, for receiver_creator.",
  serves: "observer",
  schema: k8sObserverSchema,
  create: (config, context) => new K8sObserver(config, context),
});

/** Changes that follow each other within this time are handed on together. */
const PAUSE_MS = 1000;

interface ObservedObject extends KubernetesObject {
  readonly endpoints: readonly ObservedEndpoint[];
}

class K8sObserver implements BuiltInExtension {
  private readonly config: K8sObserverConfig;
  private readonly context: ExtensionContext;
  private readonly logFailure: (event: { readonly path: string; readonly reason: string }) => void;
  readonly endpointObserver = new EndpointList(() => this.watchAll());

  constructor(config: K8sObserverConfig, context: ExtensionContext) {
    this.config = config;
    this.context = context;
    this.logFailure = limitedLog(context.clock, ({ path, reason }, suppressed) =>
      context.logger.warn({ path, reason, suppressed }, "objects of the Kubernetes API cannot be watched"),
    );
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {
    this.endpointObserver.stop();
  }

  private watchAll(): () => void {
    const { clock } = this.context;
    const lists: WatchedList<ObservedObject>[] = [];
    let cancel: (() => void) | undefined;
    let lastAt = Number.NEGATIVE_INFINITY;
    const tell = () => {
      cancel = undefined;
      lastAt = clock.monotonic();
      this.endpointObserver.set(lists.flatMap(({ values }) => [...values].flatMap(({ endpoints }) => endpoints)));
    };
    const tellSoon = () => {
      cancel ??= clock.after(Math.max(0, lastAt + PAUSE_MS - clock.monotonic()), tell);
    };
    for (const { path, fieldSelector, read } of this.sources())
      lists.push(this.list(path, fieldSelector, read, tellSoon));
    for (const list of lists) void list.start();
    return () => {
      for (const list of lists) list.stop();
      cancel?.();
    };
  }

  private list(path: string, fieldSelector: string | undefined, read: ReadEndpoints, onChange: () => void) {
    const { clock, random, id } = this.context;
    return new WatchedList<ObservedObject>({
      api: kubernetesApi(this.config),
      path,
      fieldSelector,
      clock,
      random,
      onChange,
      read: (object) => {
        const { name, namespace } = object.metadata;
        return { metadata: { name, ...(namespace && { namespace }) }, endpoints: read(object, id) };
      },
      onError: (error) => this.logFailure({ path, reason: (error as Error).message }),
    });
  }

  private sources(): { path: string; fieldSelector?: string; read: ReadEndpoints }[] {
    const { config } = this;
    const { node } = config;
    const namespaced = (group: string, name: string) =>
      config.namespaces.length === 0
        ? [`${group}/${name}`]
        : config.namespaces.map((namespace) => `${group}/namespaces/${encodeURIComponent(namespace)}/${name}`);
    const of = (isOn: boolean, paths: readonly string[], read: ReadEndpoints, field?: string) =>
      isOn ? paths.map((path) => ({ path, read, ...(field && node && { fieldSelector: `${field}=${node}` }) })) : [];
    return [
      ...of(config.observe_pods, namespaced("/api/v1", "pods"), podEndpoints, "spec.nodeName"),
      ...of(config.observe_services, namespaced("/api/v1", "services"), serviceEndpoints),
      ...of(config.observe_ingresses, namespaced("/apis/networking.k8s.io/v1", "ingresses"), ingressEndpoints),
      ...of(config.observe_nodes, ["/api/v1/nodes"], nodeEndpoints, "metadata.name"),
    ];
  }
}
