import type { Graph } from "../../api/shapes.js";

/** Where everything of a picture is, in its own units. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodeWidth: number;
  readonly nodes: ReadonlyMap<string, Point>;
  readonly edges: ReadonlyMap<string, { readonly path: string; readonly label: Point }>;
}

/** The middle of something. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export const NODE_HEIGHT = 54;
const GAP = 16;
const BEND_HEIGHT = 16;
const SWEEPS = 8;

/** A place in a layer: a node, or where a long edge passes. */
interface Slot {
  readonly id: string;
  readonly layer: number;
  readonly size: number;
  readonly before: Slot[];
  readonly after: Slot[];
  /** Across the layers: down when they go to the right. */
  at: number;
}

/**
 * Puts nodes into layers by the longest way to them, exporters into the last, and orders each layer so that edges cross
 * little; edges over several layers get places of their own on the way. `available` is the width there is; a narrow
 * picture goes from the top to the bottom.
 */
export function layOut(graph: Graph, available: number, isVertical: boolean): Layout {
  const layerOf = findLayers(graph);
  const count = Math.max(...layerOf.values(), 0) + 1;
  const nodeWidth = isVertical ? 118 : clamp((available / count) * 0.72, 128, 190);
  const step = isVertical
    ? NODE_HEIGHT + 62
    : clamp((available - nodeWidth) / Math.max(count - 1, 1), nodeWidth + 52, 330);
  const size = isVertical ? nodeWidth : NODE_HEIGHT;
  const { layers, ways } = makeSlots(graph, layerOf, count, size);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const inOrder = sweep % 2 === 0 ? layers : [...layers].reverse();
    for (const layer of inOrder) arrange(layer, sweep % 2 === 0);
  }
  const all = layers.flat();
  const top = Math.min(...all.map((slot) => slot.at - slot.size / 2), 0);
  const across = Math.max(...all.map((slot) => slot.at + slot.size / 2), size) - top;
  const along = (count - 1) * step + (isVertical ? NODE_HEIGHT : nodeWidth);
  const half = (isVertical ? NODE_HEIGHT : nodeWidth) / 2;
  const pointOf = (slot: Slot): Point => {
    const [a, b] = [slot.layer * step + half, slot.at - top];
    return isVertical ? { x: b, y: a } : { x: a, y: b };
  };
  return {
    width: isVertical ? across : along,
    height: isVertical ? along : across,
    nodeWidth,
    nodes: new Map(all.filter(({ id }) => layerOf.has(id)).map((slot) => [slot.id, pointOf(slot)])),
    edges: new Map([...ways].map(([id, way]) => [id, drawEdge(way.map(pointOf), half, isVertical)])),
  };
}

function findLayers({ nodes, edges }: Graph): Map<string, number> {
  const layers = new Map(nodes.map(({ id }) => [id, 0]));
  // A graph of pipelines has no circle; the bound only keeps a wrong one from hanging the page.
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

function makeSlots({ nodes, edges }: Graph, layerOf: ReadonlyMap<string, number>, count: number, size: number) {
  const layers: Slot[][] = Array.from({ length: count }, () => []);
  const add = (id: string, layer: number, own: number): Slot => {
    const before = layers[layer]!.at(-1);
    const at = before === undefined ? own / 2 : before.at + (before.size + own) / 2 + GAP;
    const slot: Slot = { id, layer, size: own, before: [], after: [], at };
    layers[layer]!.push(slot);
    return slot;
  };
  const slots = new Map(nodes.map(({ id }) => [id, add(id, layerOf.get(id)!, size)]));
  const ways = new Map<string, Slot[]>();
  for (const { id, from, to } of edges) {
    const [start, end] = [slots.get(from), slots.get(to)];
    if (start === undefined || end === undefined) continue;
    const bends = Array.from({ length: Math.max(end.layer - start.layer - 1, 0) }, (_, i) =>
      add(`${id}#${i}`, start.layer + 1 + i, BEND_HEIGHT),
    );
    const way = [start, ...bends, end];
    for (const [i, slot] of way.entries()) {
      if (i === 0) continue;
      slot.before.push(way[i - 1]!);
      way[i - 1]!.after.push(slot);
    }
    ways.set(id, way);
  }
  return { layers, ways };
}

/** Moves each slot to the middle of its neighbours on one side, and then apart. */
function arrange(layer: Slot[], isForward: boolean): void {
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
    edge = slot.at + slot.size / 2 + GAP;
  }
  // Pushing only downwards moves all of them; the middle of the layer goes back to the middle of what was wanted.
  const drift = layer.reduce((sum, slot) => sum + slot.at - wanted.get(slot)!, 0) / Math.max(layer.length, 1);
  for (const slot of layer) slot.at -= drift;
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
