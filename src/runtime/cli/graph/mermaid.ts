import type { GraphDescription, GraphNode } from "../../contract/inspect/graph.js";

/** Shapes of Mermaid's flowcharts: what stands around a node's name. */
const SHAPES: Readonly<Record<GraphNode["kind"], readonly [string, string]>> = {
  receiver: ["([", "])"],
  processor: ["[", "]"],
  connector: ["{{", "}}"],
  exporter: ["[(", ")]"],
};

/** As a flowchart of Mermaid, which GitHub, GitLab and many wikis draw: a box around the processors of each pipeline. */
export function mermaidText({ nodes, edges }: GraphDescription): string {
  const keys = new Map(nodes.map(({ id }, i) => [id, `n${i}`]));
  const line = (node: GraphNode) =>
    `${keys.get(node.id)}${SHAPES[node.kind][0]}${quoted(node.name)}${SHAPES[node.kind][1]}`;
  const processors = nodes.filter(({ kind }) => kind === "processor");
  const pipelines = [...new Set(processors.map(({ pipelines: [pipeline] }) => pipeline!))];
  return [
    "flowchart LR",
    ...nodes.filter(({ kind }) => kind !== "processor").map((node) => `  ${line(node)}`),
    ...pipelines.flatMap((pipeline, i) => [
      `  subgraph p${i}[${quoted(pipeline)}]`,
      ...processors.filter((node) => node.pipelines[0] === pipeline).map((node) => `    ${line(node)}`),
      "  end",
    ]),
    ...edges.map(({ from, to, pipeline }) => `  ${keys.get(from)} -->|${quoted(pipeline)}| ${keys.get(to)}`),
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replace(/[&<>"#]/g, (character) => `#${character.charCodeAt(0)};`)}"`;
}
