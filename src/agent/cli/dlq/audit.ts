import type { AuditRecord } from "#contract/operations";
import { printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { type Column, table } from "../print/table.js";
import { timeText } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { parsePositiveNumber, parseTime } from "./filters.js";

const COLUMNS: readonly Column[] = [
  { title: "TIME" },
  { title: "ACTOR", shrinks: true },
  { title: "ACTION" },
  { title: "WHAT", shrinks: true },
  { title: "COUNT", align: "right" },
  { title: "OUTCOME", shrinks: true },
  { title: "REASON", shrinks: true },
];

/** `sluice dlq audit` */
export async function audit(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const now = Date.now();
  const text = (name: string) => values[name] as string | undefined;
  const time = (name: string) => (text(name) === undefined ? undefined : parseTime(name, text(name)!, now));
  const limit = text("limit") === undefined ? undefined : parsePositiveNumber("limit", text("limit")!);
  const query = {
    since: time("since"),
    until: time("until"),
    limit,
    actor: text("actor"),
    action: text("action"),
    cursor: text("cursor"),
  };
  return withDeadLetters(context, async ({ admin }) => {
    const page = await admin.audit(query);
    if (values["json"] === true) printJson(context, page);
    else if (page.records.length === 0) terminal.out.write("The audit is empty.\n");
    else terminal.out.write(`${table(COLUMNS, page.records.map(rowOf), terminal.out).join("\n")}\n`);
    if (page.cursor !== undefined && values["json"] !== true)
      terminal.err.write(`\nThere are more: add --cursor ${page.cursor}\n`);
    return EXIT.ok;
  });
}

function rowOf({ at, actor, from, action, target, filter, count, outcome, reason = "" }: AuditRecord): string[] {
  const who = from === undefined ? actor : `${actor} (${from})`;
  const filters = Object.entries(filter ?? {}).map(([name, value]) => `${name}=${String(value)}`);
  const what = [...(target === undefined ? [] : [target]), ...filters].join(" ");
  return [timeText(at), who, action, what, count === undefined ? "" : String(count), outcome, reason];
}
