import type { GraphDescription, GraphEdge, GraphNode } from "#contract/operations";
import { layerGraph, type Slot } from "#contract/operations";

const CHARACTER_WIDTH = 7.5;
const PADDING = 14;
const GAP_X = 90;
const GAP_Y = 22;
export const NODE_HEIGHT = 44;
const MARGIN = 20;

export interface PlacedNode {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** A line from one node to another. It passes through gaps reserved in the columns between them. */
export interface PlacedEdge {
  readonly from: string;
  readonly to: string;
  readonly pipelines: readonly string[];
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Layout {
  readonly nodes: ReadonlyMap<string, PlacedNode>;
  readonly edges: readonly PlacedEdge[];
  readonly width: number;
  readonly height: number;
}

interface GraphColumn {
  readonly x: number;
  readonly width: number;
}

/** Places the nodes in columns as wide as the names in them. */
export function layOut({ nodes, edges }: GraphDescription): Layout {
  const joined = joinedEdges(edges);
  const sizes = { node: NODE_HEIGHT, bend: NODE_HEIGHT, gap: GAP_Y };
  const { layers, paths, across } = layerGraph({ nodes, edges: joined }, sizes);
  const columns = columnsOf(layers);
  const last = columns.at(-1)!;
  const placed = layers.flat().flatMap(({ node, layer, at }): [string, PlacedNode][] => {
    if (node === undefined) return [];
    return [[node.id, { node, ...columns[layer]!, y: round(MARGIN + at - NODE_HEIGHT / 2) }]];
  });
  return {
    nodes: new Map(placed),
    edges: joined.map(({ id, from, to, pipelines }) => {
      return { from, to, pipelines, points: pointsOf(paths.get(id)!, columns) };
    }),
    width: Math.ceil(last.x + last.width + MARGIN),
    height: Math.ceil(across + 2 * MARGIN),
  };
}

function columnsOf(layers: readonly (readonly Slot[])[]): GraphColumn[] {
  let x = MARGIN;
  return layers.map((layer) => {
    const width = Math.max(0, ...layer.map(({ node }) => (node === undefined ? 0 : widthOf(node))));
    const column = { x, width };
    x += width + GAP_X;
    return column;
  });
}

/** From the right edge of the first node to the left edge of the last, straight through the columns between them. */
function pointsOf(way: readonly Slot[], columns: readonly GraphColumn[]): [number, number][] {
  return way.flatMap(({ layer, at }, i): [number, number][] => {
    const { x, width } = columns[layer]!;
    const y = round(MARGIN + at);
    if (i === 0) return [[x + width, y]];
    if (i === way.length - 1) return [[x - 2, y]];
    return [
      [x, y],
      [x + width, y],
    ];
  });
}

/** Merges edges between the same two nodes into one line. */
function joinedEdges(edges: readonly GraphEdge[]): (Omit<PlacedEdge, "points"> & { readonly id: string })[] {
  const joined = new Map<string, Omit<PlacedEdge, "points"> & { readonly id: string }>();
  for (const { from, to, pipeline } of edges) {
    const id = `${from}>${to}`;
    joined.set(id, { id, from, to, pipelines: [...(joined.get(id)?.pipelines ?? []), pipeline] });
  }
  return [...joined.values()];
}

function widthOf(node: GraphNode): number {
  return Math.max(node.name.length * CHARACTER_WIDTH, kindText(node).length * 5.5) + 2 * PADDING;
}

/** The line below a node's name. */
export function kindText({ kind, pipelines }: GraphNode): string {
  return kind === "processor" ? `${kind} in ${pipelines[0]}` : kind;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
