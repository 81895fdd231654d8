import type { ReloadReport } from "#contract/operations";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { operatorOf } from "./operator.js";
import { rehearsalRequest, rehearseFiles } from "./rehearse-reload.js";
import { printJson } from "./report.js";
import { withAgent } from "./with-agent.js";

const OUTCOMES: Readonly<Record<ReloadReport["outcome"], string>> = {
  applied: "The new config runs.",
  unchanged: "Nothing has changed: the agent runs with this config.",
  planned: "A reload would do this:",
  invalid: "The config has errors. The agent keeps the old one.",
  rolled_back: "The reload failed and was rolled back. The agent keeps the old config.",
};

/** `sluice reload` */
export function reload(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  if (values["rehearse"] === true && values["diff"] === true)
    throw new UsageError("--diff changes nothing, --rehearse reloads", "leave out one of them");
  if (values["rehearse"] !== true && REHEARSE_OPTIONS.some((name) => values[name] !== undefined))
    throw new UsageError(`these options need --rehearse: ${REHEARSE_OPTIONS.map((name) => `--${name}`).join(", ")}`);
  const request = values["rehearse"] === true ? rehearsalRequest(context) : undefined;
  return withAgent(context, async (api) => {
    const rehearsed = request && (await rehearseFiles(context, api, request));
    if (rehearsed !== undefined && (rehearsed.code !== EXIT.ok || !(await isConfirmed(context)))) {
      if (values["json"] === true) printJson(context, { rehearsal: rehearsed.status, reload: null });
      return rehearsed.code;
    }
    const expected = rehearsed?.status.generation.after;
    const { actor, reason } = operatorOf(context);
    const report = await api.post<ReloadReport>("/config/reload", {
      by: actor,
      ...(reason !== undefined && { reason }),
      ...(expected !== undefined && { expected }),
      dry_run: values["diff"] === true,
    });
    if (values["json"] === true)
      printJson(context, rehearsed === undefined ? report : { rehearsal: rehearsed.status, reload: report });
    else terminal.out.write(`${reportLines(report).join("\n")}\n`);
    return report.outcome === "invalid" || report.outcome === "rolled_back" ? EXIT.failed : EXIT.ok;
  });
}

const REHEARSE_OPTIONS = ["for", "sample-rate", "max-size", "fail-on", "yes"];

async function isConfirmed({ values, terminal }: CommandContext): Promise<boolean> {
  if (values["yes"] === true) return true;
  const answer = (await terminal.ask?.("Reload now? [y/N] ")) ?? "";
  if (/^y(es)?$/i.test(answer.trim())) return true;
  terminal.err.write("Nothing was changed. The agent keeps the old config.\n");
  return false;
}

function reportLines(report: ReloadReport): string[] {
  const { outcome, generation, problems } = report;
  const isUnchanged = outcome === "unchanged" || (outcome === "planned" && changesNothing(report));
  return [
    OUTCOMES[isUnchanged ? "unchanged" : outcome],
    ...(outcome === "invalid" || isUnchanged ? [] : changeLines(report)),
    ...problems.map(
      ({ severity, message, place }) => `${place === undefined ? "" : `${place} `}${severity}: ${message}`,
    ),
    `The agent runs generation ${generation.number} (${generation.hash}).`,
  ];
}

type Changes = Pick<ReloadReport, "changes" | "kept" | "afterRestart"> & {
  /** Older agents do not tell them. */
  readonly settings?: readonly string[];
  readonly refused?: readonly string[];
};

function changesNothing({ changes, settings = [], afterRestart, refused = [] }: Changes): boolean {
  return [changes, settings, afterRestart, refused].every(({ length }) => length === 0);
}

/** The changes of a reload, in words for people. */
export function changeLines({ changes, kept, settings = [], afterRestart, refused = [] }: Changes): string[] {
  return [
    ...changes.map(changeLine),
    ...settings.map((key) => `  change   ${key}`),
    `  keep     ${pluralize(kept, "component")}`,
    ...afterRestart.map((key) => `  ${key} takes effect when the agent is restarted`),
    ...refused.map((key) => `  ${key} cannot change while the agent runs: the reload would be refused`),
  ];
}

function changeLine({ action, kind, id, pipeline, reasons }: ReloadReport["changes"][number]): string {
  const where = pipeline === undefined ? "" : ` in ${pipeline}`;
  const why = reasons.length === 0 ? "" : `: ${reasons.join("; ")}`;
  return `  ${action.padEnd(8)} ${kind} ${id}${where}${why}`;
}
