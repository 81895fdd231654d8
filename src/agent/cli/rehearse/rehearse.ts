import type { ResolvedConfig } from "#config/resolve";
import type { Problem } from "#config/text";
import type { RehearsalReport } from "#contract/rehearsal";
import { Batch } from "#otlp";
import { type FailCondition, MEASURES, parseFailCondition } from "../../rehearsal/fail-conditions.js";
import { rehearseSample, type TakenSample } from "../../rehearsal/rehearse-sample.js";
import { type ReadBatch, readSampleFile, SampleFileError } from "../../rehearsal/sample-file.js";
import { positionalArguments, printJson, reportFailure } from "../agent/report.js";
import { type AgentApi, connectToAgent } from "../agent/with-agent.js";
import type { CommandContext } from "../command.js";
import { liveSample, type SampleRequest, sampleRequest } from "../live/live-sample.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { pluralize } from "../print/text.js";
import { showProblems } from "../show-problems.js";
import { EXIT, type Output, UsageError } from "../terminal.js";
import { RehearsalProgress, reportText } from "./report-text.js";

/** `sluice rehearse` */
export async function rehearse(context: CommandContext): Promise<number> {
  const { values, terminal } = context;
  const files = positionalArguments(context);
  const against = (values["against"] ?? []) as readonly string[];
  if (files.length === 0) throw new UsageError("no config was given", "name the new one: sluice rehearse new.yaml");
  const readBatches = batchSource(context);
  const conditions = failConditions(values["fail-on"] as readonly string[] | undefined, against.length > 0);
  const after = await loadConfig(context, files);
  if (after === undefined) return EXIT.failed;
  const before = against.length === 0 ? undefined : await loadConfig(withoutSets(context), against);
  if (against.length > 0 && before === undefined) return EXIT.failed;
  return reportFailure(context, async () => {
    const progress = new RehearsalProgress(terminal.err);
    const sample = await readBatches(progress).finally(() => progress.clear());
    if (sample === undefined) return EXIT.failed;
    const configs = { before: before?.config, after: after.config };
    const report = await startable(after, () =>
      rehearseSample(configs, sample, (share) => progress.show(`Rehearsing: ${Math.floor(share * 100)} %`)),
    ).finally(() => progress.clear());
    if (report === undefined) return EXIT.failed;
    return finish(context, report, conditions);
  });

  /** Undefined, after printing why, if the config is valid but cannot be started. */
  async function startable(
    { lineAt }: LoadedSide,
    work: () => Promise<RehearsalReport>,
  ): Promise<RehearsalReport | undefined> {
    try {
      return await work();
    } catch (error) {
      const { problems } = (error ?? {}) as { readonly problems?: readonly Problem[] };
      if (!Array.isArray(problems)) throw error;
      showProblems(problems, lineAt, terminal.err);
      return undefined;
    }
  }
}

/** Prints the report and the conditions that hold, and returns the exit code. */
function finish(context: CommandContext, report: RehearsalReport, conditions: readonly FailCondition[]): number {
  const { values, terminal } = context;
  const failed = conditions.filter((condition) => condition.holds(report)).map(({ text }) => text);
  if (values["json"] === true) printJson(context, { ...report, failed });
  else terminal.out.write(`${reportText(report, terminal.out).join("\n")}\n`);
  for (const text of failed) terminal.err.write(`sluice: the rehearsal failed: ${text}\n`);
  return failed.length === 0 ? EXIT.ok : EXIT.conditionHolds;
}

/** Throws a `UsageError` if one cannot be read, or compares where there is nothing to compare with. */
function failConditions(texts: readonly string[] = [], hasComparison = true): readonly FailCondition[] {
  return texts.map((text) => {
    const condition = parseFailCondition(text);
    if (condition === undefined)
      throw new UsageError(
        `--fail-on ${text} is not a condition`,
        `write NAME>NUMBER or NAME>PERCENT%; names: ${Object.keys(MEASURES).join(", ")}`,
      );
    if (condition.needsComparison && !hasComparison)
      throw new UsageError(`--fail-on ${text} needs two configs to compare`, "name the old one with --against");
    return condition;
  });
}

interface LoadedSide {
  readonly config: ResolvedConfig;
  readonly lineAt: Awaited<ReturnType<typeof loadFromArguments>>["lineAt"];
}

async function loadConfig(context: CommandContext, files: readonly string[]): Promise<LoadedSide | undefined> {
  const loaded = await loadFromArguments({ ...context, values: { ...context.values, config: files } });
  const { config, problems, lineAt } = loaded;
  if (config === undefined) showProblems(problems, lineAt, context.terminal.err);
  return config && { config, lineAt };
}

function withoutSets(context: CommandContext): CommandContext {
  return { ...context, values: { ...context.values, set: [] } };
}

/** Returns how to get the sample: from a file, or from a running agent. */
function batchSource(context: CommandContext): (progress: RehearsalProgress) => Promise<TakenSample | undefined> {
  const { sample: file, agent, for: time, api } = context.values as Readonly<Record<string, string | undefined>>;
  if (file !== undefined) {
    if ((agent ?? time ?? api) === undefined) return () => recordedSample(file, context.terminal.err);
    throw new UsageError("a sample comes from a file or from an agent", "leave out --sample, or --agent and --for");
  }
  if ((agent ?? time ?? api) === undefined)
    throw new UsageError("no sample was given", "name a file with --sample FILE, or take one now with --for 60s");
  const request = sampleRequest(context, []);
  const values = agent === undefined ? context.values : { ...context.values, api: agent };
  return async (progress) => {
    const sample = await takeSample(await connectToAgent({ ...context, values }), request, progress);
    if (sample.batches.length > 0) return sample;
    context.terminal.err.write(
      "sluice: the sample is empty, so there is nothing to rehearse: sample longer, or a larger share\n",
    );
    return undefined;
  };
}

/** Keeps the sample in memory only. Its size is limited by the request. */
async function takeSample(api: AgentApi, request: SampleRequest, progress: RehearsalProgress): Promise<TakenSample> {
  const batches: ReadBatch[] = [];
  let skipped = 0;
  for await (const event of liveSample(api, request)) {
    if ("missed" in event) skipped += event.missed;
    else {
      const { receiver, at, signal, bytes } = event;
      batches.push({ receiver, at, batch: Batch.admit(signal, bytes) });
      progress.show(`Sampling: ${pluralize(batches.length, "batch", "batches")}`);
    }
  }
  return { batches, skipped };
}

async function recordedSample(file: string, err: Output): Promise<TakenSample | undefined> {
  try {
    const { batches, damage } = await readSampleFile(file);
    if (damage !== undefined)
      err.write(
        `sluice: ${file}: ${damage}; ${pluralize(batches.length, "batch", "batches")} before it will be used\n`,
      );
    if (batches.length > 0) return { batches, skipped: 0 };
    err.write(`sluice: ${file}: the sample is empty\n`);
  } catch (error) {
    if (!(error instanceof SampleFileError)) throw error;
    err.write(`sluice: ${file}: ${error.message}\n`);
  }
  return undefined;
}
