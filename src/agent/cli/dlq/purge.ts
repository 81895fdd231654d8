import { operatorOf } from "../agent/operator.js";
import { printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { confirm } from "./confirm.js";
import { withDeadLetters } from "./connect.js";
import { selectionQuery } from "./filters.js";

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
