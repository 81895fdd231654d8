import type { GraphDescription } from "#contract/operations";
import { kindText, type Layout, layOut, NODE_HEIGHT, type PlacedEdge, type PlacedNode } from "./layout.js";

const STYLE = `
    .node rect { fill: #f7f8fa; stroke: #8a94a6; }
    .receiver rect { fill: #e6f2ff; stroke: #3b82c4; }
    .connector rect { fill: #f3ebff; stroke: #8b5cc9; }
    .exporter rect { fill: #e8f7ec; stroke: #3f9a5c; }
    .name { font: 13px ui-monospace, monospace; fill: #1d2430; }
    .kind, .pipeline { font: 10px system-ui, sans-serif; fill: #5b6577; }
    .edge { fill: none; stroke: #8a94a6; stroke-width: 1.5; }
    @media (prefers-color-scheme: dark) {
      .node rect { fill: #262c36; stroke: #6b7688; }
      .receiver rect { fill: #16304a; stroke: #4a94d8; }
      .connector rect { fill: #33224d; stroke: #a37be0; }
      .exporter rect { fill: #173626; stroke: #57b877; }
      .name { fill: #e8ecf2; }
      .kind, .pipeline { fill: #a2adbd; }
    }`;

/** Draws the graph as a self-contained SVG that follows the reader's light or dark theme. */
export function svgText(graph: GraphDescription): string {
  const layout = layOut(graph);
  const { width, height, nodes, edges } = layout;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Pipelines">
  <style>${STYLE}
  </style>
  <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 8 4 0 8z" fill="#8a94a6"/></marker></defs>
${edges.map((edge) => edgeText(edge, layout)).join("\n")}
${[...nodes.values()].map(nodeText).join("\n")}
</svg>
`;
}

/** Labels an edge with its pipelines only if neither end is a processor: a processor already shows its pipeline. */
function edgeText({ from, to, pipelines, points }: PlacedEdge, { nodes }: Layout): string {
  const [start, ...others] = points;
  const curves = others.map(([x, y], i) => {
    const [x0, y0] = points[i]!;
    return y === y0 ? `L${x} ${y}` : `C${(x0 + x) / 2} ${y0} ${(x0 + x) / 2} ${y} ${x} ${y}`;
  });
  const path = `<path class="edge" marker-end="url(#arrow)" d="M${start!.join(" ")}${curves.join("")}"/>`;
  if ([from, to].some((id) => nodes.get(id)!.node.kind === "processor")) return `  ${path}`;
  const [x, y] = others[0]!;
  const isDown = y > start![1];
  return `  ${path}<text class="pipeline" text-anchor="end" x="${x - 14}" y="${isDown ? y + 13 : y - 5}">${escaped(pipelines.join(", "))}</text>`;
}

function nodeText({ node, x, y, width }: PlacedNode): string {
  const centre = x + width / 2;
  const name = `<text class="name" text-anchor="middle" x="${centre}" y="${y + 19}">${escaped(node.name)}</text>`;
  const kind = `<text class="kind" text-anchor="middle" x="${centre}" y="${y + 34}">${escaped(kindText(node))}</text>`;
  const box = `<rect x="${x}" y="${y}" width="${width}" height="${NODE_HEIGHT}" rx="6"/>`;
  return `  <g class="node ${node.kind}">${box}${name}${kind}</g>`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
