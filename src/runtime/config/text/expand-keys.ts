import { type MapEntry, mapNode, mergeNodes, type Node, type OnConflict, type Span } from "./node.js";

/**
 * Takes keys such as `service::pipelines` for the maps in maps that they stand for, as the Collector does. What is in a
 * list keeps its keys there, and here. `onConflict` is told of a value that is written in both ways.
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

/** The path that a key stands for. One that has nothing before, behind or between its colons stays as it is. */
function keyPath(name: string): readonly [string, ...string[]] {
  const path = name.split("::");
  return path.includes("") ? [name] : (path as [string, ...string[]]);
}

function nested(path: readonly string[], key: Span, value: Node): Node {
  return path.reduceRight((inner, name) => mapNode(key, new Map([[name, { key, value: inner }]])), value);
}
