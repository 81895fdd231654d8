import type { KubernetesObject } from "#net/kubernetes";
import { digitsOf, fieldsOf, listOf, textOf } from "#text/json";
import type { Labels } from "../../relabel.js";
import { conditionOf, hostPort, type MetaLabels, metadataLabels, metaLabels, targetAt } from "./labels.js";

/** Labels that a node adds to the targets on it; empty unless configured. */
export type NodeLabels = (nodeName: string) => MetaLabels;

/** One target for each port of each container; a container without ports is one target without a port. */
export function podTargets(pod: KubernetesObject, nodeLabels: NodeLabels): Labels[] {
  const ip = textOf(pod, "status", "podIP");
  // A pod without an address is not running yet.
  if (ip === "") return [];
  const own = { ...podLabels(pod), ...nodeLabels(textOf(pod, "spec", "nodeName")) };
  return containersOf(pod).flatMap((container) => {
    const ports = listOf(container.fields, "ports");
    if (ports.length === 0) return [targetAt(hostPort(ip, ""), own, container.labels)];
    return ports.map((port) =>
      targetAt(hostPort(ip, digitsOf(port, "containerPort")), own, container.labels, portLabels(port)),
    );
  });
}

export function podLabels(pod: KubernetesObject): MetaLabels {
  const controller = listOf(pod, "metadata", "ownerReferences").find((each) => fieldsOf(each)["controller"] === true);
  return {
    ...metadataLabels(pod, "pod"),
    ...metaLabels({
      pod_ip: textOf(pod, "status", "podIP"),
      pod_ready: conditionOf(listOf(pod, "status", "conditions"), "Ready"),
      pod_phase: textOf(pod, "status", "phase"),
      pod_node_name: textOf(pod, "spec", "nodeName"),
      pod_host_ip: textOf(pod, "status", "hostIP"),
      pod_uid: textOf(pod, "metadata", "uid"),
      pod_controller_kind: textOf(controller, "kind"),
      pod_controller_name: textOf(controller, "name"),
    }),
  };
}

/** A container and its labels. */
interface TargetContainer {
  readonly fields: unknown;
  readonly labels: MetaLabels;
}

export function containersOf(pod: KubernetesObject): TargetContainer[] {
  const ids = new Map(
    ["containerStatuses", "initContainerStatuses"].flatMap((kind) =>
      listOf(pod, "status", kind).map((each) => [textOf(each, "name"), textOf(each, "containerID")] as const),
    ),
  );
  return ["containers", "initContainers"].flatMap((kind) =>
    listOf(pod, "spec", kind).map((fields) => ({
      fields,
      labels: metaLabels({
        pod_container_name: textOf(fields, "name"),
        pod_container_image: textOf(fields, "image"),
        pod_container_id: ids.get(textOf(fields, "name")) ?? "",
        pod_container_init: String(kind === "initContainers"),
      }),
    })),
  );
}

export function portLabels(port: unknown): MetaLabels {
  return metaLabels({
    pod_container_port_name: textOf(port, "name"),
    pod_container_port_number: digitsOf(port, "containerPort"),
    pod_container_port_protocol: textOf(port, "protocol"),
  });
}
