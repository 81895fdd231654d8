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
