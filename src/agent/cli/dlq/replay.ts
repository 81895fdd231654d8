import process from "node:process";
import type { ReplayJob, ReplayOptions, ReplayReport, ReplaySample, Selection } from "#contract/operations";
import { parseDuration } from "#contract/schema";
import { painter, printable } from "#text";
import { operatorOf, revealOptions, withOldReason } from "../agent/operator.js";
import { positionalArguments, printJson } from "../agent/report.js";
import type { CommandContext } from "../command.js";
import { diffText } from "../print/diff.js";
import { errorText, pluralize } from "../print/text.js";
import { EXIT, UsageError } from "../terminal.js";
import { withDeadLetters } from "./connect.js";
import { parseRate, selectionQuery } from "./filters.js";
import { followReplay, progressBar, skipReason } from "./follow-replay.js";

/** `sluice dlq replay` */
export async function replay(given: CommandContext): Promise<number> {
  const context = withOldReason(given);
  const { values, terminal } = context;
  const selection = selectionOf(context);
  const isDiff = values["diff"] === true;
  const dryRun = values["dry-run"] === true || isDiff;
  const reveal = revealOptions(context).reveal === true;
  if (reveal && !isDiff) throw new UsageError("--reveal needs --diff");
  const options = {
    by: operatorOf(context).actor,
    dryRun,
    approved: values["approve"] === true,
    ...(values["generation"] !== undefined && { generation: values["generation"] as string }),
    ...pipelineOption(values),
    ...(values["to"] !== undefined && { to: values["to"] as string }),
    ...(values["transform"] !== undefined && { transform: values["transform"] as readonly string[] }),
    ...(isDiff && { samples: MAX_SAMPLES, revealSamples: reveal }),
    ...(values["rate"] !== undefined && { rate: parseRate(values["rate"] as string) }),
  };
  const waitsMs = waitOption(values);
  return withDeadLetters(context, async ({ admin, isOffline }) => {
    if (isOffline && waitsMs !== undefined)
      throw new UsageError("--wait needs a running agent, because only an agent sends data");
    const progress = progressBar(terminal.err);
    const interrupt = onInterrupt();
    const following = { waitsMs, onProgress: progress.show, abort: interrupt.signal };
    const job = await followReplay(admin.actingAs(operatorOf(context)), selection, options, following).finally(() => {
      progress.end();
      interrupt.end();
    });
    const report = job.report!;
    const isWaiting = waitsMs !== undefined && !dryRun;
    if (values["json"] === true) printJson(context, isWaiting ? { ...report, ...outcomeOf(job) } : report);
    else {
      for (const sample of report.samples ?? [])
        terminal.out.write(`${describeSample(sample, context).join("\n")}\n\n`);
      terminal.out.write(describeReport(report, dryRun, interrupt.signal.aborted));
      if (isWaiting && job.queued > 0) terminal.out.write(`${describeOutcome(job).join("\n")}\n`);
    }
    if (isOffline && report.replayed > 0 && !dryRun)
      terminal.err.write("They are sent when an agent runs there again.\n");
    const isWhole = report.replayed === report.selected && !interrupt.signal.aborted;
    const isDelivered = !isWaiting || job.delivered === job.queued;
    return (isWhole && isDelivered) || dryRun ? EXIT.ok : EXIT.failed;
  });
}

/** How long to wait for the outcomes, in milliseconds; undefined: do not wait. */
function waitOption(values: CommandContext["values"]): number | undefined {
  const timeout = values["timeout"] as string | undefined;
  if (values["wait"] !== true) {
    if (timeout !== undefined) throw new UsageError("--timeout needs --wait");
    return undefined;
  }
  if (timeout === undefined) return Number.POSITIVE_INFINITY;
  const ms = parseDuration(timeout);
  if (ms === undefined) throw new UsageError(`--timeout ${timeout} is not a duration`, "write 30s or 5m");
  return ms;
}

function outcomeOf({ id, queued, delivered, failedAgain, pending, outcomes = [] }: ReplayJob) {
  return { id, queued, delivered, failedAgain, pending, outcomes };
}

const MAX_SHOWN = 10;

function describeOutcome({ id, delivered, failedAgain, pending, outcomes = [] }: ReplayJob): string[] {
  const failed = outcomes.filter(({ outcome }) => outcome !== "delivered" && outcome !== "pending");
  const more = failedAgain - Math.min(failed.length, MAX_SHOWN);
  return [
    `${delivered} delivered, ${failedAgain} failed again, ${pending} still waiting (replay ${id}).`,
    ...failed.slice(0, MAX_SHOWN).map(({ id: entry, error }) => {
      return `  ${entry}: ${error === undefined ? "dropped" : printable(errorText(error))}`;
    }),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

const MAX_SAMPLES = 3;

function describeSample(sample: ReplaySample, { terminal }: CommandContext): string[] {
  const { id, exporter, masked, before, after, note } = sample;
  const title = `${id} of ${exporter}, as stored and as it would be sent${masked ? ", masked" : ""}`;
  if (note !== undefined) return [title, `  ${printable(note)}`];
  return [title, ...diffText(before, after, painter(terminal.out.colour))];
}

function pipelineOption(values: CommandContext["values"]): Pick<ReplayOptions, "pipeline"> {
  const pipeline = values["pipeline"] as string | undefined;
  if (values["as-is"] !== true) return pipeline === undefined ? {} : { pipeline };
  if (pipeline !== undefined) throw new UsageError("--pipeline and --as-is cannot be used together");
  return { pipeline: false };
}

function selectionOf(context: CommandContext): Selection {
  const ids = positionalArguments(context);
  const { values } = context;
  if (ids.length === 0) return { query: selectionQuery(values, Date.now()) };
  const filter = [
    "all",
    "exporter",
    "reason",
    "category",
    "signature",
    "signal",
    "event",
    "where",
    "attribute",
    "text",
    "since",
    "until",
    "limit",
  ].find((name) => values[name] !== undefined);
  if (filter !== undefined) throw new UsageError(`ids and --${filter} cannot be used together`);
  return { ids };
}

/** Ctrl-C cancels the replay, not the command: the entries replayed until then are still reported. */
function onInterrupt(): { signal: AbortSignal; end(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  process.once("SIGINT", abort);
  return { signal: controller.signal, end: () => void process.off("SIGINT", abort) };
}

function describeReport(
  { selected, replayed, skipped, examples }: ReplayReport,
  dryRun: boolean,
  aborted: boolean,
): string {
  if (selected === 0) return "No dead letters were selected.\n";
  const verb = dryRun ? "would be" : replayed === 1 ? "was" : "were";
  const lines = [
    `${pluralize(replayed, "dead letter")} ${verb} queued again${aborted ? ", then it was interrupted" : ""}.`,
  ];
  for (const [reason, number] of Object.entries(skipped)) {
    const left = examples.filter((each) => each.reason === reason);
    const ids = left.map(({ id }) => id);
    const shown = `${ids.slice(0, 3).join(", ")}${number > Math.min(3, ids.length) ? " ..." : ""}`;
    lines.push(`  ${number} left: ${skipReason(reason)}: ${printable(shown)}`);
    const message = left.find((each) => each.message !== undefined)?.message;
    if (message !== undefined) lines.push(`    ${printable(message)}`);
  }
  return `${lines.join("\n")}\n`;
}
