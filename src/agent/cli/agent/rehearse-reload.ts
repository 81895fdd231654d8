import process from "node:process";
import { AdminError } from "#contract/operations";
import type { RehearsalStatus } from "#contract/rehearsal";
import { MEASURES, parseFailCondition } from "../../rehearsal/fail-conditions.js";
import type { CommandContext } from "../command.js";
import { readDuration, readShare, readSize } from "../live/live-sample.js";
import { pluralize, roughDuration } from "../print/text.js";
import { RehearsalProgress } from "../rehearse/progress.js";
import { reportText } from "../rehearse/report-text.js";
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
  const { for: time, "sample-rate": rate, "max-size": size } = values as Readonly<Record<string, string>>;
  const conditions = (values["fail-on"] ?? []) as readonly string[];
  for (const text of conditions)
    if (parseFailCondition(text) === undefined)
      throw new UsageError(
        `--fail-on ${text} is not a condition`,
        `write NAME>NUMBER or NAME>PERCENT%; names: ${Object.keys(MEASURES).join(", ")}`,
      );
  if (values["yes"] !== true && (terminal.ask === undefined || values["json"] === true))
    throw new UsageError("--rehearse asks before it reloads, and cannot ask here", "add --yes, or use sluice rehearse");
  const { actor, reason } = operatorOf(context);
  return {
    by: actor,
    ...(reason !== undefined && { reason }),
    fail_on: conditions,
    ...(time !== undefined && { seconds: readDuration(time) / 1000 }),
    ...(rate !== undefined && { share: readShare(rate) }),
    ...(size !== undefined && { max_bytes: readSize(size) }),
  };
}

/** Lets the agent rehearse its files, and shows the result. Ctrl-C cancels the rehearsal. */
export async function rehearseFiles(context: CommandContext, api: AgentApi, request: object): Promise<RehearsalEnd> {
  const { values, terminal } = context;
  const cancel = () => void api.delete("/config/rehearsal").finally(() => process.exit(EXIT.failed));
  process.once("SIGINT", cancel);
  try {
    const status = await finished(api, request, new RehearsalProgress(terminal.err));
    if (values["json"] !== true && status.report !== undefined)
      terminal.out.write(`${[...reportText(status.report, terminal.out), ...noteLines(status)].join("\n")}\n`);
    for (const text of status.failed) terminal.err.write(`sluice: the rehearsal failed: ${text}\n`);
    return { code: codeOf(status), status };
  } finally {
    process.off("SIGINT", cancel);
  }

  function codeOf({ state, failed, problems, error }: RehearsalStatus): number {
    if (state !== "done") {
      for (const { severity, message, place } of problems)
        terminal.err.write(`${place === undefined ? "" : `${place} `}${severity}: ${message}\n`);
      terminal.err.write(`sluice: the rehearsal ${state === "cancelled" ? "was cancelled" : `failed: ${error}`}\n`);
      return EXIT.failed;
    }
    return failed.length > 0 ? EXIT.conditionHolds : EXIT.ok;
  }
}

async function finished(api: AgentApi, request: object, progress: RehearsalProgress): Promise<RehearsalStatus> {
  let { rehearsal } = await api.post<{ rehearsal: RehearsalStatus }>("/config/rehearsal", request);
  const { id } = rehearsal;
  try {
    while (rehearsal.state === "sampling" || rehearsal.state === "comparing") {
      progress.show(progressText(rehearsal));
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      ({ rehearsal } = await api.get<{ rehearsal: RehearsalStatus }>("/config/rehearsal"));
      if (rehearsal?.id !== id) throw new AdminError("conflict", "another rehearsal was started");
    }
    return rehearsal;
  } finally {
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
