import type { QueueAdoption } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import { type AgentApi, withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { skipReason } from "../dlq/skip-reasons.js";
import { progressBar } from "../print/progress-bar.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";

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
export function queueNamed(context: CommandContext): string {
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
