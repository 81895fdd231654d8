import { type MapEntry, mapNode, mergeNodes, type Node, type OnConflict, type Span } from "./node.js";

/**
 * Expands keys such as `service::pipelines` to nested maps, as the Collector does. Keys inside lists are not expanded,
 * as in the Collector. `onConflict` is called for a value that is written in both forms.
 */
export function expandKeys(node: Node, onConflict: OnConflict): Node {
  if (node.kind !== "map") return node;
  const entries = new Map<string, MapEntry>();
  for (const [name, { key, value }] of node.entries) {
    const [first, ...rest] = keyPath(name);
    const expanded = nested(rest, key, expandKeys(value, onConflict));
    const earlier = entries.get(first);
    if (earlier !== undefined && !(earlier.value.kind === "map" && expanded.kind === "map"))
      onConflict(first, earlier.key, key);
    entries.set(first, { key, value: earlier ? mergeNodes(earlier.value, expanded, onConflict) : expanded });
  }
  return mapNode(node, entries);
}

/** The path that a key stands for. A key with an empty part around its `::` stays as it is. */
function keyPath(name: string): readonly [string, ...string[]] {
  const path = name.split("::");
  return path.includes("") ? [name] : (path as [string, ...string[]]);
}

function nested(path: readonly string[], key: Span, value: Node): Node {
  return path.reduceRight((inner, name) => mapNode(key, new Map([[name, { key, value: inner }]])), value);
}
