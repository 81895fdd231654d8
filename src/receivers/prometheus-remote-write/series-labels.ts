import { MalformedError } from "../../plugin.js";
import type { LabelList } from "./read-request.js";

type LabelPairs = readonly (readonly [name: string, value: string])[];

/** The labels of a series by what they mean. */
export interface SeriesLabels {
  readonly name: string;
  readonly job: string;
  readonly instance: string;
  readonly scopeName: string;
  readonly scopeVersion: string;
  readonly schemaUrl: string;
  readonly scopeAttributes: LabelPairs;
  /** Tells the series' scope from others. */
  readonly scopeKey: string;
  /** Those of its points: all others. */
  readonly attributes: LabelPairs;
  readonly all: LabelPairs;
}

const SCOPE_PREFIX = "otel_scope_";

/** Throws a `MalformedError` if the series has no name, or a label twice. */
export function readLabels(list: LabelList): SeriesLabels {
  const labels = { name: "", job: "", instance: "", scopeName: "", scopeVersion: "", schemaUrl: "" };
  const [all, attributes, scopeAttributes]: [string, string][][] = [[], [], []] as [string, string][][];
  for (let i = 0; i < list.length; i += 2) {
    const pair: [string, string] = [list[i]!, list[i + 1]!];
    const [name, value] = pair;
    all!.push(pair);
    const meaning = MEANINGS.get(name);
    if (meaning !== undefined) labels[meaning] = value;
    else if (name.startsWith(SCOPE_PREFIX)) scopeAttributes!.push([name.slice(SCOPE_PREFIX.length), value]);
    else attributes!.push(pair);
  }
  if (labels.name === "") throw new MalformedError("missing metric name in labels", -1);
  if (new Set(all!.map(([name]) => name)).size < all!.length)
    throw new MalformedError("a series has a label twice", -1);
  const hasScope =
    labels.scopeName !== "" || labels.scopeVersion !== "" || labels.schemaUrl !== "" || scopeAttributes!.length > 0;
  const scope = [labels.scopeName, labels.scopeVersion, labels.schemaUrl, scopeAttributes];
  const scopeKey = hasScope ? JSON.stringify(scope) : "";
  return { ...labels, scopeKey, scopeAttributes: scopeAttributes!, attributes: attributes!, all: all! };
}

const MEANINGS = new Map<string, "name" | "job" | "instance" | "scopeName" | "scopeVersion" | "schemaUrl">([
  ["__name__", "name"],
  ["job", "job"],
  ["instance", "instance"],
  ["otel_scope_name", "scopeName"],
  ["otel_scope_version", "scopeVersion"],
  ["otel_scope_schema_url", "schemaUrl"],
]);
