import type { OrphanedQueue } from "#contract/operations";
import { printJson } from "../agent/report.js";
import { withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { type Column, table } from "../print/table.js";
import { EXIT } from "../terminal.js";

const COLUMNS: readonly Column[] = [
  { title: "QUEUE", shrinks: true },
  { title: "KIND" },
  { title: "WAITING", align: "right" },
  { title: "DEAD", align: "right" },
  { title: "PLACE", shrinks: true },
];

/** `sluice queue list` */
export function list(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  return withAgent(context, async (api) => {
    const { queues } = await api.get<{ queues: readonly OrphanedQueue[] }>("/queues/orphaned");
    if (values["json"] === true) printJson(context, { queues });
    else if (queues.length === 0) terminal.out.write("No queue is orphaned.\n");
    else terminal.out.write(`${[...table(COLUMNS, queues.map(rowOf), terminal.out), "", ADVICE].join("\n")}\n`);
    return queues.length === 0 ? EXIT.ok : EXIT.failed;
  });
}

const ADVICE =
  "Send their entries with sluice queue adopt QUEUE --to EXPORTER, or delete them with sluice queue delete QUEUE.";

function rowOf({ id, kind, pending, deadLetters, place }: OrphanedQueue): string[] {
  return [id, kind, numberText(pending), numberText(deadLetters), place];
}

/** The content of a queue without a summary file is unknown until it is opened. */
function numberText(number: number | undefined): string {
  return number === undefined ? "?" : String(number);
}
