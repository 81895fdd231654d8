import { describeGraph } from "../../pipeline/describe-graph.js";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { showProblems } from "../show-problems.js";
import { EXIT, UsageError } from "../terminal.js";
import { mermaidText } from "./mermaid.js";
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
