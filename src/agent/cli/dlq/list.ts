import type { DeadLetterPage, DeadLetterQuery, Entry } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { printJson, warnOfMissingWorkers } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { type Column, table } from "../print/table.js";
import { ageText, errorText } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { queryOf } from "./filters.js";
import type { DeadLetterAdmin } from "./remote.js";

const DEFAULT_LIMIT = 50;

const COLUMNS: readonly Column[] = [
  { title: "ID" },
  { title: "FAILED" },
  { title: "EXPORTER", shrinks: true },
  { title: "REASON" },
  { title: "ITEMS", align: "right" },
  { title: "ERROR", shrinks: true },
];

/** `sluice dlq list` */
export async function list(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const now = Date.now();
  const query = queryOf(values, now);
  return withDeadLetters(context, async ({ admin }) => {
    const page = await fullPage(admin.actingAs(operatorOf(context)), query);
    if (values["json"] === true) printJson(context, page);
    else if (page.entries.length === 0) terminal.out.write("No dead letters.\n");
    else {
      const rows = page.entries.map((entry) => rowOf(entry, now));
      terminal.out.write(`${table(COLUMNS, rows, terminal.out).join("\n")}\n`);
      if (page.cursor !== undefined) terminal.err.write(`\nThere are more: add --cursor ${page.cursor}\n`);
    }
    warnOfMissingWorkers(context, page);
    return EXIT.ok;
  });
}

/** Requests further pages until the limit is reached: a page may end early when its filters match few entries. */
async function fullPage(admin: DeadLetterAdmin, query: DeadLetterQuery): Promise<DeadLetterPage> {
  const { limit = DEFAULT_LIMIT } = query;
  const entries: Entry[] = [];
  let { cursor } = query;
  let partial: Pick<DeadLetterPage, "unavailableWorkers"> = {};
  do {
    const rest = { ...query, limit: limit - entries.length, ...(cursor !== undefined && { cursor }) };
    const page = await admin.listDeadLetters(rest);
    entries.push(...page.entries);
    cursor = page.cursor;
    if (page.unavailableWorkers !== undefined) partial = { unavailableWorkers: page.unavailableWorkers };
  } while (cursor !== undefined && entries.length < limit);
  return { entries, ...(cursor !== undefined && { cursor }), ...partial };
}

function rowOf({ id, exporter, items, failure }: Entry, now: number): string[] {
  const { at, reason, error, requestItems } = failure!;
  const company = requestItems === undefined ? "" : `in a request of ${requestItems} records: `;
  return [id, ageText(at, now), exporter, reason, String(items), `${company}${errorText(error)}`];
}
