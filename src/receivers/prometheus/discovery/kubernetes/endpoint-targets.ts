import type { KubernetesObject } from "#net/kubernetes";
import { digitsOf, fieldsOf, listOf, textOf } from "#text/json";
import type { Labels } from "../../relabel.js";
import { hostPort, type MetaLabels, metadataLabels, metaLabels, targetAt } from "./labels.js";
import { containersOf, type NodeLabels, podLabels, portLabels } from "./pod-targets.js";

/** Objects whose labels are added to endpoints. */
interface RelatedObjects {
  pod(namespace: string, name: string): KubernetesObject | undefined;
  service(namespace: string, name: string): KubernetesObject | undefined;
  readonly nodeLabels: NodeLabels;
}

/** One address with one port, from either kind of list. */
interface EndpointPort {
  readonly address: string;
  readonly port: string;
  readonly labels: MetaLabels;
  readonly target: unknown;
  readonly nodeName: string;
}

/** The targets of an Endpoints object. */
export function endpointsTargets(endpoints: KubernetesObject, related: RelatedObjects): Labels[] {
  const all = listOf(endpoints, "subsets").flatMap((subset) =>
    [
      ["addresses", "true"],
      ["notReadyAddresses", "false"],
    ].flatMap(([list, ready]) =>
      listOf(subset, list!).flatMap((address) =>
        listOf(subset, "ports").map((port): EndpointPort => {
          const target = fieldsOf(address, "targetRef");
          const nodeName = textOf(address, "nodeName");
          return {
            address: textOf(address, "ip"),
            port: digitsOf(port, "port"),
            target,
            nodeName,
            labels: metaLabels({
              endpoint_ready: ready!,
              endpoint_port_name: textOf(port, "name"),
              endpoint_port_protocol: textOf(port, "protocol"),
              endpoint_hostname: textOf(address, "hostname"),
              endpoint_node_name: nodeName,
              endpoint_address_target_kind: textOf(target, "kind"),
              endpoint_address_target_name: textOf(target, "name"),
            }),
          };
        }),
      ),
    ),
  );
  return targetsOfAll(endpoints, "endpoints", endpoints.metadata.name, all, related);
}

/** The targets of an EndpointSlice. */
export function endpointSliceTargets(slice: KubernetesObject, related: RelatedObjects): Labels[] {
  const all = listOf(slice, "endpoints").flatMap((endpoint) =>
    listOf(endpoint, "addresses").flatMap((address) =>
      listOf(slice, "ports").map((port): EndpointPort => {
        const target = fieldsOf(endpoint, "targetRef");
        const nodeName = textOf(endpoint, "nodeName");
        const conditions = fieldsOf(endpoint, "conditions");
        const conditionText = (name: string) => (typeof conditions[name] === "boolean" ? String(conditions[name]) : "");
        return {
          address: textOf(address),
          port: digitsOf(port, "port"),
          target,
          nodeName,
          labels: metaLabels({
            endpointslice_address_type: textOf(slice, "addressType"),
            endpointslice_port: digitsOf(port, "port"),
            endpointslice_port_name: textOf(port, "name"),
            endpointslice_port_protocol: textOf(port, "protocol"),
            endpointslice_port_app_protocol: textOf(port, "appProtocol"),
            endpointslice_endpoint_conditions_ready: conditionText("ready"),
            endpointslice_endpoint_conditions_serving: conditionText("serving"),
            endpointslice_endpoint_conditions_terminating: conditionText("terminating"),
            endpointslice_endpoint_hostname: textOf(endpoint, "hostname"),
            endpointslice_endpoint_node_name: nodeName,
            endpointslice_endpoint_zone: textOf(endpoint, "zone"),
            endpointslice_address_target_kind: textOf(target, "kind"),
            endpointslice_address_target_name: textOf(target, "name"),
          }),
        };
      }),
    ),
  );
  const service = textOf(slice, "metadata", "labels", "kubernetes.io/service-name");
  return targetsOfAll(slice, "endpointslice", service, all, related);
}

/** The targets of the list and, as in Prometheus, of the other ports of the pods behind it. */
function targetsOfAll(
  object: KubernetesObject,
  kind: string,
  serviceName: string,
  all: readonly EndpointPort[],
  related: RelatedObjects,
): Labels[] {
  const namespace = textOf(object, "metadata", "namespace");
  const service = serviceName === "" ? undefined : related.service(namespace, serviceName);
  const shared = { ...metadataLabels(object, kind), ...(service && metadataLabels(service, "service")) };
  const seen = new Map<KubernetesObject, Set<string>>();
  const targets: Labels[] = [];
  for (const { address, port, labels, target, nodeName } of all) {
    if (address === "") continue;
    const pod = textOf(target, "kind") === "Pod" ? related.pod(namespace, textOf(target, "name")) : undefined;
    const node = related.nodeLabels(nodeName || textOf(pod, "spec", "nodeName"));
    const at = hostPort(address, port);
    if (pod === undefined) {
      targets.push(targetAt(at, shared, labels, node));
      continue;
    }
    const ports = seen.get(pod) ?? new Set();
    seen.set(pod, ports.add(port));
    targets.push(targetAt(at, shared, labels, node, podLabels(pod), labelsOfPort(pod, port)));
  }
  for (const [pod, ports] of seen) {
    const node = related.nodeLabels(textOf(pod, "spec", "nodeName"));
    for (const container of containersOf(pod)) {
      for (const each of listOf(container.fields, "ports")) {
        const number = digitsOf(each, "containerPort");
        const ip = textOf(pod, "status", "podIP");
        if (ports.has(number) || ip === "") continue;
        ports.add(number);
        const own = [podLabels(pod), container.labels, portLabels(each)];
        targets.push(targetAt(hostPort(ip, number), shared, node, ...own));
      }
    }
  }
  return targets;
}

/** The labels of the container that has the port. */
function labelsOfPort(pod: KubernetesObject, port: string): MetaLabels {
  for (const container of containersOf(pod)) {
    const found = listOf(container.fields, "ports").find((each) => digitsOf(each, "containerPort") === port);
    if (found !== undefined) return { ...container.labels, ...portLabels(found) };
  }
  return {};
}
