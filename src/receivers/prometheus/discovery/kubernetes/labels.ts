import type { KubernetesObject } from "#net/kubernetes";
import { type ObjectFields, textOf, textsOf } from "#text/json";
import type { Labels } from "../../relabel.js";

/** Labels of a target under construction. */
export type MetaLabels = Record<string, string>;

const PREFIX = "__meta_kubernetes_";

/** Replaces characters that a label name cannot have. */
function labelName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_]/g, "_");
}

/** Labels from an object's metadata, with the object's kind as a prefix. */
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

/** The non-empty values, with the common prefix in their names. */
export function metaLabels(values: Readonly<Record<string, string>>): MetaLabels {
  const labels: MetaLabels = {};
  for (const [name, value] of Object.entries(values)) if (value !== "") labels[`${PREFIX}${labelName(name)}`] = value;
  return labels;
}

export function targetAt(address: string, ...all: readonly MetaLabels[]): Labels {
  return new Map(Object.entries({ ...Object.assign({}, ...all), __address__: address } as MetaLabels));
}

/** An IPv6 address needs brackets before a port. */
export function hostPort(host: string, port: string): string {
  return `${host.includes(":") ? `[${host}]` : host}${port === "" ? "" : `:${port}`}`;
}

/** The status of a condition, such as a pod's readiness. */
export function conditionOf(conditions: readonly unknown[], type: string): string {
  const found = conditions.find((each) => textOf(each, "type") === type) as ObjectFields | undefined;
  return textOf(found, "status").toLowerCase() || "unknown";
}
