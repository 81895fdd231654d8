import { quantityOf } from "#net/kubernetes";
import { fieldsOf, listOf, type ObjectFields, textOf } from "#text/json";
import { AMOUNTS } from "./metrics.js";

/** Limits and requests of a spec in CPUs and bytes; 0 if the spec has none. */
export type Amounts = Readonly<Record<(typeof AMOUNTS)[number], number>>;

/** Facts about a pod from its spec and status. */
export interface CatalogedPod {
  /** Container ids by container name, without the prefix of the runtime. */
  readonly containerIds: ReadonlyMap<string, string>;
  readonly containerAmounts: ReadonlyMap<string, Amounts>;
  /** The sums over its containers; 0 if one of them has no value. */
  readonly amounts: Amounts;
  readonly volumes: ReadonlyMap<string, ObjectFields>;
}

/** Indexes a kubelet's /pods response by pod uid. */
export function catalogOf(pods: unknown): ReadonlyMap<string, CatalogedPod> {
  return new Map(listOf(pods, "items").map((pod) => [textOf(pod, "metadata", "uid"), catalogedPod(pod)]));
}

function catalogedPod(pod: unknown): CatalogedPod {
  const statuses = [...listOf(pod, "status", "initContainerStatuses"), ...listOf(pod, "status", "containerStatuses")];
  const containers = listOf(pod, "spec", "containers");
  const containerAmounts = new Map(containers.map((each) => [textOf(each, "name"), amountsOf(each)]));
  return {
    containerIds: new Map(statuses.map((status) => [textOf(status, "name"), containerId(status)])),
    containerAmounts,
    amounts: sumOf([...containerAmounts.values()]),
    volumes: new Map(listOf(pod, "spec", "volumes").map((volume) => [textOf(volume, "name"), fieldsOf(volume)])),
  };
}

/** Returns `abc` for `containerd://abc`. */
function containerId(status: unknown): string {
  return textOf(status, "containerID")
    .trim()
    .replace(/^[\w-]+:\/\//, "");
}

function amountsOf(container: unknown): Amounts {
  const limits = fieldsOf(container, "resources", "limits");
  const requests = fieldsOf(container, "resources", "requests");
  return {
    cpu_limit: quantityOf(limits["cpu"]),
    cpu_request: quantityOf(requests["cpu"]),
    memory_limit: quantityOf(limits["memory"]),
    memory_request: quantityOf(requests["memory"]),
  };
}

function sumOf(all: readonly Amounts[]): Amounts {
  const sum = (name: keyof Amounts) =>
    all.every((each) => each[name] > 0) ? all.reduce((total, each) => total + each[name], 0) : 0;
  return Object.fromEntries(AMOUNTS.map((name) => [name, sum(name)])) as Amounts;
}
