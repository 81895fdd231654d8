import type { KubernetesObject } from "#net/kubernetes";
import { digitsOf, listOf, textOf } from "#text/json";
import type { Labels } from "../../relabel.js";
import { hostPort, type MetaLabels, metadataLabels, metaLabels, targetAt } from "./labels.js";

/** Types of node addresses, best first. */
const ADDRESS_TYPES = ["InternalIP", "ExternalIP", "LegacyHostIP", "Hostname"];

/** A node, at the port of its kubelet. */
export function nodeTargets(node: KubernetesObject): Labels[] {
  const addresses = listOf(node, "status", "addresses");
  const first = (type: string) =>
    textOf(
      addresses.find((each) => textOf(each, "type") === type),
      "address",
    );
  const host = ADDRESS_TYPES.map(first).find((address) => address !== "");
  if (host === undefined) return [];
  const port = digitsOf(node, "status", "daemonEndpoints", "kubeletEndpoint", "Port") || "10250";
  return [targetAt(hostPort(host, port), { instance: node.metadata.name }, nodeMetaLabels(node))];
}

export function nodeMetaLabels(node: KubernetesObject): MetaLabels {
  const addresses: Record<string, string> = {};
  for (const each of listOf(node, "status", "addresses"))
    addresses[`node_address_${textOf(each, "type")}`] ??= textOf(each, "address");
  return {
    ...metadataLabels(node, "node"),
    ...metaLabels({ node_provider_id: textOf(node, "spec", "providerID"), ...addresses }),
  };
}

/** One target for each port of a service, by its name in the cluster. */
export function serviceTargets(service: KubernetesObject): Labels[] {
  const type = textOf(service, "spec", "type");
  const isExternal = type === "ExternalName";
  const own = {
    ...metadataLabels(service, "service"),
    ...metaLabels({
      service_type: type,
      service_cluster_ip: isExternal ? "" : textOf(service, "spec", "clusterIP"),
      service_external_name: isExternal ? textOf(service, "spec", "externalName") : "",
      service_loadbalancer_ip: type === "LoadBalancer" ? textOf(service, "spec", "loadBalancerIP") : "",
    }),
  };
  const host = `${service.metadata.name}.${textOf(service, "metadata", "namespace")}.svc`;
  return listOf(service, "spec", "ports").map((port) =>
    targetAt(
      hostPort(host, digitsOf(port, "port")),
      own,
      metaLabels({
        service_port_name: textOf(port, "name"),
        service_port_number: digitsOf(port, "port"),
        service_port_protocol: textOf(port, "protocol"),
      }),
    ),
  );
}

/** One target for each path of each host. */
export function ingressTargets(ingress: KubernetesObject): Labels[] {
  const own = {
    ...metadataLabels(ingress, "ingress"),
    ...metaLabels({ ingress_class_name: textOf(ingress, "spec", "ingressClassName") }),
  };
  const secured = listOf(ingress, "spec", "tls").flatMap((tls) => listOf(tls, "hosts").map((host) => textOf(host)));
  return listOf(ingress, "spec", "rules").flatMap((rule) => {
    const host = textOf(rule, "host") || "*";
    const scheme = secured.some((pattern) => isHostOf(host, pattern)) ? "https" : "http";
    const paths = listOf(rule, "http", "paths").map((path) => textOf(path, "path") || "/");
    return (paths.length === 0 ? ["/"] : paths).map((path) =>
      targetAt(
        host,
        { __scheme__: scheme },
        own,
        metaLabels({ ingress_host: host, ingress_scheme: scheme, ingress_path: path }),
      ),
    );
  });
}

/** A star stands for the first part of a name. */
function isHostOf(host: string, pattern: string): boolean {
  if (host === pattern) return true;
  return pattern.startsWith("*.") && host.slice(host.indexOf(".")) === pattern.slice(1) && host.includes(".");
}
