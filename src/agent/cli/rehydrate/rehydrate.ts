import process from "node:process";
import type { Rehydration } from "#contract/rehydration";
import { parseDuration } from "#contract/schema";
import { operatorOf } from "../agent/operator.js";
import { printJson } from "../agent/report.js";
import { type AgentApi, withAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { parsePositiveNumber, parseTime } from "../dlq/filters.js";
import { EXIT, UsageError } from "../terminal.js";
import { describeEstimate, describeJob, progressLine } from "./describe.js";

const POLL_MS = 250;

/** `sluice rehydrate` */
export async function rehydrate(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const request = requestOf(context);
  const isJson = values["json"] === true;
  if (values["dry-run"] !== true && values["yes"] !== true && (terminal.ask === undefined || isJson))
    throw new UsageError("this sends records again, and there is no terminal to ask", "say --yes, or --dry-run");
  return withAgent(context, async (api) => {
    const estimated = await follow(
      api,
      await api.post<Rehydration>("/rehydrations", { ...request, dryRun: true }),
      context,
    );
    if (estimated.state !== "done") return failed(estimated, context);
    if (!isJson) terminal.out.write(`${describeEstimate(estimated).join("\n")}\n`);
    if (values["dry-run"] === true) {
      if (isJson) printJson(context, estimated);
      return EXIT.ok;
    }
    if (estimated.estimate!.objects === 0) {
      if (isJson) printJson(context, estimated);
      return EXIT.ok;
    }
    if (!(await isAgreed(context))) return EXIT.failed;
    const begun = await api.post<Rehydration>("/rehydrations", { ...request, restart: values["restart"] === true });
    const job = await follow(api, begun, context);
    if (isJson) printJson(context, job);
    else terminal.out.write(`${describeJob(job).join("\n")}\n`);
    return job.state === "done" && Object.keys(job.faults).length === 0 ? EXIT.ok : EXIT.failed;
  });
}

function requestOf(context: CommandContext): Record<string, unknown> {
  const { values } = context;
  const text = (name: string) => values[name] as string | undefined;
  for (const name of ["from", "to", "since"])
    if (text(name) === undefined) throw new UsageError(`--${name} is missing`, "see sluice rehydrate --help");
  const { actor: by, reason } = operatorOf(context, false);
  const rate = text("rate");
  return {
    from: text("from"),
    to: text("to"),
    where: text("where"),
    partition: text("partition"),
    timezone: text("timezone"),
    region: text("region"),
    endpoint: text("endpoint"),
    by,
    reason,
    since: timeText("since", text("since")!),
    ...(text("until") !== undefined && { until: timeText("until", text("until")!) }),
    ...(rate !== undefined && { rate: parsePositiveNumber("rate", rate) }),
    ...(values["path-style"] === true && { pathStyle: true }),
  };
}

/** A duration before now stays one, so that the same command later means the same request. */
function timeText(name: string, text: string): string {
  const time = parseTime(name, text, Date.now());
  return /^\d+$/.test(text) || parseDuration(text) === undefined ? new Date(time).toISOString() : text;
}

async function isAgreed({ values, terminal }: CommandContext): Promise<boolean> {
  if (values["yes"] === true) return true;
  const answer = await terminal.ask!("Send them? [y/N] ");
  const isYes = /^y(es)?$/i.test(answer.trim());
  if (!isYes) terminal.err.write("Nothing was sent.\n");
  return isYes;
}

/** Shows the progress until the job has ended. Ctrl-C cancels the job, not the command. */
async function follow(api: AgentApi, begun: Rehydration, { terminal }: CommandContext): Promise<Rehydration> {
  let job = begun;
  let isCancelled = false;
  const onInterrupt = () => {
    isCancelled = true;
  };
  process.once("SIGINT", onInterrupt);
  const startedAt = Date.now();
  try {
    while (job.state === "running") {
      if (terminal.err.isTerminal) terminal.err.write(`\r\x1b[K${progressLine(job, begun, Date.now() - startedAt)}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const path = `/rehydrations/${job.id}`;
      job = await (isCancelled ? api.delete<Rehydration>(path) : api.get<Rehydration>(path));
    }
    return job;
  } finally {
    process.off("SIGINT", onInterrupt);
    if (terminal.err.isTerminal) terminal.err.write("\r\x1b[K");
  }
}

function failed(job: Rehydration, context: CommandContext): number {
  if (context.values["json"] === true) printJson(context, job);
  else context.terminal.err.write(`sluice: ${job.error ?? `the estimate was ${job.state}`}\n`);
  return EXIT.failed;
}
