import process from "node:process";
import { AdminError } from "#contract/operations";
import type { RehearsalStatus } from "#contract/rehearsal";
import { MEASURES, parseFailCondition } from "../../rehearsal/fail-conditions.js";
import type { CommandContext } from "../command.js";
import { readDuration, readShare, readSize } from "../live/live-sample.js";
import { pluralize, roughDuration } from "../print/text.js";
import { RehearsalProgress, reportText } from "../rehearse/report-text.js";
import { EXIT, UsageError } from "../terminal.js";
import { operatorOf } from "./operator.js";
import type { AgentApi } from "./with-agent.js";

const POLL_MS = 300;

/** A rehearsal that has ended, and the exit code: 0 if its config may be reloaded. */
interface RehearsalEnd {
  readonly code: number;
  readonly status: RehearsalStatus;
}

/** Reads the options of `--rehearse`. Throws a `UsageError` if one is invalid, before anything is done. */
export function rehearsalRequest(context: CommandContext): Readonly<Record<string, unknown>> {
  const { values, terminal } = context;
  const conditions = (values["fail-on"] ?? []) as readonly string[];
  for (const text of conditions)
    if (parseFailCondition(text) === undefined)
      throw new UsageError(
        `--fail-on ${text} is not a condition`,
        `write NAME>NUMBER or NAME>PERCENT%; names: ${Object.keys(MEASURES).join(", ")}`,
      );
  if (values["yes"] !== true && (terminal.ask === undefined || values["json"] === true))
    throw new UsageError("--rehearse asks before it reloads, and cannot ask here", "add --yes, or use sluice rehearse");
  return { ...liveRehearsalRequest(context), fail_on: conditions };
}

/** Reads the options that every rehearsal in a running agent has. Throws a `UsageError` if one is invalid. */
export function liveRehearsalRequest(context: CommandContext): Readonly<Record<string, unknown>> {
  const { for: time, "sample-rate": rate, "max-size": size } = context.values as Readonly<Record<string, string>>;
  const { actor, reason } = operatorOf(context);
  return {
    by: actor,
    ...(reason !== undefined && { reason }),
    ...(time !== undefined && { seconds: readDuration(time) / 1000 }),
    ...(rate !== undefined && { share: readShare(rate) }),
    ...(size !== undefined && { max_bytes: readSize(size) }),
  };
}

/** Lets the agent rehearse its files, and shows the result. Ctrl-C cancels the rehearsal. */
export async function rehearseFiles(context: CommandContext, api: AgentApi, request: object): Promise<RehearsalEnd> {
  const { values, terminal } = context;
  const { rehearsal: status } = await runRehearsal(context, api, { path: "/config/rehearsal", request });
  if (values["json"] !== true && status.report !== undefined)
    terminal.out.write(`${[...reportText(status.report, terminal.out), ...noteLines(status)].join("\n")}\n`);
  for (const text of status.failed) terminal.err.write(`sluice: the rehearsal failed: ${text}\n`);
  return { code: rehearsalCode(status, context), status };
}

/** Returns the exit code of a rehearsal, and prints why it has no result. */
export function rehearsalCode(
  { state, failed, problems, error }: RehearsalStatus,
  { terminal }: CommandContext,
): number {
  if (state !== "done") {
    for (const { severity, message, place } of problems)
      terminal.err.write(`${place === undefined ? "" : `${place} `}${severity}: ${message}\n`);
    terminal.err.write(`sluice: the rehearsal ${state === "cancelled" ? "was cancelled" : `failed: ${error}`}\n`);
    return EXIT.failed;
  }
  return failed.length > 0 ? EXIT.conditionHolds : EXIT.ok;
}

interface RehearsalStart {
  /** Where a rehearsal is started, followed and cancelled. */
  readonly path: string;
  /** Added to the path at the start only. */
  readonly query?: string;
  readonly request: object;
}

/** Starts a rehearsal and follows it until it ends. Ctrl-C cancels it. Returns the last answer. */
export async function runRehearsal<Answer extends { readonly rehearsal: RehearsalStatus }>(
  { terminal }: CommandContext,
  api: AgentApi,
  { path, query = "", request }: RehearsalStart,
): Promise<Answer> {
  const progress = new RehearsalProgress(terminal.err);
  let answer = await api.post<Answer>(`${path}${query}`, request);
  const { id } = answer.rehearsal;
  const cancel = () => void api.delete(path).finally(() => process.exit(EXIT.failed));
  process.once("SIGINT", cancel);
  try {
    while (answer.rehearsal.state === "sampling" || answer.rehearsal.state === "comparing") {
      progress.show(progressText(answer.rehearsal));
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      answer = await api.get<Answer>(path);
      if (answer.rehearsal?.id !== id) throw new AdminError("conflict", "another rehearsal was started");
    }
    return answer;
  } finally {
    process.off("SIGINT", cancel);
    progress.clear();
  }
}

function progressText({ state, sample, sampleEndsAt, progress }: RehearsalStatus): string {
  if (state === "comparing") return `Rehearsing: ${Math.floor(progress * 100)} %`;
  const left = roughDuration(Math.max(0, sampleEndsAt - Date.now()));
  return `Sampling: ${pluralize(sample.records, "record")}, ${left} left`;
}

function noteLines({ changedPlugins }: RehearsalStatus): string[] {
  return changedPlugins.map((path) => `The plugin ${path} has changed: both configs ran with its new version.`);
}
