import { stringify } from "yaml";
import { redactedConfig } from "#config";
import type { CommandContext } from "./command.js";
import { loadFromArguments } from "./load-from-arguments.js";
import { showProblems } from "./show-problems.js";
import { EXIT } from "./terminal.js";

/** `sluice print-config`: prints the merged config to stdout, even an invalid one, and its problems to stderr. */
export async function printConfig(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const { config, tree, registry, problems, lineAt } = await loadFromArguments(context);
  if (tree !== undefined) {
    const shown = redactedConfig(tree, { registry, defaults: values["defaults"] === true });
    terminal.out.write(
      values["json"] === true
        ? `${JSON.stringify(shown, undefined, 2)}\n`
        : stringify(shown, { aliasDuplicateObjects: false, lineWidth: 0 }),
    );
  }
  showProblems(problems, lineAt, terminal.err);
  return config === undefined ? EXIT.failed : EXIT.ok;
}
