import process from "node:process";
import type { Worker } from "node:worker_threads";
import { MalformedError } from "#otlp/signals";
import type { OttlTrial } from "../compile/playground.js";
import { OttlError } from "../values/error.js";
import type { TrialAnswer } from "./trial-thread.js";
import { type TrialThread, trialThread } from "./trial-thread-file.js";

/** Runs a function later; the returned function cancels that. */
type After = (ms: number, run: () => void) => () => void;

interface Job {
  readonly trial: OttlTrial;
  readonly resolve: (json: string) => void;
  readonly reject: (error: Error) => void;
}

/** Longer than a trial gives itself, so only a single statement that takes very long ends the thread. */
const MAX_TRIAL_MS = 3000;
/** How long the thread waits for the next trial before it ends. */
const IDLE_MS = 30_000;
/** Each trial holds its record, and those behind it wait up to `MAX_TRIAL_MS`. */
const MAX_WAITING = 16;
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Runs trials in a thread with its own memory limit, so that nothing anybody tries can block the agent or take its
 * memory. The thread starts with the first trial and is used again. It ends when no trial has come for a while, when a
 * trial exceeds its limits, and with `stop`.
 */
export class OttlTrials {
  private readonly after: After;
  private readonly thread: () => TrialThread;
  private readonly waiting: Job[] = [];
  private worker: Worker | undefined;
  private running: Job | undefined;
  private cancelTimer = () => {};
  private isStopped = false;

  /** `thread` is the code that answers trials. */
  constructor(after: After, thread: () => TrialThread = trialThread) {
    this.after = after;
    this.thread = thread;
  }

  /**
   * Resolves with the results as JSON. Rejects like `tryOttl`, and with an `OttlError` if the trial exceeds its limits,
   * or too many wait.
   */
  run(trial: OttlTrial): Promise<string> {
    if (this.isStopped) return Promise.reject(new OttlError(STOPPED));
    if (this.waiting.length >= MAX_WAITING)
      return Promise.reject(new OttlError("too many trials wait; try again later"));
    return new Promise((resolve, reject) => {
      this.waiting.push({ trial, resolve, reject });
      if (this.running === undefined) this.startNext();
    });
  }

  /** Ends the thread and rejects all trials. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const { worker } = this;
    for (const { reject } of this.waiting.splice(0)) reject(new OttlError(STOPPED));
    this.failRunning(new OttlError(STOPPED));
    await worker?.terminate();
  }

  private startNext(): void {
    this.cancelTimer();
    this.running = this.waiting.shift();
    if (this.running === undefined) return this.endWhenIdle();
    if (this.worker === undefined) this.worker = this.startThread();
    else this.limitTime();
    this.worker.postMessage(this.running.trial);
  }

  private startThread(): Worker {
    // Loaded here, because loading at the top would slow down every start of the command line.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const { code, eval: isText } = this.thread();
    const worker = new Worker(code, {
      eval: isText,
      name: "sluice-ottl",
      execArgv: [],
      env: {},
      resourceLimits: RESOURCE_LIMITS,
    });
    worker.unref();
    const ifCurrent = (act: () => void) => () => this.worker === worker && act();
    worker.once(
      "online",
      ifCurrent(() => this.limitTime()),
    );
    worker.on("message", (answer: TrialAnswer) => ifCurrent(() => this.answered(answer))());
    worker.on("error", (error) => ifCurrent(() => this.failRunning(failureOf(error)))());
    worker.on(
      "exit",
      ifCurrent(() => this.failRunning(new Error("the thread for trials ended"))),
    );
    return worker;
  }

  /** Starting the thread does not count. */
  private limitTime(): void {
    this.cancelTimer = this.after(MAX_TRIAL_MS, () => {
      this.failRunning(new OttlError(`the trial takes too long: more than ${MAX_TRIAL_MS} ms`));
    });
  }

  private endWhenIdle(): void {
    this.cancelTimer = this.after(IDLE_MS, () => this.endThread());
  }

  private endThread(): void {
    void this.worker?.terminate();
    this.worker = undefined;
  }

  private answered(answer: TrialAnswer): void {
    const job = this.running;
    if ("json" in answer) job?.resolve(answer.json);
    else job?.reject(errorOf(answer));
    this.startNext();
  }

  /** The thread cannot be used again: it may still be at work, or is out of memory. */
  private failRunning(error: Error): void {
    this.cancelTimer();
    this.endThread();
    this.running?.reject(error);
    this.running = undefined;
    if (this.waiting.length > 0) this.startNext();
  }
}

const STOPPED = "the agent is stopping";

function failureOf(error: Error & { readonly code?: string }): Error {
  if (error.code !== "ERR_WORKER_OUT_OF_MEMORY") return error;
  return new OttlError("the trial needs too much memory");
}

function errorOf({ error, kind }: Extract<TrialAnswer, { error: string }>): Error {
  if (kind === "malformed") return new MalformedError(error, -1);
  return kind === "ottl" ? new OttlError(error) : new Error(error);
}
