import { quantityOf } from "#net/kubernetes";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import {
  bytesOf,
  type ClusterAttributes,
  identityOf,
  type MeasuredResource,
  type MeasuredValue,
  numberAt,
  statesOf,
  value,
} from "./measured-object.js";

const POD_PHASES = ["Pending", "Running", "Succeeded", "Failed"];
const POD_REASONS = ["Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError"];
const CONTAINER_STATES = ["running", "waiting", "terminated"];
const CONTAINER_REASONS =
  `ContainerCreating CrashLoopBackOff CreateContainerConfigError ErrImagePull ImagePullBackOff OOMKilled Completed
  Error ContainerCannotRun`.split(/\s+/);

/** The number of a name in a list, from 1; names that are not in it have the number behind the last. */
function numberIn(list: readonly string[], name: string): number {
  const index = list.indexOf(name);
  return (index < 0 ? list.length : index) + 1;
}

/** A pod and its containers. */
export function podResources(pod: unknown): MeasuredResource[] {
  const shared: ClusterAttributes = {
    ...identityOf(pod, "k8s.pod"),
    "k8s.node.name": textOf(pod, "spec", "nodeName"),
  };
  const statuses = listOf(pod, "status", "containerStatuses");
  return [
    {
      attributes: { ...shared, "k8s.pod.qos_class": textOf(pod, "status", "qosClass") },
      values: [
        value("k8s.pod.phase", numberIn(POD_PHASES, textOf(pod, "status", "phase"))),
        value("k8s.pod.status_reason", numberIn(POD_REASONS, textOf(pod, "status", "reason"))),
      ],
    },
    ...listOf(pod, "spec", "containers").map((container) => {
      const name = textOf(container, "name");
      return containerResource(
        container,
        statuses.find((status) => textOf(status, "name") === name),
        shared,
      );
    }),
  ];
}

function containerResource(container: unknown, status: unknown, pod: ClusterAttributes): MeasuredResource {
  const image = imageOf(textOf(status, "image"));
  return {
    attributes: {
      ...pod,
      "container.id": textOf(status, "containerID").replace(/^[\w-]+:\/\//, ""),
      "container.image.name": image.name,
      "container.image.tag": image.tag,
      "k8s.container.name": textOf(container, "name"),
      "k8s.container.status.last_terminated_reason": textOf(status, "lastState", "terminated", "reason"),
    },
    values: [
      ...amountValues("request", fieldsOf(container, "resources", "requests")),
      ...amountValues("limit", fieldsOf(container, "resources", "limits")),
      ...(status === undefined ? [] : statusValues(status)),
    ],
  };
}

function amountValues(kind: "request" | "limit", amounts: ObjectFields): MeasuredValue[] {
  const cpu = amounts["cpu"];
  return [
    value(`k8s.container.cpu_${kind}`, cpu === undefined ? undefined : quantityOf(cpu)),
    value(`k8s.container.memory_${kind}`, bytesOf(amounts["memory"])),
    value(`k8s.container.storage_${kind}`, bytesOf(amounts["storage"])),
    value(`k8s.container.ephemeralstorage_${kind}`, bytesOf(amounts["ephemeral-storage"])),
  ];
}

function statusValues(status: unknown): MeasuredValue[] {
  const states = fieldsOf(status, "state");
  const current = ["running", "terminated", "waiting"].find((state) => isObject(states[state])) ?? "";
  const reason = textOf(states, current, "reason");
  return [
    value("k8s.container.restarts", numberAt(status, "restartCount")),
    value("k8s.container.ready", fieldsOf(status)["ready"] === true ? 1 : 0),
    ...(current === ""
      ? []
      : statesOf("k8s.container.status.state", "k8s.container.status.state", CONTAINER_STATES, current)),
    ...statesOf("k8s.container.status.reason", "k8s.container.status.reason", CONTAINER_REASONS, reason),
  ];
}

function isObject(found: unknown): boolean {
  return typeof found === "object" && found !== null;
}

/** Name and tag of an image such as `registry:5000/team/cart:1.2@sha256:...`. */
function imageOf(image: string): { readonly name: string; readonly tag: string } {
  if (image === "") return { name: "", tag: "" };
  const [plain = ""] = image.split("@");
  const colon = plain.lastIndexOf(":");
  if (colon <= plain.lastIndexOf("/")) return { name: plain, tag: "latest" };
  return { name: plain.slice(0, colon), tag: plain.slice(colon + 1) };
}
