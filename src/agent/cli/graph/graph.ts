import type { GraphDescription, GraphNode } from "#contract/operations";
import { describeGraph } from "#pipeline";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { showProblems } from "../show-problems.js";
import { EXIT, UsageError } from "../terminal.js";
import { svgText } from "./svg.js";

const FORMATS = { mermaid: mermaidText, svg: svgText } as const;

/** `sluice graph` */
export async function graph(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const format = (values["format"] as string | undefined) ?? "mermaid";
  if (format !== "mermaid" && format !== "svg") throw new UsageError("--format: expected mermaid or svg");
  const { config, problems, lineAt } = await loadFromArguments(context);
  showProblems(problems, lineAt, terminal.err);
  if (config === undefined) return EXIT.failed;
  const description = describeGraph(config);
  terminal.out.write(
    values["json"] === true ? `${JSON.stringify(description, undefined, 2)}\n` : FORMATS[format](description),
  );
  return EXIT.ok;
}

/** Delimiters of Mermaid's node shapes, put around a node's name. */
const SHAPES: Readonly<Record<GraphNode["kind"], readonly [string, string]>> = {
  receiver: ["([", "])"],
  processor: ["[", "]"],
  connector: ["{{", "}}"],
  exporter: ["[(", ")]"],
};

/**
 * Draws the graph as a Mermaid flowchart, which GitHub, GitLab and many wikis render, with a box around the processors
 * of each pipeline.
 */
function mermaidText({ nodes, edges }: GraphDescription): string {
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
