import { bodyEnd, decodeMessage, nextBody, REQUEST } from "#otlp/bytes";
import { RESOURCE_CONTAINER_TAG } from "#otlp/tags";
import type { Batch, Tree } from "../../plugin.js";
import { attributeEntries, isTree, messages, plainText } from "./values.js";

const CONTAINERS = {
  logs: ["scopeLogs", "logRecords"],
  traces: ["scopeSpans", "spans"],
  metrics: ["scopeMetrics", "metrics"],
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

/** Returns a batch of any signal as resources with scopes with items. Each resource is decoded when its turn comes. */
export function* resourceGroups({ signal, bytes }: Batch): Iterable<ResourceGroup> {
  const [scopes, items] = CONTAINERS[signal];
  const message = REQUEST[signal].byNumber[RESOURCE_CONTAINER_TAG >>> 3]!.message!;
  for (let p = 0; (p = nextBody(bytes, p, bytes.length, RESOURCE_CONTAINER_TAG)) >= 0; ) {
    const body = p;
    p = bodyEnd;
    const container = decodeMessage(message, bytes, body, p);
    const groups = messages(container[scopes]).map((scope) => ({ container: scope, items: messages(scope[items]) }));
    yield { container, scopes: groups };
  }
}

/** Returns the resource's service.name, or an empty text. */
export function serviceName({ container }: ResourceGroup): string {
  const { resource } = container;
  const entries = attributeEntries(isTree(resource) ? resource["attributes"] : undefined);
  const value = entries.find(([key]) => key === "service.name")?.[1];
  return value === undefined ? "" : plainText(value, 80);
}
