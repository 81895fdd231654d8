import { layerGraph, type Slot } from "../../../src/runtime/contract/inspect/graph-layers.js";
import type { Graph } from "../../api/shapes.js";

/** Positions in a picture, in its own units. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodeWidth: number;
  readonly nodes: ReadonlyMap<string, Point>;
  readonly edges: ReadonlyMap<string, { readonly path: string; readonly label: Point }>;
}

/** The centre of an element. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export const NODE_HEIGHT = 54;
const GAP = 16;
const BEND_SIZE = 16;

/** A picture that is shown smaller than this cannot be read. */
const MIN_SCALE = 0.7;

/** Places the layers side by side, or from top to bottom if the picture would become too small to read. */
export function layOutToFit(graph: Graph, available: number, isNarrow: boolean): Layout {
  const flat = isNarrow ? undefined : layOut(graph, available, false);
  if (flat !== undefined && flat.width * MIN_SCALE <= available) return flat;
  const tall = layOut(graph, available, true);
  return flat !== undefined && flat.width < tall.width ? flat : tall;
}

/** Places the layers side by side, as wide as `available` allows; a narrow picture goes from top to bottom. */
export function layOut(graph: Graph, available: number, isVertical: boolean): Layout {
  const { layers: all } = layerGraph(graph, { node: 1, bend: 1, gap: 1 });
  const count = all.length;
  const widest = Math.max(...all.map((layer) => layer.filter(({ node }) => node !== undefined).length), 1);
  const nodeWidth = isVertical ? clamp(available / widest - GAP, 96, 160) : clamp((available / count) * 0.72, 108, 190);
  const step = isVertical
    ? NODE_HEIGHT + 62
    : clamp((available - nodeWidth) / Math.max(count - 1, 1), nodeWidth + 46, 330);
  const sizes = { node: isVertical ? nodeWidth : NODE_HEIGHT, bend: BEND_SIZE, gap: GAP };
  const { layers, paths, across } = layerGraph(graph, sizes);
  const along = (count - 1) * step + (isVertical ? NODE_HEIGHT : nodeWidth);
  const half = (isVertical ? NODE_HEIGHT : nodeWidth) / 2;
  const pointOf = ({ layer, at }: Slot): Point =>
    isVertical ? { x: at, y: layer * step + half } : { x: layer * step + half, y: at };
  const slots = layers.flat().filter(({ node }) => node !== undefined);
  return {
    width: isVertical ? across : along,
    height: isVertical ? along : across,
    nodeWidth,
    nodes: new Map(slots.map((slot) => [slot.id, pointOf(slot)])),
    edges: new Map([...paths].map(([id, path]) => [id, drawEdge(path.map(pointOf), half, isVertical)])),
  };
}

function drawEdge(points: readonly Point[], half: number, isVertical: boolean) {
  const [first, last] = [points[0]!, points.at(-1)!];
  const ends = points.map((point) => {
    const shift = point === first ? half : point === last ? -half : 0;
    return isVertical ? { x: point.x, y: point.y + shift } : { x: point.x + shift, y: point.y };
  });
  const path = ends.map(({ x, y }, i) => {
    if (i === 0) return `M${round(x)} ${round(y)}`;
    const before = ends[i - 1]!;
    const middle = isVertical ? (before.y + y) / 2 : (before.x + x) / 2;
    const bend = isVertical
      ? `${round(before.x)} ${round(middle)} ${round(x)}`
      : `${round(middle)} ${round(before.y)} ${round(middle)}`;
    return isVertical
      ? `C${bend} ${round(middle)} ${round(x)} ${round(y)}`
      : `C${bend} ${round(y)} ${round(x)} ${round(y)}`;
  });
  const [a, b] = [ends.at(-2)!, ends.at(-1)!];
  return { path: path.join(""), label: { x: a.x + (b.x - a.x) * 0.5, y: a.y + (b.y - a.y) * 0.5 } };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
