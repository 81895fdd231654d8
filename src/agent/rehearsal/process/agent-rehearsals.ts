import { randomUUID } from "node:crypto";
import type { Clock, Logger } from "#contract";
import { AdminError, type AgentInspection, sampleTraffic, TapBudget } from "#contract/operations";
import type { RehearsalControl, RehearsalRequest, RehearsalStatus, RehearsedChange } from "#contract/rehearsal";
import type { Batch } from "#otlp";
import { fileHash } from "#system";
import { maskText } from "#text";
import { type FailCondition, MEASURES, parseFailCondition } from "../fail-conditions.js";
import type { ChildMessage, RehearsalTask } from "./child-frames.js";
import { changedFiles } from "./config-snapshots.js";
import { RehearsalProcess } from "./rehearsal-process.js";

interface RehearsalServices {
  readonly agent: {
    readonly inspection: AgentInspection | undefined;
    readonly generation: string;
    readonly generationNumber: number;
  };
  /** Returns the task of a rehearsal that begins now; undefined while the agent starts. */
  readonly task: () => RehearsalTask | undefined;
  /** The environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** The share of its time that the agent spends on a sample. */
const SAMPLE_SHARE = 0.05;
/** Time to start the process and to load both configs, with their plugins. */
const LOAD_MS = 60_000;
/** Time to run both configs on the sample and to compare the results. */
const COMPARE_MS = 300_000;
const MAX_BATCH_BYTES = 8 * 1024 ** 2;

/** Runs the rehearsals of an agent, one at a time. */
export class AgentRehearsals implements RehearsalControl {
  private readonly services: RehearsalServices;
  private last: Rehearsal | undefined;

  constructor(services: RehearsalServices) {
    this.services = services;
  }

  get current(): RehearsalStatus | undefined {
    this.last?.endIfReplaced();
    return this.last?.status;
  }

  start(request: RehearsalRequest, change?: RehearsedChange): RehearsalStatus {
    const conditions = request.failOn.map(readCondition);
    this.last?.endIfReplaced();
    if (this.last?.isRunning)
      throw new AdminError("conflict", "a rehearsal is under way: wait until it ends, or cancel it");
    const { inspection } = this.services.agent;
    const task = this.services.task();
    if (inspection === undefined || task === undefined) throw new AdminError("unavailable", "the agent is starting");
    const changed = change === undefined ? {} : { change: { name: change.title, text: change.yaml } };
    this.last = new Rehearsal(request, conditions, { ...task, ...changed }, inspection, this.services);
    return this.last.status;
  }

  cancel(): void {
    this.last?.end("cancelled");
  }

  /** Whether a plugin has changed since the last rehearsal has loaded it. Its code is no part of the config's hash. */
  get hasOldCode(): boolean {
    return this.last !== undefined && changedFiles(this.last.plugins).length > 0;
  }
}

function readCondition(text: string): FailCondition {
  const condition = parseFailCondition(text);
  if (condition !== undefined) return condition;
  const names = Object.keys(MEASURES).join(", ");
  throw new AdminError(
    "bad_request",
    `${text} is not a condition: write NAME>NUMBER or NAME>PERCENT%; names: ${names}`,
  );
}

/** One rehearsal. Sampling begins when the child has loaded both configs, so an invalid config is reported at once. */
class Rehearsal {
  status: RehearsalStatus;
  /** The hashes of plugins as they were loaded. */
  plugins: Readonly<Record<string, string>>;
  private readonly conditions: readonly FailCondition[];
  private readonly services: RehearsalServices;
  private readonly inspection: AgentInspection;
  private readonly startedWith: number;
  private readonly budget: TapBudget;
  private readonly child: RehearsalProcess;
  private stopSampling = () => {};
  private cancelTimer: () => void;

  constructor(
    request: RehearsalRequest,
    conditions: readonly FailCondition[],
    task: RehearsalTask,
    inspection: AgentInspection,
    services: RehearsalServices,
  ) {
    const { clock, logger, agent } = services;
    this.conditions = conditions;
    this.services = services;
    this.inspection = inspection;
    this.plugins = task.before.plugins;
    this.startedWith = agent.generationNumber;
    this.budget = new TapBudget(clock, SAMPLE_SHARE);
    const startedAt = clock.now();
    this.status = {
      ...request,
      id: randomUUID(),
      ...(task.change !== undefined && { change: task.change.name }),
      state: "sampling",
      startedAt,
      sampleEndsAt: startedAt + request.seconds * 1000,
      sample: { batches: 0, records: 0, bytes: 0, skipped: 0 },
      progress: 0,
      generation: { before: agent.generation },
      failed: [],
      problems: [],
      changedPlugins: [],
    };
    logger.info({ by: request.by, seconds: request.seconds, share: request.share }, "a rehearsal has started");
    this.child = new RehearsalProcess(task, services.env, {
      message: (message) => this.onMessage(message),
      ended: (reason) => this.fail(reason),
    });
    this.cancelTimer = clock.after(LOAD_MS, () => this.fail("the config was not loaded in time; does a plugin hang?"));
  }

  get isRunning(): boolean {
    return this.status.state === "sampling" || this.status.state === "comparing";
  }

  /** Does nothing if it has ended already. */
  end(state: "done" | "failed" | "cancelled", result: Partial<RehearsalStatus> = {}): void {
    if (!this.isRunning) return;
    this.stopSampling();
    this.cancelTimer();
    const { clock, logger } = this.services;
    this.status = { ...this.status, ...result, state, endedAt: clock.now() };
    this.child.kill();
    const { error, failed } = this.status;
    logger.info({ state, ...(error !== undefined && { error }), failed }, "a rehearsal has ended");
  }

  /** A reload makes the rehearsal useless, because what it would compare with does not run any more. */
  endIfReplaced(): void {
    if (this.isReplaced) this.fail(REPLACED);
  }

  private fail(reason: string): void {
    this.end("failed", { error: maskText(reason) });
  }

  private onMessage(message: ChildMessage): void {
    if (!this.isRunning) return;
    if ("loaded" in message) {
      if (this.status.generation.after === undefined) this.startSampling(message.loaded);
    } else if ("progress" in message) this.status = { ...this.status, progress: message.progress };
    else if ("problems" in message) this.end("failed", { problems: message.problems, error: "the config has errors" });
    else if ("error" in message) this.fail(message.error);
    else if (this.isReplaced) this.endIfReplaced();
    else {
      const { report } = message;
      const failed = this.conditions.filter((condition) => condition.holds(report)).map(({ text }) => text);
      this.end("done", { report, failed, progress: 1 });
    }
  }

  private startSampling({ generation, problems, changedPlugins }: LoadedFacts): void {
    const { clock } = this.services;
    const { share, seconds } = this.status;
    this.plugins = Object.fromEntries(Object.keys(this.plugins).map((path) => [path, fileHash(path) ?? ""]));
    this.cancelTimer();
    this.status = {
      ...this.status,
      problems,
      changedPlugins,
      sampleEndsAt: clock.now() + seconds * 1000,
      generation: { ...this.status.generation, after: generation },
    };
    this.cancelTimer = clock.after(seconds * 1000, () => this.endSample());
    this.stopSampling = sampleTraffic(this.inspection, { share }, (batch, receiver) => this.take(batch, receiver));
  }

  /** The pipeline waits for this method. */
  private take(batch: Batch, receiver: string): void {
    const { sample, maxBytes, maxRecords = Number.POSITIVE_INFINITY } = this.status;
    if (this.isReplaced) return void this.services.clock.after(0, () => this.endIfReplaced());
    const isSmall = batch.byteLength <= MAX_BATCH_BYTES;
    const isFull = sample.bytes + batch.byteLength > maxBytes || sample.records + batch.count > maxRecords;
    if (isSmall && isFull) return void this.services.clock.after(0, () => this.endSample());
    const isSent = isSmall && this.budget.run(() => this.child.send(batch, receiver, this.services.clock.now()));
    const { batches, records, bytes, skipped } = sample;
    this.status = {
      ...this.status,
      sample: isSent
        ? { batches: batches + 1, records: records + batch.count, bytes: bytes + batch.byteLength, skipped }
        : { ...sample, skipped: skipped + batch.count },
    };
  }

  private endSample(): void {
    if (this.status.state !== "sampling") return;
    this.stopSampling();
    this.cancelTimer();
    const { sample } = this.status;
    this.endIfReplaced();
    if (!this.isRunning) return;
    if (sample.batches === 0)
      return this.fail("the sample is empty, so there is nothing to rehearse: sample longer, or a larger share");
    const { clock } = this.services;
    this.status = { ...this.status, state: "comparing", sampleEndsAt: clock.now() };
    this.cancelTimer = clock.after(COMPARE_MS, () => this.fail("it took too long: take a smaller sample"));
    this.child.finish(sample.skipped);
  }

  private get isReplaced(): boolean {
    return this.services.agent.generationNumber !== this.startedWith;
  }
}

type LoadedFacts = Extract<ChildMessage, { loaded: unknown }>["loaded"];

const REPLACED = "the config was reloaded during the rehearsal: rehearse again";
