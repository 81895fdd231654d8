import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Graph, GraphNode } from "../../../../console/api/shapes.js";
import { layOut, NODE_HEIGHT } from "../../../../console/pages/pipelines/layout.js";

const KINDS = ["receiver", "processor", "connector", "exporter"] as const;

/** Any graph whose edges lead from one kind to a later one, or from one to the next of the same kind. */
const graphs: fc.Arbitrary<Graph> = fc
  .record({
    kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 14 }),
    pairs: fc.array(fc.tuple(fc.nat(13), fc.nat(13)), { maxLength: 24 }),
  })
  .map(({ kinds, pairs }) => {
    const nodes = kinds
      .toSorted((a, b) => KINDS.indexOf(a) - KINDS.indexOf(b))
      .map((kind, i): GraphNode => ({ id: `${i}`, kind, name: `n${i}`, type: "t", pipelines: [], signals: [] }));
    const edges = pairs
      .filter(([a, b]) => a < b && b < nodes.length && nodes[a]!.kind !== "exporter")
      .map(([a, b], i) => ({ id: `e${i}`, from: `${a}`, to: `${b}`, pipeline: "logs", signal: "logs" as const }));
    return { nodes, edges };
  });

describe.each([
  ["from left to right", false],
  ["from top to bottom", true],
])("the picture of a graph, %s", (_, isVertical) => {
  it("places no node on another one or outside the picture", () => {
    fc.assert(
      fc.property(graphs, fc.integer({ min: 300, max: 1500 }), (graph, width) => {
        const layout = layOut(graph, width, isVertical);
        const boxes = [...layout.nodes.values()];
        expect(boxes).toHaveLength(graph.nodes.length);
        for (const [i, a] of boxes.entries()) {
          expect(a.x - layout.nodeWidth / 2).toBeGreaterThanOrEqual(-0.01);
          expect(a.x + layout.nodeWidth / 2).toBeLessThanOrEqual(layout.width + 0.01);
          expect(a.y - NODE_HEIGHT / 2).toBeGreaterThanOrEqual(-0.01);
          expect(a.y + NODE_HEIGHT / 2).toBeLessThanOrEqual(layout.height + 0.01);
          const others = boxes.slice(i + 1);
          const isOn = others.some((b) => Math.abs(a.x - b.x) < layout.nodeWidth && Math.abs(a.y - b.y) < NODE_HEIGHT);
          expect(isOn).toBe(false);
        }
      }),
    );
  });

  it("leads every edge forward", () => {
    fc.assert(
      fc.property(graphs, (graph) => {
        const { nodes, edges } = layOut(graph, 1200, isVertical);
        for (const { id, from, to } of graph.edges) {
          const [a, b] = [nodes.get(from)!, nodes.get(to)!];
          expect(isVertical ? b.y - a.y : b.x - a.x).toBeGreaterThan(0);
          expect(edges.get(id)!.path).toMatch(/^M[\d.-]+ [\d.-]+(C[\d. -]+)+$/);
        }
      }),
    );
  });
});
