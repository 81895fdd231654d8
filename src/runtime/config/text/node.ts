import type { ConfigPath } from "#contract/schema";
import { nearest } from "#contract/schema";
import { type Place, placeText } from "./problem.js";
import type { SourceText } from "./source-text.js";

/**
 * Config as a tree that remembers where everything stands. Built from YAML, then substituted and merged; only at the end
 * do schemas turn it into plain values. Nodes are never changed after they are made, so aliases share them.
 */
export type Node = ScalarNode | MapNode | ListNode;

export interface Span {
  readonly source: SourceText;
  readonly start: number;
  readonly end: number;
}

export interface ScalarNode extends Span {
  readonly kind: "scalar";
  /** What YAML makes of it. */
  readonly value: string | number | boolean | null;
  /** What was written, without quotes: a string field takes this even where YAML sees a number. */
  readonly text: string;
  /** Came, in whole or in part, from a variable or a file: never shown in a message. */
  readonly substituted: boolean;
}

export interface MapNode extends Span {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, MapEntry>;
}

export interface ListNode extends Span {
  readonly kind: "list";
  readonly items: readonly Node[];
}

export interface MapEntry {
  readonly key: Span;
  readonly value: Node;
}

export function isScalar(node: Node | undefined): node is ScalarNode {
  return node?.kind === "scalar";
}

/** YAML's null: `otlp:` with nothing behind it. */
export function isNull(node: Node | undefined): boolean {
  return node?.kind === "scalar" && node.value === null;
}

/** The node at a path, or undefined when it is not written. */
export function nodeAt(root: Node | undefined, path: ConfigPath): Node | undefined {
  let node = root;
  for (const key of path) node = childOf(node, key);
  return node;
}

function childOf(node: Node | undefined, key: string | number): Node | undefined {
  if (node?.kind === "map") return node.entries.get(String(key))?.value;
  if (node?.kind === "list") return node.items[Number(key)];
  return undefined;
}

function keySpan(node: Node | undefined, key: string | number): Span | undefined {
  return node?.kind === "map" ? node.entries.get(String(key))?.key : undefined;
}

/**
 * Where to point for a path: at the value when it is a word or a number, at the key when a whole section stands behind
 * it. `exact` is false when the path is not written and its nearest written parent is given instead.
 */
export function locatePath(root: Node, path: ConfigPath): { readonly place: Place; readonly exact: boolean } {
  let node: Node = root;
  let span: Span = root;
  for (const key of path) {
    const child = childOf(node, key);
    if (child === undefined) return { place: placeOf(span), exact: false };
    span = isScalar(child) && !isNull(child) ? child : (keySpan(node, key) ?? child);
    node = child;
  }
  return { place: placeOf(span), exact: true };
}

export function placeOf(span: Span): Place {
  return span.source.placeAt(span.start);
}

export function spanText(span: Span): string {
  return placeText(placeOf(span));
}

export function mapNode(span: Span, entries: ReadonlyMap<string, MapEntry>): MapNode {
  return { kind: "map", entries, source: span.source, start: span.start, end: span.end };
}

export function listNode(span: Span, items: readonly Node[]): ListNode {
  return { kind: "list", items, source: span.source, start: span.start, end: span.end };
}

export function scalarNode(
  span: Span,
  value: ScalarNode["value"],
  text = value === null ? "" : String(value),
  substituted = false,
): ScalarNode {
  return { kind: "scalar", value, text, substituted, source: span.source, start: span.start, end: span.end };
}

/** The same values as if all of them stood at one place: where a variable or an argument stands that they came from. */
export function nodeAtSpan(node: Node, span: Span, isSubstituted: boolean): Node {
  if (node.kind === "scalar") return scalarNode(span, node.value, node.text, isSubstituted || node.substituted);
  if (node.kind === "list") {
    const items = node.items.map((item) => nodeAtSpan(item, span, isSubstituted));
    return listNode(span, items);
  }
  const entries = [...node.entries].map(
    ([name, { value }]) => [name, { key: span, value: nodeAtSpan(value, span, isSubstituted) }] as const,
  );
  return mapNode(span, new Map(entries));
}

/**
 * The same map with keys that nobody knows under the name of the known one that they resemble and that is not there: a
 * mistyped key is one problem, and not also that of what seems to be missing.
 */
export function withMeantKeys(map: MapNode, known: readonly string[]): MapNode {
  const absent = known.filter((name) => !map.entries.has(name));
  const entries = [...map.entries].map(([name, entry]) => {
    const meant = known.includes(name) ? undefined : nearest(name, absent);
    return [meant ?? name, entry] as const;
  });
  return mapNode(map, new Map(entries));
}

/** This is told of a key that two maps have, where one of the values has to give way. */
export type OnConflict = (name: string, earlier: Span, later: Span) => void;

/** Later over earlier: maps are merged key by key, everything else (lists too) is replaced. */
export function mergeNodes(earlier: Node, later: Node, onConflict?: OnConflict): Node {
  if (earlier.kind !== "map" || later.kind !== "map") return later;
  const entries = new Map(earlier.entries);
  for (const [name, entry] of later.entries) {
    const before = entries.get(name);
    if (before !== undefined && !(before.value.kind === "map" && entry.value.kind === "map"))
      onConflict?.(name, before.key, entry.key);
    const value = before === undefined ? entry.value : mergeNodes(before.value, entry.value, onConflict);
    entries.set(name, { key: entry.key, value });
  }
  return mapNode(later, entries);
}

/** Plain values, by YAML's own view of each scalar. */
export function toPlain(node: Node): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(toPlain);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toPlain(entry.value)]));
}
