import type { ObservedEndpoint } from "#contract/services";
import type { KubernetesObject } from "#net/kubernetes";
import { TextMap } from "#text/expressions";
import { fieldsOf, listOf, textOf, textsOf } from "#text/json";

/** The endpoints of an object of the Kubernetes API. `observer` begins their ids. */
export type ReadEndpoints = (object: KubernetesObject, observer: string) => ObservedEndpoint[];

/** Returns the pod, its running containers and their ports; nothing for a pod that does not run. */
export const podEndpoints: ReadEndpoints = (pod, observer) => {
  if (textOf(pod, "status", "phase") !== "Running") return [];
  const id = `${observer}/${pod.metadata.uid ?? ""}`;
  const target = textOf(pod, "status", "podIP");
  const running = runningContainers(pod);
  const details = metadataOf(pod);
  const endpoints: ObservedEndpoint[] = [{ id, type: "pod", target, variables: details }];
  for (const container of listOf(pod, "spec", "containers")) {
    const name = textOf(container, "name");
    const containerId = running.get(name);
    if (containerId === undefined) continue;
    const image = textOf(container, "image");
    const variables = { container_name: name, container_id: containerId, container_image: image, pod: details };
    endpoints.push({ id: `${id}/${name}`, type: "pod.container", target, variables });
    for (const entry of listOf(container, "ports")) {
      const { containerPort: port } = fieldsOf(entry);
      if (typeof port !== "number" || !Number.isInteger(port)) continue;
      const portName = textOf(entry, "name");
      const transport = textOf(entry, "protocol") || "TCP";
      endpoints.push({
        id: `${id}/${portName}(${port})`,
        type: "port",
        target: `${target}:${port}`,
        variables: { ...variables, name: portName, port: BigInt(port), transport },
      });
    }
  }
  return endpoints;
};

/** The ids of running containers, without the name of their runtime, by container name. */
function runningContainers(pod: KubernetesObject): Map<string, string> {
  const statuses = listOf(pod, "status", "containerStatuses");
  const running = statuses.filter((status) => fieldsOf(status, "state")["running"] != null);
  return new Map(
    running.map((status) => [textOf(status, "name"), textOf(status, "containerID").split("://")[1] ?? ""]),
  );
}

export const serviceEndpoints: ReadEndpoints = (service, observer) => {
  const { name, namespace = "", uid = "" } = service.metadata;
  const variables = {
    ...metadataOf(service),
    cluster_ip: textOf(service, "spec", "clusterIP"),
    service_type: textOf(service, "spec", "type"),
  };
  const target = `${name}.${namespace}.svc.cluster.local`;
  return [{ id: `${observer}/${uid}`, type: "k8s.service", target, variables }];
};

export const nodeEndpoints: ReadEndpoints = (node, observer) => {
  const { name, uid = "" } = node.metadata;
  const addresses = new Map(
    listOf(node, "status", "addresses").map((entry) => [textOf(entry, "type"), textOf(entry, "address")]),
  );
  const addressOf = (type: string) => addresses.get(type) ?? "";
  const target = ["InternalIP", "InternalDNS", "Hostname", "ExternalIP", "ExternalDNS"].map(addressOf).find(Boolean);
  const { Port: port } = fieldsOf(node, "status", "daemonEndpoints", "kubeletEndpoint");
  const { namespace: _, ...metadata } = metadataOf(node);
  const variables = {
    ...metadata,
    hostname: addressOf("Hostname"),
    external_ip: addressOf("ExternalIP"),
    internal_ip: addressOf("InternalIP"),
    external_dns: addressOf("ExternalDNS"),
    internal_dns: addressOf("InternalDNS"),
    kubelet_endpoint_port: typeof port === "number" && Number.isInteger(port) ? BigInt(port) : 0n,
  };
  return [{ id: `${observer}/${name}-${uid}`, type: "k8s.node", target: target ?? "", variables }];
};

/** Returns an endpoint for each path of each rule. */
export const ingressEndpoints: ReadEndpoints = (ingress, observer) => {
  const tlsHosts = listOf(ingress, "spec", "tls").flatMap((tls) => listOf(tls, "hosts"));
  return listOf(ingress, "spec", "rules").flatMap((rule) => {
    const host = textOf(rule, "host");
    const scheme = tlsHosts.some((pattern) => isHostOf(String(pattern), host)) ? "https" : "http";
    return listOf(rule, "http", "paths").map((entry): ObservedEndpoint => {
      const path = textOf(entry, "path");
      const id = `${observer}/${ingress.metadata.uid ?? ""}/${host}${path}`;
      const variables = { ...metadataOf(ingress), uid: id, scheme, host, path };
      return { id, type: "k8s.ingress", target: `${scheme}://${host}${path}`, variables };
    });
  });
};

/** A pattern may begin with `*.`, which stands for one label. */
function isHostOf(pattern: string, host: string): boolean {
  if (pattern === host) return true;
  return pattern.startsWith("*.") && host.includes(".") && host.slice(host.indexOf(".")) === pattern.slice(1);
}

function metadataOf(object: KubernetesObject) {
  const { name, namespace = "", uid = "" } = object.metadata;
  const labels = new TextMap(textsOf(object, "metadata", "labels"));
  const annotations = new TextMap(textsOf(object, "metadata", "annotations"));
  return { uid, name, labels, annotations, namespace };
}
