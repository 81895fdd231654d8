import { quantityOf } from "#net/kubernetes";
import { gauge } from "#receiving";
import { fieldsOf, listOf, textOf } from "#text/json";
import { type ClusterAttributes, type MeasuredValue, type NodeMetrics, value } from "./measured-object.js";

const NODE_STATUS: Readonly<Record<string, number>> = { True: 1, False: 0, Unknown: -1 };

/** Conditions of a node, and resources that pods may use. */
export function nodeValues(node: unknown, config: NodeMetrics): MeasuredValue[] {
  const conditions = listOf(node, "status", "conditions");
  const statusOf = (condition: unknown) => NODE_STATUS[textOf(condition, "status")] ?? 0;
  const conditionValue = (type: string) => {
    const found = conditions.find((each) => textOf(each, "type") === type);
    return found === undefined ? -1 : statusOf(found);
  };
  const allocatable = fieldsOf(node, "status", "allocatable");
  return [
    ...conditions.map((each) => value("k8s.node.condition", statusOf(each), { condition: textOf(each, "type") })),
    ...config.node_conditions_to_report.map((type) => ({
      name: `k8s.node.condition_${snakeCase(type)}`,
      value: conditionValue(type),
      metric: gauge("", `${type} condition status of the node (true=1, false=0, unknown=-1)`, true),
    })),
    ...config.allocatable_types_to_report
      .filter((type) => Object.hasOwn(allocatable, type))
      .map((type) => ({
        name: `k8s.node.allocatable_${snakeCase(type)}`,
        value: type === "cpu" ? quantityOf(allocatable[type]) : Math.ceil(quantityOf(allocatable[type])),
        metric: gauge(
          ALLOCATABLE_UNITS[type] ?? `{${type}}`,
          `Amount of ${type} allocatable on the node`,
          type !== "cpu",
        ),
      })),
  ];
}

const ALLOCATABLE_UNITS: Readonly<Record<string, string>> = {
  cpu: "{cpu}",
  memory: "By",
  "ephemeral-storage": "By",
  storage: "By",
  pods: "{pod}",
};

export function nodeAttributes(node: unknown): ClusterAttributes {
  const info = fieldsOf(node, "status", "nodeInfo");
  const [runtime, version, ...more] = textOf(info, "containerRuntimeVersion").split("://");
  return {
    "k8s.kubelet.version": textOf(info, "kubeletVersion"),
    "os.type": textOf(info, "operatingSystem"),
    "os.description": textOf(info, "osImage"),
    ...(runtime && version && more.length === 0
      ? { "container.runtime": runtime, "container.runtime.version": version }
      : {}),
  };
}

/** `DiskPressure` as `disk_pressure` and `hugepages-1Gi` as `hugepages_1_gi`, in the Collector's way. */
function snakeCase(name: string): string {
  return name
    .replace(/([A-Z])(?=[A-Z][a-z])/g, "$1_")
    .replace(/([a-z])(?=[A-Z\d])|(\d)(?=[A-Za-z])|([A-Z])(?=\d)/g, "$&_")
    .replace(/[ .-]/g, "_")
    .toLowerCase();
}
