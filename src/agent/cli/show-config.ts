import { stringify } from "yaml";
import { redactedConfig } from "#config";
import type { ResolvedConfig } from "#config/resolve";
import type { CommandContext } from "./command.js";
import { loadFromArguments } from "./load-from-arguments.js";
import { showProblems } from "./show-problems.js";
import { EXIT } from "./terminal.js";

/** `sluice validate`: prints all problems of a config, and with `--diff` what a reload would change. */
export async function validate(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const { config, problems, lineAt } = await loadFromArguments(context);
  const valid = config !== undefined;
  const changes = valid && values["diff"] !== undefined ? await changesTo(config, context) : undefined;
  if (values["json"] === true)
    terminal.out.write(`${JSON.stringify({ valid, problems, ...(changes && { changes }) }, undefined, 2)}\n`);
  else {
    showProblems(problems, lineAt, terminal.err);
    if (valid) terminal.out.write(`The config is valid: ${config.pipelines.map(({ id }) => id).join(", ")}.\n`);
    if (changes !== undefined) {
      const { changeLines } = await import("./agent/reload.js");
      terminal.out.write(`${changeLines(changes).join("\n")}\n`);
    }
  }
  return valid ? EXIT.ok : EXIT.failed;
}

/** The changes from the config of `--diff` to this one; undefined if that one has errors. */
async function changesTo(after: ResolvedConfig, context: CommandContext) {
  const { config, problems, lineAt } = await loadFromArguments({
    ...context,
    values: { ...context.values, config: [context.values["diff"] as string] },
  });
  if (config !== undefined) {
    const { reloadPlan } = await import("../../runtime/host/reload/reload-plan.js");
    const { steps, settings, afterRestart, refused } = reloadPlan(config, after);
    const changes = steps.filter(({ action }) => action !== "keep");
    return { changes, kept: steps.length - changes.length, settings, afterRestart, refused };
  }
  showProblems(problems, lineAt, context.terminal.err);
  return undefined;
}

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
