import { type Batch, decodeTree, type Tree } from "../../plugin.js";
import { attributeEntries, isTree, messages, plainText } from "./values.js";

const CONTAINERS = {
  logs: ["resourceLogs", "scopeLogs", "logRecords"],
  traces: ["resourceSpans", "scopeSpans", "spans"],
  metrics: ["resourceMetrics", "scopeMetrics", "metrics"],
} as const;

interface ScopeGroup {
  readonly container: Tree;
  /** Log records, spans or metrics. */
  readonly items: readonly Tree[];
}

interface ResourceGroup {
  readonly container: Tree;
  readonly scopes: readonly ScopeGroup[];
}

/** A batch as resources with scopes with items, whatever its signal. */
export function resourceGroups(batch: Batch): ResourceGroup[] {
  const [resources, scopes, items] = CONTAINERS[batch.signal];
  return messages(decodeTree(batch)[resources]).map((container) => ({
    container,
    scopes: messages(container[scopes]).map((scope) => ({ container: scope, items: messages(scope[items]) })),
  }));
}

/** The resource's service.name, or nothing. */
export function serviceName({ container }: ResourceGroup): string {
  const { resource } = container;
  const entries = attributeEntries(isTree(resource) ? resource["attributes"] : undefined);
  const value = entries.find(([key]) => key === "service.name")?.[1];
  return value === undefined ? "" : plainText(value, 80);
}
