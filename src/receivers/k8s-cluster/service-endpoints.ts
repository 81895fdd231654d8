import type { KubernetesObject } from "#net/kubernetes";
import { fieldsOf, listOf, textOf } from "#text/json";
import { type MeasuredValue, value } from "./measured-object.js";

/** The counted endpoints of a slice. */
export interface CountedSlice extends KubernetesObject {
  /** Namespace and name of the service; empty if it belongs to none. */
  readonly service: string;
  readonly addressType: string;
  readonly endpoints: readonly {
    readonly zone: string;
    readonly conditions: Readonly<Record<EndpointCondition, boolean>>;
  }[];
}

type EndpointCondition = (typeof CONDITIONS)[number];

const CONDITIONS = ["ready", "serving", "terminating"] as const;
const ADDRESS_TYPES: ReadonlySet<string> = new Set(["IPv4", "IPv6", "FQDN"]);

export function countedSlice(object: KubernetesObject): CountedSlice {
  const { metadata } = object;
  const { namespace = "" } = metadata;
  const name = textOf(object, "metadata", "labels", "kubernetes.io/service-name");
  return {
    metadata: { name: metadata.name, ...(namespace !== "" && { namespace }) },
    service: name === "" ? "" : `${namespace}/${name}`,
    addressType: textOf(object, "addressType"),
    endpoints: listOf(object, "endpoints").map((endpoint) => {
      const { ready, serving, terminating } = fieldsOf(endpoint, "conditions");
      const isReady = ready !== false;
      // An endpoint that does not say whether it serves does if it is ready.
      const conditions = { ready: isReady, serving: typeof serving === "boolean" ? serving : isReady };
      return { zone: textOf(endpoint, "zone"), conditions: { ...conditions, terminating: terminating === true } };
    }),
  };
}

/** The number of endpoints of each service, by address type, zone and condition. */
export function endpointCounts(slices: readonly CountedSlice[]): ReadonlyMap<string, readonly MeasuredValue[]> {
  const services = new Map<string, Map<string, Record<EndpointCondition, number>>>();
  for (const { service, addressType, endpoints } of slices) {
    if (service === "" || !ADDRESS_TYPES.has(addressType)) continue;
    let counts = services.get(service);
    if (counts === undefined) services.set(service, (counts = new Map()));
    for (const { zone, conditions } of endpoints) {
      const key = `${addressType} ${zone}`;
      const count = counts.get(key) ?? { ready: 0, serving: 0, terminating: 0 };
      for (const condition of CONDITIONS) if (conditions[condition]) count[condition] += 1;
      counts.set(key, count);
    }
  }
  return new Map([...services].map(([service, counts]) => [service, [...counts].flatMap(valuesOf)]));
}

function valuesOf([key, counts]: [string, Record<EndpointCondition, number>]): MeasuredValue[] {
  const space = key.indexOf(" ");
  return CONDITIONS.map((condition) =>
    value("k8s.service.endpoint.count", counts[condition], {
      "k8s.service.endpoint.address_type": key.slice(0, space),
      "k8s.service.endpoint.condition": condition,
      "k8s.service.endpoint.zone": key.slice(space + 1),
    }),
  );
}
