import { MalformedError } from "../../plugin.js";
import type { LabelList } from "./read-request.js";

/** The labels of a series by what they mean. */
export interface SeriesLabels {
  name: string;
  job: string;
  instance: string;
  scopeName: string;
  scopeVersion: string;
  schemaUrl: string;
  readonly scopeAttributes: string[];
  /** Those of its points: all others. */
  readonly attributes: string[];
}

const SCOPE_PREFIX = "otel_scope_";
/** Up to this many labels are compared one by one, which is faster than a set. */
const FEW_LABELS = 32;

/** Throws a `MalformedError` if the series has no name, or a label twice. */
export function readLabels(list: LabelList): SeriesLabels {
  // Members one by one: those of spread objects are slow to change.
  const labels: SeriesLabels = {
    name: "",
    job: "",
    instance: "",
    scopeName: "",
    scopeVersion: "",
    schemaUrl: "",
    scopeAttributes: [],
    attributes: [],
  };
  for (let i = 0; i < list.length; i += 2) place(labels, list[i]!, list[i + 1]!);
  if (labels.name === "") throw new MalformedError("missing metric name in labels", -1);
  if (hasLabelTwice(list)) throw new MalformedError("a series has a label twice", -1);
  return labels;
}

function place(labels: SeriesLabels, name: string, value: string): void {
  if (name === "__name__") labels.name = value;
  else if (name === "job") labels.job = value;
  else if (name === "instance") labels.instance = value;
  else if (!name.startsWith(SCOPE_PREFIX)) labels.attributes.push(name, value);
  else if (name === "otel_scope_name") labels.scopeName = value;
  else if (name === "otel_scope_version") labels.scopeVersion = value;
  else if (name === "otel_scope_schema_url") labels.schemaUrl = value;
  else labels.scopeAttributes.push(name.slice(SCOPE_PREFIX.length), value);
}

function hasLabelTwice(list: LabelList): boolean {
  if (list.length > 2 * FEW_LABELS) {
    const names = list.filter((_, i) => i % 2 === 0);
    return new Set(names).size < names.length;
  }
  for (let i = 2; i < list.length; i += 2) for (let k = 0; k < i; k += 2) if (list[i] === list[k]) return true;
  return false;
}

/** Tells the series' scope from others. */
export function scopeKeyOf({ scopeName, scopeVersion, schemaUrl, scopeAttributes }: SeriesLabels): string {
  const plain = `${scopeName.length} ${scopeName}${scopeVersion.length} ${scopeVersion}${schemaUrl}`;
  return scopeAttributes.length === 0 ? plain : `${plain} ${JSON.stringify(scopeAttributes)}`;
}

/** Tells the series' resource from others. */
export function resourceKeyOf({ job, instance }: SeriesLabels): string {
  return `${job.length} ${job}${instance}`;
}

export function isSameResource(a: SeriesLabels, b: SeriesLabels): boolean {
  return a.job === b.job && a.instance === b.instance;
}

/** False also for scopes with attributes, which only their keys tell apart. */
export function isSameScope(a: SeriesLabels, b: SeriesLabels): boolean {
  if (a.scopeAttributes.length > 0 || b.scopeAttributes.length > 0) return false;
  return a.scopeName === b.scopeName && a.scopeVersion === b.scopeVersion && a.schemaUrl === b.schemaUrl;
}
