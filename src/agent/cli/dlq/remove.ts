import type { Selection } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { selectionQuery } from "./filters.js";

/** `sluice dlq restore` */
export async function restore(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const selection = selectionOf(context);
  return withDeadLetters(context, async ({ admin: anyone }) => {
    const admin = anyone.actingAs(operatorOf(context));
    const restored = await admin.restoreDeadLetters(selection);
    if (values["json"] === true) printJson(context, { restored });
    else terminal.out.write(`${pluralize(restored, "dead letter")} restored.\n`);
    return EXIT.ok;
  });
}

function selectionOf(context: CommandContext): Selection {
  const ids = [...new Set(positionalArguments(context))];
  if (ids.length === 0) return { query: selectionQuery(context.values, Date.now()) };
  if (context.values["all"] === true) throw new UsageError("--all and ids cannot be used together");
  return { ids };
}

/** `sluice dlq purge` */
export async function purge(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const selection = { query: selectionQuery(values, Date.now()) };
  const dryRun = values["dry-run"] === true;
  return withDeadLetters(context, async ({ admin: anyone, where }) => {
    const admin = anyone.actingAs(operatorOf(context));
    const found = await admin.deleteDeadLetters(selection, { dryRun: true });
    const isAgreed =
      dryRun ||
      found === 0 ||
      (await confirm(context, `Delete ${pluralize(found, "dead letter")} of ${where} permanently?`));
    if (!isAgreed) return EXIT.failed;
    const deleted = dryRun || found === 0 ? found : await admin.deleteDeadLetters(selection);
    if (values["json"] === true) printJson(context, { deleted, dryRun });
    else terminal.out.write(`${pluralize(deleted, "dead letter")} ${dryRun ? "would be deleted" : "deleted"}.\n`);
    return EXIT.ok;
  });
}

/** `sluice dlq delete` */
export async function remove(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const ids = [...new Set(positionalArguments(context))];
  if (ids.length === 0) throw new UsageError("no id was given", "dlq list prints them; dlq purge deletes by filters");
  if (ids.length > 1 && !(await confirm(context, `Delete ${ids.length} dead letters permanently?`))) return EXIT.failed;
  return withDeadLetters(context, async ({ admin: anyone }) => {
    const admin = anyone.actingAs(operatorOf(context));
    const deleted = await admin.deleteDeadLetters({ ids });
    if (values["json"] === true) printJson(context, { deleted });
    else terminal.out.write(`${pluralize(deleted, "dead letter")} deleted.\n`);
    return EXIT.ok;
  });
}

/** True when the user confirms, or gave --yes. Without a terminal --yes is required. */
export async function confirm({ values, terminal }: CommandContext, question: string): Promise<boolean> {
  if (values["yes"] === true) return true;
  if (terminal.ask === undefined)
    throw new UsageError(
      "this deletes data permanently, and there is no terminal to ask for confirmation",
      "say --yes",
    );
  const answer = await terminal.ask(`${question} [y/N] `);
  const isAgreed = /^y(es)?$/i.test(answer.trim());
  if (!isAgreed) terminal.err.write("Nothing was deleted.\n");
  return isAgreed;
}
