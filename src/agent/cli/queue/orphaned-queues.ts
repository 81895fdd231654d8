import type { OrphanedQueue, QueueAdoption } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import { type AgentApi, withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { progressBar, skipReason } from "../dlq/follow-replay.js";
import { confirm } from "../dlq/remove.js";
import { type Column, table } from "../print/table.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";

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

const POLL_MS = 250;

/** `sluice queue adopt` */
export function adopt(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const queue = queueNamed(context);
  const to = values["to"] as string | undefined;
  if (to === undefined)
    throw new UsageError("no exporter was given", "name the one that gets the entries: --to EXPORTER");
  const { actor: by, reason } = operatorOf(context);
  return withAgent(context, async (api) => {
    const path = `/queues/orphaned/${encodeURIComponent(queue)}`;
    const json = { to, by, reason, ...pipelineOption(context) };
    const adoption = await follow(api, path, await api.post<QueueAdoption>(`${path}/adopt`, json), context);
    if (values["json"] === true) printJson(context, adoption);
    else terminal.out.write(`${describe(adoption).join("\n")}\n`);
    return adoption.state === "done" && Object.keys(adoption.skipped).length === 0 ? EXIT.ok : EXIT.failed;
  });
}

/** The queue that the command is about. */
function queueNamed(context: CommandContext): string {
  const [queue, ...others] = positionalArguments(context);
  if (queue === undefined || others.length > 0) throw new UsageError("name one queue", "sluice queue list shows them");
  return queue;
}

function pipelineOption({ values }: CommandContext): { readonly pipeline?: string | false } {
  const pipeline = values["pipeline"] as string | undefined;
  if (values["as-is"] !== true) return pipeline === undefined ? {} : { pipeline };
  if (pipeline !== undefined) throw new UsageError("--pipeline and --as-is cannot be used together");
  return { pipeline: false };
}

async function follow(
  api: AgentApi,
  path: string,
  begun: QueueAdoption,
  { terminal }: CommandContext,
): Promise<QueueAdoption> {
  const progress = progressBar(terminal.err);
  let adoption = begun;
  while (adoption.state === "running") {
    progress.show(adoption.moved + skippedOf(adoption), adoption.total);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    adoption = await api.get<QueueAdoption>(`${path}/adoption`);
  }
  progress.end();
  return adoption;
}

function skippedOf({ skipped }: QueueAdoption): number {
  return Object.values(skipped).reduce((sum, number) => sum + number, 0);
}

function describe({ queue, to, moved, skipped, state, error }: QueueAdoption): string[] {
  const lines = [`${pluralize(moved, "entry", "entries")} of ${queue} moved to ${to}.`];
  for (const [reason, number] of Object.entries(skipped)) lines.push(`  ${number} left: ${skipReason(reason)}`);
  if (state === "failed") lines.push(`The adoption failed: ${error}. Run the command again to continue.`);
  if (state === "cancelled") lines.push("The adoption was cancelled: the exporter came back, or the agent stops.");
  return lines;
}

/** `sluice queue delete` */
export function remove(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const queue = queueNamed(context);
  const { actor: by, reason } = operatorOf(context);
  return withAgent(context, async (api) => {
    const { queues } = await api.get<{ queues: readonly OrphanedQueue[] }>("/queues/orphaned");
    const found = queues.find(({ id }) => id === queue);
    if (found !== undefined && !(await confirm(context, questionAbout(found)))) return EXIT.failed;
    const path = `/queues/orphaned/${encodeURIComponent(queue)}/delete`;
    const { deleted } = await api.post<{ deleted: number | null }>(path, { by, reason });
    if (values["json"] === true) printJson(context, { deleted });
    else terminal.out.write(`The queue ${queue} was deleted${deleted === null ? "" : ` with ${entries(deleted)}`}.\n`);
    return EXIT.ok;
  });
}

function questionAbout({ id, pending, deadLetters }: OrphanedQueue): string {
  if (pending === undefined || deadLetters === undefined) return `Delete the queue ${id} permanently?`;
  const dead = pluralize(deadLetters, "dead letter");
  return `Delete the queue ${id} permanently, with ${entries(pending)} that wait and ${dead}?`;
}

function entries(number: number): string {
  return pluralize(number, "entry", "entries");
}
