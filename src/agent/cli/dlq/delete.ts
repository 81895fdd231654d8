import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { confirm } from "./confirm.js";
import { withDeadLetters } from "./connect.js";

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
