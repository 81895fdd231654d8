import type { GraphEdge, GraphNode } from "./graph.js";

/** A place in a layer, for a node or for an edge that passes through the layer. */
export interface Slot {
  readonly id: string;
  /** Undefined if an edge passes through. */
  readonly node: GraphNode | undefined;
  readonly layer: number;
  readonly size: number;
  readonly before: Slot[];
  readonly after: Slot[];
  /** The centre of the slot, measured along the layer: downwards if the layers go to the right. */
  at: number;
}

interface GraphLayers {
  readonly layers: readonly (readonly Slot[])[];
  /** The slots that each edge passes through, from end to end, by edge id. */
  readonly paths: ReadonlyMap<string, readonly Slot[]>;
  /** The length of the longest layer. Every slot is between 0 and this. */
  readonly across: number;
}

interface LayeredGraph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly Pick<GraphEdge, "id" | "from" | "to">[];
}

interface LayerSizes {
  /** The size of a node along the layer. */
  readonly node: number;
  /** The size of a passing edge. */
  readonly bend: number;
  readonly gap: number;
}

const SWEEPS = 8;

/**
 * Assigns nodes to layers by the longest path to them, exporters to the last layer, and orders each layer so that few
 * edges cross. Edges across several layers get slots on the way. The console and `sluice graph` both use it, so it
 * imports nothing that only one of them has.
 */
export function layerGraph(graph: LayeredGraph, sizes: LayerSizes): GraphLayers {
  const layerOf = findLayers(graph);
  const { layers, paths } = makeSlots(graph, layerOf, sizes);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const inOrder = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of inOrder) arrange(layer, sweep % 2 === 0, sizes.gap);
  }
  const all = layers.flat();
  const top = Math.min(...all.map((slot) => slot.at - slot.size / 2));
  for (const slot of all) slot.at -= top;
  return { layers, paths, across: Math.max(...all.map((slot) => slot.at + slot.size / 2), sizes.node) };
}

function findLayers({ nodes, edges }: LayeredGraph): Map<string, number> {
  const layers = new Map(nodes.map(({ id }) => [id, 0]));
  // A graph of pipelines has no cycles. The limit only keeps an invalid graph from causing an endless loop.
  for (let round = 0; round < nodes.length; round++) {
    for (const { from, to } of edges) {
      const behind = (layers.get(from) ?? 0) + 1;
      if (behind > (layers.get(to) ?? 0)) layers.set(to, Math.min(behind, nodes.length));
    }
  }
  const last = Math.max(...layers.values(), 0);
  for (const { id, kind } of nodes) if (kind === "exporter") layers.set(id, last);
  return layers;
}

function makeSlots({ nodes, edges }: LayeredGraph, layerOf: ReadonlyMap<string, number>, sizes: LayerSizes) {
  const count = Math.max(...layerOf.values(), 0) + 1;
  const layers: Slot[][] = Array.from({ length: count }, () => []);
  const add = (id: string, layer: number, node?: GraphNode): Slot => {
    const size = node === undefined ? sizes.bend : sizes.node;
    const above = layers[layer]!.at(-1);
    const at = above === undefined ? size / 2 : above.at + (above.size + size) / 2 + sizes.gap;
    const slot: Slot = { id, node, layer, size, before: [], after: [], at };
    layers[layer]!.push(slot);
    return slot;
  };
  const slots = new Map(nodes.map((node) => [node.id, add(node.id, layerOf.get(node.id)!, node)]));
  const paths = new Map<string, Slot[]>();
  for (const { id, from, to } of edges) {
    const [start, end] = [slots.get(from), slots.get(to)];
    if (start === undefined || end === undefined) continue;
    const bends = Array.from({ length: Math.max(end.layer - start.layer - 1, 0) }, (_, i) =>
      add(`${id}#${i}`, start.layer + 1 + i),
    );
    const path = [start, ...bends, end];
    for (const [i, slot] of path.entries()) {
      if (i === 0) continue;
      slot.before.push(path[i - 1]!);
      path[i - 1]!.after.push(slot);
    }
    paths.set(id, path);
  }
  return { layers, paths };
}

/** Moves each slot to the centre of its neighbours on one side, and then separates overlapping slots. */
function arrange(layer: Slot[], isForward: boolean, gap: number): void {
  const wanted = new Map(
    layer.map((slot) => {
      const near = isForward ? slot.before : slot.after;
      return [slot, near.length === 0 ? slot.at : near.reduce((sum, { at }) => sum + at, 0) / near.length];
    }),
  );
  layer.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
  let edge = Number.NEGATIVE_INFINITY;
  for (const slot of layer) {
    slot.at = Math.max(wanted.get(slot)!, edge + slot.size / 2);
    edge = slot.at + slot.size / 2 + gap;
  }
  // Separating moves slots only downwards, so the whole layer is shifted back by the average.
  const drift = layer.reduce((sum, slot) => sum + slot.at - wanted.get(slot)!, 0) / Math.max(layer.length, 1);
  for (const slot of layer) slot.at -= drift;
}
