import { createHash } from "node:crypto";
import type { Node } from "./node.js";

const LENGTH = 12;

/** A short hash of what a config says, whatever the order of its keys, its comments and the way it is written. */
export function configHash(root: Node): string {
  return createHash("sha256")
    .update(JSON.stringify(canonical(root)))
    .digest("hex")
    .slice(0, LENGTH);
}

function canonical(node: Node): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(canonical);
  const entries = [...node.entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return { map: entries.map(([key, { value }]) => [key, canonical(value)]) };
}
