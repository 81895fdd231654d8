import type { Admin, ConfigGeneration, Operator, ReloadReport } from "#contract/operations";

/** Further changes are only counted. */
const MAX_CHANGES = 50;

/** Records a reload in the audit, once for each person or process that asked for it. Values of the config are left out. */
export async function auditReload(
  admin: Admin | undefined,
  operators: readonly Operator[],
  from: ConfigGeneration,
  report: ReloadReport,
): Promise<void> {
  const { generation: to, changes, kept } = report;
  const listed = changes.slice(0, MAX_CHANGES).map(changeText);
  const more = changes.length - listed.length;
  const what = {
    from: generationText(from),
    to: generationText(to),
    changed: more > 0 ? [...listed, `${more} more`] : listed,
    kept,
  };
  for (const operator of operators) await admin?.actingAs(operator).noteReload?.(what, outcomeText(report));
}

function generationText({ number, hash }: ConfigGeneration): string {
  return `${number} (${hash})`;
}

function changeText({ action, kind, id, pipeline, reasons }: ReloadReport["changes"][number]): string {
  const where = pipeline === undefined ? "" : ` in ${pipeline}`;
  return `${action} ${kind} ${id}${where}${reasons.length === 0 ? "" : `: ${reasons.join("; ")}`}`;
}

/** Messages of errors may quote values, so only their codes are recorded. */
function outcomeText({ outcome, problems }: ReloadReport): string {
  if (outcome === "applied") return "done";
  if (outcome === "unchanged") return "done: nothing has changed";
  const codes = new Set(problems.filter(({ severity }) => severity === "error").map(({ code }) => code));
  return `failed: ${outcome}: ${[...codes].join(", ")}`;
}
