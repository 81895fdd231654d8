import type { ConfigPath } from "#contract/schema";
import { nearest } from "#contract/schema";
import type { Value } from "#otlp/bytes";
import { type Place, placeText } from "./problem.js";
import type { SourceText } from "./source-text.js";

/**
 * Config as a tree that keeps the place of every value. It is built from YAML, then substituted and merged; only at the
 * end do schemas turn it into plain values. Nodes are immutable, so aliases share them.
 */
export type Node = ScalarNode | MapNode | ListNode;

export interface Span {
  readonly source: SourceText;
  readonly start: number;
  readonly end: number;
}

export interface ScalarNode extends Span {
  readonly kind: "scalar";
  /** The value as parsed by YAML. */
  readonly value: string | number | boolean | null;
  /** A number in which doubles are marked and integers beyond 2^53 are exact, for fields that become telemetry. */
  readonly exact?: Value | undefined;
  /** The text as written, without quotes: a string field gets this even if YAML reads a number. */
  readonly text: string;
  /** True if any part came from a variable or a file. Never shown in a message. */
  readonly substituted: boolean;
  /** The text with a mask for each part that came from a variable or a file, if other parts did not. */
  readonly withoutReferences?: string | undefined;
}

export interface MapNode extends Span {
  readonly kind: "map";
  /** The text of the variable that all of it came from: a string field gets this. */
  readonly text?: string | undefined;
  readonly entries: ReadonlyMap<string, MapEntry>;
}

export interface ListNode extends Span {
  readonly kind: "list";
  /** As of `MapNode`. */
  readonly text?: string | undefined;
  readonly items: readonly Node[];
}

export interface MapEntry {
  readonly key: Span;
  readonly value: Node;
}

export function isScalar(node: Node | undefined): node is ScalarNode {
  return node?.kind === "scalar";
}

/** True for YAML's null, as in `otlp:` without a value. */
export function isNull(node: Node | undefined): boolean {
  return node?.kind === "scalar" && node.value === null;
}

/** The node at a path; undefined when it is absent. */
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
 * The place to show for a path: the value if it is a scalar, else its key. `exact` is false when the path is absent and
 * the place is that of its nearest existing parent.
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

export function mapNode(span: Span, entries: ReadonlyMap<string, MapEntry>, text?: string): MapNode {
  return { kind: "map", entries, text, source: span.source, start: span.start, end: span.end };
}

export function listNode(span: Span, items: readonly Node[], text?: string): ListNode {
  return { kind: "list", items, text, source: span.source, start: span.start, end: span.end };
}

export function scalarNode(
  span: Span,
  value: ScalarNode["value"],
  text = value === null ? "" : String(value),
  substituted = false,
  withoutReferences?: string,
  exact?: Value,
): ScalarNode {
  const { source, start, end } = span;
  return { kind: "scalar", value, exact, text, substituted, withoutReferences, source, start, end };
}

/** Copies a tree with every place set to `span`: the variable or argument that its values came from. */
export function nodeAtSpan(node: Node, span: Span, isSubstituted: boolean): Node {
  if (node.kind === "scalar")
    return scalarNode(span, node.value, node.text, isSubstituted || node.substituted, undefined, node.exact);
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
 * Renames unknown keys to the absent known key that they resemble: a mistyped key is then reported once, and not also
 * as a missing key.
 */
export function withCorrectedKeys(map: MapNode, known: readonly string[]): MapNode {
  const absent = known.filter((name) => !map.entries.has(name));
  const entries = [...map.entries].map(([name, entry]) => {
    const similar = known.includes(name) ? undefined : nearest(name, absent);
    return [similar ?? name, entry] as const;
  });
  return mapNode(map, new Map(entries));
}

/** Called for a key that both maps have when one value replaces the other. */
export type OnConflict = (name: string, earlier: Span, later: Span) => void;

/** Later values override earlier ones: maps are merged key by key, everything else (including lists) is replaced. */
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

/** Converts a tree to plain values that are equal if a schema reads the same from both trees. */
export function comparable(node: Node): unknown {
  if (node.kind === "list") return node.items.map(comparable);
  if (node.kind === "map")
    return Object.fromEntries([...node.entries].map(([key, { value }]) => [key, comparable(value)]));
  return typeof node.value === "string" || node.value === null ? node.value : { [typeof node.value]: node.text };
}

/** Converts a tree to plain values, as parsed by YAML. */
export function toPlain(node: Node): unknown {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(toPlain);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toPlain(entry.value)]));
}

/** Converts a tree to a telemetry value, as the Collector reads a field of any type. */
export function toValue(node: Node): Value {
  if (node.kind === "scalar") return node.exact ?? node.value;
  if (node.kind === "list") return node.items.map(toValue);
  return Object.fromEntries([...node.entries].map(([key, entry]) => [key, toValue(entry.value)]));
}
