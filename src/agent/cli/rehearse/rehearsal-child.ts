import { writeSync } from "node:fs";
import process from "node:process";
import { type LoadedConfig, readTextFile } from "#config";
import { errorMessage } from "#contract/errors";
import { PluginFolders, shownProblem, Watchdog } from "#host";
import { useEnvironment } from "#system";
import { maskText } from "#text";
import { type ChildMessage, type RehearsalTask, readFrames } from "../../rehearsal/process/child-frames.js";
import { changedFiles, snapshotReader } from "../../rehearsal/process/config-snapshots.js";
import { FilledInTexts } from "../../rehearsal/process/filled-in-texts.js";
import { MEMORY_SIGNAL } from "../../rehearsal/process/rehearsal-process.js";
import { rehearseSample } from "../../rehearsal/rehearse-sample.js";
import type { ReadBatch } from "../../rehearsal/sample-file.js";
import type { CommandContext } from "../command.js";
import { loadFromArguments } from "../load-from-arguments.js";
import { EXIT } from "../terminal.js";

/** The pipe to the agent. */
const MESSAGES = 3;
const PROGRESS_STEP = 0.02;

/** The child of an agent that rehearses its config: reads the task and the sample, and writes the report. */
export async function rehearsalChild(context: CommandContext): Promise<number> {
  startGuard();
  useEnvironment(context.terminal.env);
  try {
    return await rehearse(context);
  } catch (error) {
    const { problems } = (error ?? {}) as { readonly problems?: Parameters<typeof shownProblem>[0][] };
    if (Array.isArray(problems)) send({ problems: problems.map(shownProblem) });
    else send({ error: maskText(errorMessage(error)) });
    return EXIT.failed;
  }
}

async function rehearse(context: CommandContext): Promise<number> {
  const frames = readFrames(process.stdin);
  const first = (await frames.next()).value;
  if (first === undefined || !("task" in first)) throw new Error("there is no task");
  const { task, agentPid } = first;
  // The guard compares with the parent at its start, which is another one if the agent has ended before.
  if (process.ppid !== agentPid) throw new Error("the agent has ended");
  const secrets = new FilledInTexts();
  const { change } = task;
  const readBefore = snapshotReader(task.before);
  const changed = [...task.before.remoteFiles, ...(change === undefined ? [] : [change])];
  const after =
    change === undefined
      ? await load(context, task, task.remoteFiles, secrets, readTextFile)
      : await load(context, task, changed, secrets, readBefore);
  const before = await load(context, task, task.before.remoteFiles, secrets, readBefore);
  const problems = [...after.problems, ...(before.config === undefined ? before.problems : [])].map(shownProblem);
  if (after.config === undefined || before.config === undefined) {
    send({ problems });
    return EXIT.failed;
  }
  const { generation } = after.config;
  send({ loaded: { generation, problems, changedPlugins: changedFiles(task.before.plugins) } });
  const batches: ReadBatch[] = [];
  let skipped = 0;
  for await (const frame of frames) {
    if ("batch" in frame) batches.push(frame.batch);
    else if ("skipped" in frame) skipped = frame.skipped;
  }
  const configs = { before: before.config, after: after.config };
  const report = await rehearseSample(configs, { batches, skipped }, progressReporter());
  send({ report: secrets.hideIn(report) });
  return EXIT.ok;
}

async function load(
  { values, terminal, registry }: CommandContext,
  { config, set }: RehearsalTask,
  remoteFiles: RehearsalTask["remoteFiles"],
  secrets: FilledInTexts,
  readFile: (path: string) => string,
): Promise<LoadedConfig> {
  const context = {
    values: { ...values, config, set },
    terminal: { ...terminal, env: secrets.watchEnvironment(terminal.env) },
    registry,
  };
  const read = secrets.watchFiles(readFile, config);
  const loaded = await loadFromArguments(
    context,
    new Watchdog({ json: true }),
    new PluginFolders(),
    undefined,
    remoteFiles,
    undefined,
    read,
  );
  secrets.addValues(loaded.tree);
  return loaded;
}

function progressReporter(): (share: number) => void {
  let shown = 0;
  return (share) => {
    if (share - shown < PROGRESS_STEP) return;
    shown = share;
    send({ progress: Math.min(1, share) });
  };
}

/** Synchronous, so that it is written before the process ends. */
function send(message: ChildMessage): void {
  const text = Buffer.from(`${JSON.stringify(message)}\n`);
  for (let at = 0; at < text.length; ) {
    try {
      at += writeSync(MESSAGES, text, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") process.exit(EXIT.failed);
    }
  }
}

const MAX_RSS_BYTES = 1024 ** 3;

/**
 * Ends this process when its parent is gone, or when it has too much memory. It runs in a thread, because a plugin in
 * an endless loop blocks the main one. It is a string, so that it needs no file wherever Sluice is installed.
 */
const GUARD_THREAD = `
const { workerData } = require("node:worker_threads");
const { parent, maxBytes, signal } = workerData;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
  if (process.memoryUsage.rss() > maxBytes) process.kill(process.pid, signal);
}, 200);
`;

function startGuard(): void {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const worker = new Worker(GUARD_THREAD, {
    eval: true,
    name: "sluice-guard",
    workerData: { parent: process.ppid, maxBytes: MAX_RSS_BYTES, signal: MEMORY_SIGNAL },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 },
  });
  worker.unref();
}
