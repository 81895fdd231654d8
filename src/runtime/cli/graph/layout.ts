import type { GraphDescription, GraphEdge, GraphNode } from "../../contract/inspect/inspection.js";

const CHARACTER_WIDTH = 7.5;
const PADDING = 14;
const GAP_X = 90;
const GAP_Y = 22;
export const NODE_HEIGHT = 44;
export const MARGIN = 20;
/** Times that each column is put in order by its neighbours. */
const SWEEPS = 6;

export interface PlacedNode {
  readonly node: GraphNode;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** A line from one node to another, through the gaps that are left for it in the columns between them. */
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

/** A place in a column: of a node, or of an edge that passes it. */
interface Cell {
  readonly key: string;
  readonly node: GraphNode | undefined;
  readonly neighbours: string[];
}

/** Puts nodes into columns, each right of all that lead to it, and those of a column near what they are connected with. */
export function layOut({ nodes, edges }: GraphDescription): Layout {
  const columns = columnsOf(nodes, edges);
  const columnOf = new Map(columns.flatMap((column, i) => column.map(({ key }) => [key, i] as const)));
  const ways = joinedEdges(edges).map((edge) => ({ ...edge, keys: passThrough(edge, columns, columnOf) }));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const column of columns) sortByNeighbours(column, columns);
  }
  const { placed, width, height } = place(columns);
  const points = (keys: readonly string[]) =>
    keys.flatMap((key, i): [number, number][] => {
      const { x, y, width: wide } = placed.get(key)!;
      const middle = y + NODE_HEIGHT / 2;
      if (i === 0) return [[x + wide, middle]];
      return i === keys.length - 1
        ? [[x - 2, middle]]
        : [
            [x, middle],
            [x + wide, middle],
          ];
    });
  return {
    nodes: new Map(
      [...placed].flatMap(([key, { node, ...box }]) => (node === undefined ? [] : [[key, { node, ...box }]])),
    ),
    edges: ways.map(({ from, to, pipelines, keys }) => ({ from, to, pipelines, points: points(keys) })),
    width,
    height,
  };
}

/** Exporters stand in the last column, however near they are. */
function columnsOf(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Cell[][] {
  const depths = new Map<string, number>();
  const depthOf = (id: string): number => {
    const known = depths.get(id);
    if (known !== undefined) return known;
    const before = edges.filter(({ to }) => to === id).map(({ from }) => depthOf(from) + 1);
    const depth = Math.max(0, ...before);
    depths.set(id, depth);
    return depth;
  };
  const last = Math.max(0, ...nodes.map(({ id }) => depthOf(id)));
  const columns: Cell[][] = Array.from({ length: last + 1 }, () => []);
  for (const node of nodes)
    columns[node.kind === "exporter" ? last : depthOf(node.id)]!.push({ key: node.id, node, neighbours: [] });
  return columns.filter((column) => column.length > 0);
}

/** Pipelines that go the same way have one line. */
function joinedEdges(edges: readonly GraphEdge[]): Omit<PlacedEdge, "points">[] {
  const joined = new Map<string, Omit<PlacedEdge, "points">>();
  for (const { from, to, pipeline } of edges) {
    const key = `${from}>${to}`;
    joined.set(key, { from, to, pipelines: [...(joined.get(key)?.pipelines ?? []), pipeline] });
  }
  return [...joined.values()];
}

/** Takes a place for an edge in every column that it passes; gives the places from end to end. */
function passThrough(
  { from, to }: Omit<PlacedEdge, "points">,
  columns: Cell[][],
  columnOf: ReadonlyMap<string, number>,
): string[] {
  const passed: Cell[] = [];
  for (let i = columnOf.get(from)! + 1; i < columnOf.get(to)!; i++) {
    const cell = { key: `${from}>${to}#${i}`, node: undefined, neighbours: [] };
    columns[i]!.push(cell);
    passed.push(cell);
  }
  const cellOf = (id: string) => columns[columnOf.get(id)!]!.find(({ key }) => key === id)!;
  const way = [cellOf(from), ...passed, cellOf(to)];
  for (const [i, cell] of way.entries()) {
    if (i > 0) cell.neighbours.push(way[i - 1]!.key);
    if (i < way.length - 1) cell.neighbours.push(way[i + 1]!.key);
  }
  return way.map(({ key }) => key);
}

/** By the mean of the places, in their columns, of what a cell is connected with. */
function sortByNeighbours(column: Cell[], columns: readonly (readonly Cell[])[]): void {
  const places = new Map(columns.flatMap((each) => each.map(({ key }, row) => [key, (row + 0.5) / each.length])));
  const mean = ({ key, neighbours }: Cell) =>
    neighbours.length === 0
      ? places.get(key)!
      : neighbours.reduce((total, other) => total + places.get(other)!, 0) / neighbours.length;
  const means = new Map(column.map((cell) => [cell.key, mean(cell)]));
  column.sort((a, b) => means.get(a.key)! - means.get(b.key)!);
}

function place(columns: readonly (readonly Cell[])[]) {
  const heights = columns.map((column) => column.length * (NODE_HEIGHT + GAP_Y) - GAP_Y);
  const height = Math.max(NODE_HEIGHT, ...heights);
  const placed = new Map<string, { node: GraphNode | undefined; x: number; y: number; width: number }>();
  let x = MARGIN;
  for (const [i, column] of columns.entries()) {
    const width = Math.max(...column.map(({ node }) => (node === undefined ? 0 : widthOf(node))));
    for (const [row, { key, node }] of column.entries()) {
      const y = MARGIN + (height - heights[i]!) / 2 + row * (NODE_HEIGHT + GAP_Y);
      placed.set(key, { node, x, y, width });
    }
    x += width + GAP_X;
  }
  return { placed, width: Math.ceil(x - GAP_X + MARGIN), height: Math.ceil(height + 2 * MARGIN) };
}

function widthOf(node: GraphNode): number {
  return Math.max(node.name.length * CHARACTER_WIDTH, kindText(node).length * 5.5) + 2 * PADDING;
}

/** What stands below a node's name. */
export function kindText({ kind, pipelines }: GraphNode): string {
  return kind === "processor" ? `${kind} in ${pipelines[0]}` : kind;
}
