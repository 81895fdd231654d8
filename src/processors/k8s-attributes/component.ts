import { isIP } from "node:net";
import { defineBuiltInProcessor } from "#contract/built-in";
import { withResource } from "#contract/operators";
import { ResourceStamp, stampResources } from "#otlp";
import { attributeValue, encodedKey, findAttribute } from "#otlp/bytes";
import { RESOURCE_ATTRIBUTES_TAG } from "#otlp/tags";
import { type Batch, type ComponentContext, eachBatch, Refusal, SIGNALS } from "../../plugin.js";
import { type CatalogEntry, PodCatalog } from "./catalog.js";
import { type K8sAttributesConfig, k8sAttributesSchema, type PodAssociation } from "./config.js";
import type { PodContainer } from "./pod.js";

/** Adds Kubernetes metadata to resources: attributes of the pod that each resource comes from. */
export const k8sAttributes = defineBuiltInProcessor<K8sAttributesConfig>({
  type: "k8s_attributes",
  aliases: ["k8sattributes"],
  summary: "Adds names, labels and annotations of Kubernetes pods to the resources of their telemetry.",
  signals: SIGNALS,
  takesSinglePoints: true,
  schema: k8sAttributesSchema,
  create(config, context) {
    const associations = associationsOf(config);
    const shared = catalogOf(config, context, associations);
    const finder = new PodFinder(associations);
    const processor = eachBatch(
      (batch, { origin: { address = "" } }) => {
        const catalog = config.passthrough ? undefined : shared.catalog;
        if (catalog === undefined || catalog.isKnown) return stampBatch(batch, address, catalog, finder);
        return shared.whenKnown(catalog).then(() => stampBatch(batch, address, catalog, finder));
      },
      { timeoutMs: 0 },
    );
    return withResource(processor, config.passthrough ? undefined : shared);
  },
});

/** The Collector's default associations, used when the config has none. */
const DEFAULT_ASSOCIATIONS: readonly PodAssociation[] = [
  { sources: [{ from: "resource_attribute", name: "k8s.pod.ip" }] },
  { sources: [{ from: "resource_attribute", name: "ip" }] },
  { sources: [{ from: "connection", name: "" }] },
  { sources: [{ from: "resource_attribute", name: "host.name" }] },
];

function associationsOf({ pod_association: written }: K8sAttributesConfig): readonly PodAssociation[] {
  return written && written.length > 0 ? written : DEFAULT_ASSOCIATIONS;
}

/** The catalog that all pipelines with this processor share. It stops when the last of them stops. */
class SharedCatalog {
  /** Undefined while no pipeline runs. */
  catalog: PodCatalog | undefined;
  private readonly config: K8sAttributesConfig;
  private readonly context: ComponentContext;
  private readonly associations: readonly PodAssociation[];
  private users = 0;
  /** Resolves when everything has been listed once, or when `wait_for_metadata_timeout` has passed. */
  private listed: Promise<void> = Promise.resolve();
  private cancelWait = () => {};

  constructor(config: K8sAttributesConfig, context: ComponentContext, associations: readonly PodAssociation[]) {
    this.config = config;
    this.context = context;
    this.associations = associations;
  }

  start(): void {
    this.users += 1;
    if (this.users > 1) return;
    const catalog = new PodCatalog(this.config, this.context, this.associations);
    this.catalog = catalog;
    this.listed = new Promise((resolve) => {
      this.cancelWait = this.context.clock.after(this.config.wait_for_metadata_timeout, resolve);
      void catalog.start().then(() => {
        this.cancelWait();
        resolve();
      });
    });
  }

  stop(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.cancelWait();
    this.catalog?.stop();
    this.catalog = undefined;
  }

  /** Makes batches wait for the first list of pods, at most until the timeout. */
  async whenKnown(catalog: PodCatalog): Promise<void> {
    await this.listed;
    if (this.config.wait_for_metadata && !catalog.isKnown)
      throw new Refusal("transient", "the pods of the cluster are still unknown: the Kubernetes API cannot be read");
  }
}

const catalogs = new WeakMap<K8sAttributesConfig, SharedCatalog>();

function catalogOf(
  config: K8sAttributesConfig,
  context: ComponentContext,
  associations: readonly PodAssociation[],
): SharedCatalog {
  let shared = catalogs.get(config);
  if (shared === undefined) {
    shared = new SharedCatalog(config, context, associations);
    catalogs.set(config, shared);
  }
  return shared;
}

function stampBatch(batch: Batch, address: string, catalog: PodCatalog | undefined, finder: PodFinder): Batch {
  const addressStamp = address !== "" && finder.asksForAddress ? addressStampOf(address) : undefined;
  return stampResources(batch, (bytes, start, end) => {
    if (catalog === undefined) return addressStamp;
    const found = finder.find(catalog, address, bytes, start, end);
    if (found === undefined) return addressStamp;
    const container = catalog.attributes.needsContainers ? containerOf(found, bytes, start, end) : undefined;
    return found.stamp(container, container && restartsIn(bytes, start, end));
  });
}

/** Stamps by client address. Only a limited number is kept, because there may be any number of clients. */
const addressStamps = new Map<string, ResourceStamp>();
const MAX_ADDRESS_STAMPS = 10_000;

function addressStampOf(address: string): ResourceStamp {
  let stamp = addressStamps.get(address);
  if (stamp === undefined) {
    if (addressStamps.size >= MAX_ADDRESS_STAMPS) addressStamps.clear();
    stamp = new ResourceStamp(new Map([["k8s.pod.ip", address]]), "where_empty");
    addressStamps.set(address, stamp);
  }
  return stamp;
}

/** Finds the pod of a resource: by the first association whose values the resource has and a pod is known for. */
class PodFinder {
  readonly asksForAddress: boolean;
  private readonly associations: readonly (readonly (Uint8Array | undefined)[])[];

  constructor(associations: readonly PodAssociation[]) {
    this.associations = associations.map(({ sources }) =>
      sources.map(({ from, name }) => (from === "connection" ? undefined : encodedKey(name))),
    );
    this.asksForAddress = this.associations.some((sources) => sources.includes(undefined));
  }

  find(catalog: PodCatalog, address: string, b: Uint8Array, start: number, end: number): CatalogEntry | undefined {
    for (const [i, sources] of this.associations.entries()) {
      const values = sources.map((key) => (key === undefined ? address : attributeText(b, start, end, key)));
      if (values.includes("")) continue;
      const found = catalog.find(i, values);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

const CONTAINER_ID = encodedKey("container.id");
const CONTAINER_NAME = encodedKey("k8s.container.name");
const RESTARTS = encodedKey("k8s.container.restart_count");

/** Returns the container that the resource names, or the pod's only container. */
function containerOf(entry: CatalogEntry, b: Uint8Array, start: number, end: number): PodContainer | undefined {
  const { containers } = entry.pod;
  const id = attributeText(b, start, end, CONTAINER_ID);
  if (id !== "") return containers.find(({ ids }) => [...ids.values()].includes(id));
  const name = attributeText(b, start, end, CONTAINER_NAME);
  if (name !== "") return containers.find((container) => container.name === name);
  return containers.length === 1 ? containers[0] : undefined;
}

function restartsIn(b: Uint8Array, start: number, end: number): number | undefined {
  const text = attributeText(b, start, end, RESTARTS);
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

function attributeText(b: Uint8Array, start: number, end: number, key: Uint8Array): string {
  const at = findAttribute(b, start, end, RESOURCE_ATTRIBUTES_TAG, key);
  const value = at < 0 ? undefined : attributeValue(b, at);
  return typeof value === "string" || typeof value === "number" ? plainIp(String(value)) : "";
}

/** Unwraps an IPv4 address that is written in IPv6 form. */
function plainIp(text: string): string {
  return text.startsWith("::ffff:") && isIP(text) === 6 ? text.slice(7) : text;
}
