import { type KubernetesObject, type ObjectFields, textOf, textsOf } from "#net/kubernetes";
import type { Labels } from "../../relabel.js";

/** Labels of targets while they are put together. */
export type MetaLabels = Record<string, string>;

const PREFIX = "__meta_kubernetes_";

/** The names of labels have no other characters. */
function labelName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, "_");
}

/** What the metadata of an object say, under the name of what it is. */
export function metadataLabels(object: KubernetesObject, kind: string): MetaLabels {
  const labels: MetaLabels = { [`${PREFIX}${kind}_name`]: object.metadata.name };
  const namespace = textOf(object, "metadata", "namespace");
  if (namespace !== "") labels[`${PREFIX}namespace`] = namespace;
  for (const [source, word] of [
    ["labels", "label"],
    ["annotations", "annotation"],
  ] as const) {
    for (const [name, value] of Object.entries(textsOf(object, "metadata", source))) {
      labels[`${PREFIX}${kind}_${word}_${labelName(name)}`] = value;
      labels[`${PREFIX}${kind}_${word}present_${labelName(name)}`] = "true";
    }
  }
  return labels;
}

/** Those that are not empty, each with the prefix of all. */
export function metaLabels(values: Readonly<Record<string, string>>): MetaLabels {
  const labels: MetaLabels = {};
  for (const [name, value] of Object.entries(values)) if (value !== "") labels[`${PREFIX}${labelName(name)}`] = value;
  return labels;
}

export function targetAt(address: string, ...all: readonly MetaLabels[]): Labels {
  return new Map(Object.entries({ ...Object.assign({}, ...all), __address__: address } as MetaLabels));
}

/** An address of IPv6 has brackets in front of a port. */
export function hostPort(host: string, port: string): string {
  return `${host.includes(":") ? `[${host}]` : host}${port === "" ? "" : `:${port}`}`;
}

/** The state of a condition, such as that a pod is ready. */
export function conditionOf(conditions: readonly unknown[], type: string): string {
  const found = conditions.find((each) => textOf(each, "type") === type) as ObjectFields | undefined;
  return textOf(found, "status").toLowerCase() || "unknown";
}
