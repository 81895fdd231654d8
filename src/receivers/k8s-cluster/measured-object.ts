import { type KubernetesObject, quantityOf } from "#net/kubernetes";
import type { PointResource, ScrapedMetric } from "#receiving";
import { numberOf, type ObjectFields, textOf } from "#text/json";
import type { ClusterAttribute } from "./config.js";
import type { ClusterMetric } from "./metrics.js";

/** A value of a metric. A metric whose name depends on the config brings its description along. */
export interface MeasuredValue {
  readonly name: string;
  readonly value: number | undefined;
  readonly attributes?: Readonly<Record<string, string>>;
  readonly metric?: ScrapedMetric;
}

/** Attributes of a resource. */
export type ClusterAttributes = Partial<Record<ClusterAttribute, PointResource[string]>>;

/** Values of one resource. */
export interface MeasuredResource {
  readonly attributes: ClusterAttributes;
  readonly values: readonly MeasuredValue[];
}

/** The values of an API object. They do not depend on the time, so the object itself is not kept. */
export interface MeasuredObject extends KubernetesObject {
  readonly resources: readonly MeasuredResource[];
}

/** Config keys that decide about the metrics of nodes. */
export interface NodeMetrics {
  readonly node_conditions_to_report: readonly string[];
  readonly allocatable_types_to_report: readonly string[];
}

/** A kind of objects and how it is measured. */
export interface MeasuredKind {
  /** The path of its list: group and version, and the name. */
  readonly path: readonly [group: string, resource: string];
  /** False for objects that belong to the whole cluster. */
  readonly isNamespaced: boolean;
  /** The beginnings of its metrics' names. */
  readonly prefixes: readonly string[];
  readonly measure: (object: unknown, config: NodeMetrics) => readonly MeasuredResource[];
}

/** A value of a metric of the table. */
export const value = (
  name: ClusterMetric,
  number: number | undefined,
  attributes?: Record<string, string>,
): MeasuredValue => ({
  name,
  value: number,
  ...(attributes && { attributes }),
});

/** Numbers that the API leaves out are 0. */
export function numberAt(object: unknown, ...path: readonly string[]): number {
  return numberOf(object, ...path) ?? 0;
}

/** Uid, name and namespace of an object, as attributes with this prefix. */
export function identityOf(object: unknown, prefix: string): ClusterAttributes {
  const namespace = textOf(object, "metadata", "namespace");
  return {
    [`${prefix}.uid`]: textOf(object, "metadata", "uid"),
    [`${prefix}.name`]: textOf(object, "metadata", "name"),
    ...(namespace !== "" && { "k8s.namespace.name": namespace }),
  };
}

/** A kind whose objects are one resource each. */
export function plainKind(
  [group, resource]: readonly [string, string],
  prefix: string,
  measure: (object: unknown, config: NodeMetrics) => readonly MeasuredValue[],
  more: Partial<MeasuredKind> & { readonly attributes?: (object: unknown) => ClusterAttributes } = {},
): MeasuredKind {
  const { attributes, ...rest } = more;
  return {
    path: [group, resource],
    isNamespaced: true,
    prefixes: [`${prefix}.`],
    measure: (object, config) => [
      { attributes: { ...identityOf(object, prefix), ...attributes?.(object) }, values: measure(object, config) },
    ],
    ...rest,
  };
}

/** 1 for the one of several states that an object is in, 0 for the others. */
export function statesOf(
  name: ClusterMetric,
  attribute: string,
  states: readonly string[],
  current: string,
): MeasuredValue[] {
  return states.map((state) => value(name, state === current ? 1 : 0, { [attribute]: state }));
}

/** Quantities by resource; those of CPUs as millicores. */
export function quotaValues(name: ClusterMetric, quantities: ObjectFields, more: Record<string, string> = {}) {
  return Object.entries(quantities).map(([resource, quantity]) => {
    const amount = quantityOf(quantity);
    return value(name, Math.ceil(resource.endsWith(".cpu") ? amount * 1000 : amount), { ...more, resource });
  });
}

/** Bytes of a quantity, if there is one. */
export const bytesOf = (quantity: unknown) => (quantity === undefined ? undefined : Math.ceil(quantityOf(quantity)));
