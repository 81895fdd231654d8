import type { ReloadReport } from "#contract/operations";
import type { CommandContext } from "../command.js";
import { pluralize } from "../print/text.js";
import { EXIT } from "../terminal.js";
import { operatorOf } from "./operator.js";
import { printJson } from "./report.js";
import { withAgent } from "./with-agent.js";

const OUTCOMES: Readonly<Record<ReloadReport["outcome"], string>> = {
  applied: "The new config runs.",
  unchanged: "Nothing has changed: the agent runs with this config.",
  planned: "A reload would do this:",
  invalid: "The config has errors. The old one runs on.",
  rolled_back: "The reload failed and was rolled back. The old config runs on.",
};

/** `sluice reload` */
export function reload(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  return withAgent(context, async (api) => {
    const { actor, reason } = operatorOf(context);
    const report = await api.post<ReloadReport>("/config/reload", {
      by: actor,
      ...(reason !== undefined && { reason }),
      dry_run: values["diff"] === true,
    });
    if (values["json"] === true) printJson(context, report);
    else terminal.out.write(`${reportLines(report).join("\n")}\n`);
    return report.outcome === "invalid" || report.outcome === "rolled_back" ? EXIT.failed : EXIT.ok;
  });
}

function reportLines(report: ReloadReport): string[] {
  const { outcome, generation, problems } = report;
  return [
    OUTCOMES[outcome],
    ...(outcome === "invalid" || outcome === "unchanged" ? [] : changeLines(report)),
    ...problems.map(
      ({ severity, message, place }) => `${place === undefined ? "" : `${place} `}${severity}: ${message}`,
    ),
    `The agent runs generation ${generation.number} (${generation.hash}).`,
  ];
}

type Changes = Pick<ReloadReport, "changes" | "kept" | "afterRestart"> & { readonly refused?: readonly string[] };

/** What a reload changes, for people. */
export function changeLines({ changes, kept, afterRestart, refused = [] }: Changes): string[] {
  return [
    ...changes.map(changeLine),
    `  keep     ${pluralize(kept, "component")}`,
    ...afterRestart.map((key) => `  ${key} takes effect when the agent is started again`),
    ...refused.map((key) => `  ${key} cannot change while the agent runs: the reload would be refused`),
  ];
}

function changeLine({ action, kind, id, pipeline, reasons }: ReloadReport["changes"][number]): string {
  const where = pipeline === undefined ? "" : ` in ${pipeline}`;
  const why = reasons.length === 0 ? "" : `: ${reasons.join("; ")}`;
  return `  ${action.padEnd(8)} ${kind} ${id}${where}${why}`;
}
