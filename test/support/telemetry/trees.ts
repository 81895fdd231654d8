import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { Tree, TreeValue } from "../../../src/runtime/otlp/json/tree.js";
import type { Signal } from "../../../src/runtime/otlp/signals/signal.js";

/** A record of a tree with the messages around it. */
export interface Placed {
  readonly record: Tree;
  readonly resourceContainer: Tree;
  readonly scopeContainer: Tree;
  readonly metric: Tree | undefined;
  /** The list that holds it. */
  readonly siblings: Tree[];
}

export const DATA_KINDS = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"] as const;
const SUFFIX: Record<Signal, string> = { logs: "Logs", traces: "Spans", metrics: "Metrics" };

/** The records of a tree in the order of the wire. */
export function recordsOf(signal: Signal, tree: Tree): Placed[] {
  const records: Placed[] = [];
  for (const resourceContainer of listOf(tree, `resource${SUFFIX[signal]}`)) {
    for (const scopeContainer of listOf(resourceContainer, `scope${SUFFIX[signal]}`)) {
      const place = (siblings: Tree[], metric?: Tree) => {
        for (const record of siblings) records.push({ record, resourceContainer, scopeContainer, metric, siblings });
      };
      if (signal === "logs") place(listOf(scopeContainer, "logRecords"));
      else if (signal === "traces") place(listOf(scopeContainer, "spans"));
      else {
        for (const metric of listOf(scopeContainer, "metrics")) {
          for (const kind of DATA_KINDS) {
            if (metric[kind] !== undefined) place(listOf(metric[kind] as Tree, "dataPoints"), metric);
          }
        }
      }
    }
  }
  return records;
}

export function listOf(tree: Tree, name: string): Tree[] {
  return (tree[name] ?? []) as Tree[];
}

/** The same meaning in one form: no empty lists, no unknown fields, and, when asked for, attributes sorted by key. */
export function meaning(tree: Tree, sortAttributes = false): Tree {
  const plain: Tree = {};
  for (const name of Object.keys(tree).sort()) {
    const value = tree[name]!;
    if (Array.isArray(value) && value.length === 0) continue;
    plain[name] = meaningOf(value, sortAttributes);
    if (sortAttributes && ATTRIBUTES.has(name)) (plain[name] as Tree[]).sort(byKey);
  }
  return plain;
}

const ATTRIBUTES = new Set(["attributes", "metadata", "filteredAttributes"]);

function byKey(a: Tree, b: Tree): number {
  const [x, y] = [String(a["key"] ?? ""), String(b["key"] ?? "")];
  return x < y ? -1 : x > y ? 1 : 0;
}

function meaningOf(value: TreeValue, sortAttributes: boolean): TreeValue {
  if (Array.isArray(value)) return value.map((item) => meaningOf(item, sortAttributes));
  return typeof value === "object" && !(value instanceof Uint8Array) ? meaning(value, sortAttributes) : value;
}

/** Like expect(a).toStrictEqual(b), and quick where they are equal. Tells -0 from 0. */
export function expectSame(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toStrictEqual(expected);
}

export function expectSameBytes(actual: Uint8Array, expected: Uint8Array): void {
  if (Buffer.compare(actual, expected) !== 0) {
    expect(Buffer.from(actual).toString("hex")).toBe(Buffer.from(expected).toString("hex"));
  }
}
