import type { CommandContext } from "./command.js";
import { loadFromArguments } from "./load-from-arguments.js";
import { showProblems } from "./show-problems.js";
import { EXIT } from "./terminal.js";

/** `sluice validate`: prints all problems of a config. */
export async function validate(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const { config, problems, lineAt } = await loadFromArguments(context);
  const valid = config !== undefined;
  if (values["json"] === true) terminal.out.write(`${JSON.stringify({ valid, problems }, undefined, 2)}\n`);
  else {
    showProblems(problems, lineAt, terminal.err);
    if (valid) terminal.out.write(`The config is valid: ${config.pipelines.map(({ id }) => id).join(", ")}.\n`);
  }
  return valid ? EXIT.ok : EXIT.failed;
}
