import { createReadStream } from "node:fs";
import type { ImportReport } from "#contract/operations";
import { printable, splitLines } from "#text";
import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { readQueueConfig, withDeadLetters } from "./connect.js";

const MAX_SHOWN = 20;

/** `sluice dlq import`: checks the whole file first, so that a damaged file changes nothing. */
export async function importDeadLetters(context: CommandContext): Promise<number> {
  const { values } = context;
  const [file, ...more] = positionalArguments(context);
  const folder = values["set-aside"] as string | undefined;
  if (folder !== undefined && file === undefined) return importSetAside(context, folder);
  if (file === undefined || more.length > 0 || folder !== undefined)
    throw new UsageError("import needs one file, or --set-aside with a folder");
  return withDeadLetters(context, async ({ admin: anyone }) => {
    const admin = anyone.actingAs(operatorOf(context));
    const damaged = values["skip-damaged"] === true ? [] : await damagedLines(file);
    if (damaged.length > 0) {
      printReport(
        context,
        { imported: 0, problems: damaged },
        "nothing was imported; --skip-damaged imports the other lines",
      );
      return EXIT.failed;
    }
    const report = await admin.importDeadLetters(linesOf(file));
    printReport(context, report);
    return report.problems.length === 0 ? EXIT.ok : EXIT.failed;
  });
}

/**
 * Imports the entries that a repair has set aside, except those that the repaired queue has. Line numbers in problems
 * count only the entries that are imported.
 */
function importSetAside(context: CommandContext, folder: string): Promise<number> {
  return withDeadLetters(context, async ({ admin: anyone }) => {
    const admin = anyone.actingAs(operatorOf(context));
    const queues = await readQueueConfig(context);
    const { setAsideLines } = await import("../../../runtime/queue/operate/set-aside-lines.js");
    const report = await admin.importDeadLetters(setAsideLines(folder, queues?.keyring));
    printReport(context, report);
    return report.problems.length === 0 ? EXIT.ok : EXIT.failed;
  });
}

function linesOf(file: string): AsyncIterable<string> {
  return splitLines(createReadStream(file, "utf8"));
}

async function damagedLines(file: string): Promise<{ line: number; message: string }[]> {
  const { readTransferLine } = await import("../../../runtime/queue/dead-letters/transfer/transfer-line.js");
  const damaged: { line: number; message: string }[] = [];
  let line = 0;
  for await (const text of linesOf(file)) {
    line++;
    const read = text.trim() === "" ? undefined : readTransferLine(text);
    if (read !== undefined && "problem" in read) damaged.push({ line, message: read.problem });
  }
  return damaged;
}

function printReport(context: CommandContext, { imported, problems }: ImportReport, advice?: string): void {
  const { values, terminal } = context;
  if (values["json"] === true) return printJson(context, { imported, problems });
  for (const { line, message } of problems.slice(0, MAX_SHOWN))
    terminal.err.write(`line ${line}: ${printable(message)}\n`);
  if (problems.length > MAX_SHOWN) terminal.err.write(`and ${problems.length - MAX_SHOWN} more\n`);
  if (advice !== undefined) terminal.err.write(`sluice: ${advice}\n`);
  else terminal.out.write(`${pluralize(imported, "dead letter")} imported.\n`);
}
