import type { DeadLetterStats } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { printJson, warnOfMissingWorkers } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { type Column, table } from "../print/table.js";
import { ageText, errorText, pluralize, roughByteSize } from "../print/text.js";
import { EXIT, type Output } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { queryOf } from "./filters.js";

const COLUMNS: readonly Column[] = [
  { title: "SIGNATURE" },
  { title: "ENTRIES", align: "right" },
  { title: "ITEMS", align: "right" },
  { title: "LAST" },
  { title: "EXPORTER", shrinks: true },
  { title: "ERROR", shrinks: true },
];

/** `sluice dlq stats` */
export async function stats(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const now = Date.now();
  const query = queryOf(values, now);
  return withDeadLetters(context, async ({ admin }) => {
    const found = await admin.actingAs(operatorOf(context)).deadLetterStats(query);
    if (values["json"] === true) printJson(context, found);
    else terminal.out.write(`${describeStats(found, now, terminal.out).join("\n")}\n`);
    warnOfMissingWorkers(context, found);
    return EXIT.ok;
  });
}

function describeStats(found: DeadLetterStats, now: number, out: Output): string[] {
  if (found.entries === 0) return ["No dead letters."];
  const { entries, items, bytes, oldestAt, byReason, byCategory, byExporter, signatures } = found;
  const rows = signatures.map((each) => [
    each.signature,
    String(each.entries),
    String(each.items),
    ageText(each.lastAt, now),
    each.exporter,
    errorText(each),
  ]);
  const total = `${pluralize(entries, "dead letter")}, ${pluralize(items, "item")}, ${roughByteSize(bytes)}`;
  return [
    `${total}; the oldest failed ${ageText(oldestAt, now)}.`,
    `By reason: ${shares(byReason)}`,
    `By category: ${shares(byCategory)}`,
    `By exporter: ${shares(byExporter)}`,
    "",
    ...table(COLUMNS, rows, out),
  ];
}

function shares(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, number]) => `${name} ${number}`)
    .join(", ");
}
