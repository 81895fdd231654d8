import type { OrphanedQueue } from "#contract/operations";
import { operatorOf } from "../agent/operator.js";
import { printJson } from "../agent/report.js";
import { withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { confirm } from "../dlq/confirm.js";
import { pluralize } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { queueNamed } from "./adopt.js";

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
