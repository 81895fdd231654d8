import type { ExporterStatus } from "#contract/operations";
import type { CommandContext } from "../command.js";
import { EXIT, UsageError } from "../terminal.js";
import { operatorOf } from "./operator.js";
import { positionalArguments, printJson } from "./report.js";
import { withAgent } from "./with-agent.js";

const BREAKER_STATES = ["open", "closed", "auto"];

/** `sluice exporter pause` */
export const pause = changing("pause", ({ id }) => `${id} is paused: new data waits in its queue.`);

/** `sluice exporter resume` */
export const resume = changing("resume", ({ id }) => `${id} is resumed and sends its queue.`);

/** `sluice exporter retry` */
export const retry = changing(
  "retry",
  ({ id, queue }) => `${id} retries its waiting entries now; its queue has ${queue.entries}.`,
);

/** `sluice exporter breaker` */
export async function breaker(context: CommandContext): Promise<number> {
  const [id, state, ...others] = positionalArguments(context);
  if (id === undefined || !BREAKER_STATES.includes(state ?? "") || others.length > 0)
    throw new UsageError("expected the id of an exporter, and one of open, closed or auto");
  return change(context, id, "breaker", { ...operatorBody(context), state }, (status) =>
    state === "auto"
      ? `The circuit breaker of ${id} is automatic again; it is ${status.breaker.state.replace("_", " ")}.`
      : `The circuit breaker of ${id} is held ${state}; sluice exporter breaker ${id} auto makes it automatic again.`,
  );
}

/** The actor and the reason that the audit records. */
function operatorBody(context: CommandContext): object {
  const { actor, reason } = operatorOf(context, false);
  return { by: actor, reason };
}

function changing(what: string, say: (status: ExporterStatus) => string) {
  return async (context: CommandContext): Promise<number> => {
    const [id, ...others] = positionalArguments(context);
    if (id === undefined || others.length > 0) throw new UsageError("expected the id of one exporter");
    return change(context, id, what, operatorBody(context), say);
  };
}

function change(
  context: CommandContext,
  id: string,
  what: string,
  body: object,
  say: (status: ExporterStatus) => string,
): Promise<number> {
  return withAgent(context, async (api) => {
    const status = await api.post<ExporterStatus>(`/exporters/${encodeURIComponent(id)}/${what}`, body);
    if (context.values["json"] === true) printJson(context, status);
    else context.terminal.out.write(`${say(status)}\n`);
    return EXIT.ok;
  });
}
