import type { CommandContext } from "../command.js";
import { EXIT } from "../terminal.js";
import { confirm } from "./confirm.js";
import { selectedBy } from "./filters.js";
import { onDeadLetters, printJson } from "./run.js";
import { counted } from "./text.js";

/** `sluice dlq purge` */
export async function purge(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const selection = { query: selectedBy(values, Date.now()) };
  const dryRun = values["dry-run"] === true;
  return onDeadLetters(context, async ({ admin, where }) => {
    const found = await admin.deleteDeadLetters(selection, { dryRun: true });
    const isAgreed =
      dryRun ||
      found === 0 ||
      (await confirm(context, `Delete ${counted(found, "dead letter")} of ${where} for good?`));
    if (!isAgreed) return EXIT.failed;
    const deleted = dryRun || found === 0 ? found : await admin.deleteDeadLetters(selection);
    if (values["json"] === true) printJson(context, { deleted, dryRun });
    else terminal.out.write(`${counted(deleted, "dead letter")} ${dryRun ? "would be deleted" : "deleted"}.\n`);
    return EXIT.ok;
  });
}
