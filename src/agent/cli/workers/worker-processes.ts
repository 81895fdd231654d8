import cluster, { type Worker } from "node:cluster";
import { join } from "node:path";
import process from "node:process";
import type { Problem } from "#config/text";
import type { Clock, Logger } from "#contract";
import type { WorkerStatus } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import { backoff } from "#resilience";
import { isSingleExecutable, packageFolder } from "#system";
import { IpcCalls, type MetricsSnapshot, type RemoteCalls, WorkerGoneError } from "#workers";
import { type Assignment, type LastMetrics, type StartAnswer, WORKER_COMMAND } from "./assignment.js";
import {
  closeConnectionsBeyondLimits,
  closeUntakenConnections,
  endOf,
  exitOf,
  goneOf,
  listening,
} from "./cluster-process.js";

interface WorkerProcessesSettings {
  /** Returns the orders for a worker that starts. */
  readonly assignment: (number: number, careful: boolean) => Assignment;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called with the last metrics of a worker that ends in order, before `onEnded`. */
  readonly onLastMetrics: (number: number, metrics: MetricsSnapshot) => void;
  /** Called when a worker has ended, however that happened. */
  readonly onEnded: (number: number) => void;
  /** Called before a worker counts as ready: tells it what the others know. */
  readonly prepare: (number: number, calls: RemoteCalls) => Promise<void>;
}

/** A worker that ends sooner than this after its start has crashed in a row with the one before. */
const SHORT_LIFE_MS = 60_000;
const BACKOFF = { first: 200, max: 30_000 };
/** After this many crashes in a row the worker is careful: see docs/operate/workers.md. */
const CAREFUL_AFTER = 2;
/** After this many crashes while the agent starts, the start has failed. A careful worker needs four to find an entry. */
const MAX_FIRST_CRASHES = 6;
const PING_EVERY_MS = 5000;
/** A worker that does not answer for this long hangs, and is killed. */
const HANGS_AFTER_MS = 60_000;
const KILL_GRACE_MS = 15_000;

/**
 * Starts the workers of an agent, restarts those that crash or hang, and stops them. Node's cluster module lets them
 * share ports: this process accepts the connections and gives them to the workers in turn.
 */
export class WorkerProcesses {
  private readonly settings: WorkerProcessesSettings;
  private readonly workers = new Map<number, WorkerSlot>();
  private isStopping = false;

  constructor(settings: WorkerProcessesSettings) {
    this.settings = settings;
    const script = isSingleExecutable() ? process.execPath : join(packageFolder() ?? "", "bin", "sluice.js");
    cluster.schedulingPolicy = cluster.SCHED_RR;
    cluster.setupPrimary({ exec: script, args: [WORKER_COMMAND], serialization: "advanced" });
  }

  /** Resolves when all workers accept requests. Resolves with the problems of the first one that cannot start. */
  async start(count: number): Promise<readonly Problem[]> {
    const added = Array.from({ length: count }, (_, index) => this.add(index + 1));
    const answers = await Promise.all(added.map((slot) => slot.startFirst()));
    return answers.find((problems) => problems.length > 0) ?? [];
  }

  /**
   * Starts missing workers, starts the others again, one after the other, and ends those above this number. There is
   * always one that accepts connections.
   */
  async resize(count: number, timeoutMs: number): Promise<void> {
    const former = [...this.workers.values()];
    await this.adoptAbove(count);
    for (let number = former.length + 1; number <= count; number++) await this.add(number).startOrRetry();
    for (const slot of former) if (slot.number <= count) await slot.startAgain(timeoutMs);
    const gone = former.filter(({ number }) => number > count);
    await Promise.all(gone.map((slot) => slot.stop(timeoutMs)));
    for (const { number } of gone) this.workers.delete(number);
    await this.adoptAbove(count);
  }

  /** The first worker takes over the queues of those that are gone, and leaves those of workers that come. */
  private async adoptAbove(count: number): Promise<void> {
    const first = this.workers.get(1);
    const failed = (error: unknown) => {
      this.settings.logger.error({ err: error }, "the queues of removed workers will be adopted at the next start");
    };
    if (first?.state === "ready") await first.calls?.call("adoptAbove", count).catch(failed);
  }

  /** All workers, with calls to those that can be asked. */
  get linked(): readonly { readonly worker: number; readonly calls: RemoteCalls | undefined }[] {
    return [...this.workers.values()].map(({ number, calls, state }) => ({
      worker: number,
      calls: state === "ready" ? calls : undefined,
    }));
  }

  /** The workers that can be asked. */
  get ready(): readonly { readonly worker: number; readonly calls: RemoteCalls }[] {
    return this.linked.flatMap(({ worker, calls }) => (calls === undefined ? [] : [{ worker, calls }]));
  }

  status(): readonly WorkerStatus[] {
    return [...this.workers.values()].map((slot) => slot.status());
  }

  /** Kills the worker of these calls, which is then started again. If it has ended already, nothing is done. */
  replace(number: number, calls: RemoteCalls): void {
    const slot = this.workers.get(number);
    if (slot?.calls === calls) slot.kill();
  }

  async stop(timeoutMs: number): Promise<void> {
    this.isStopping = true;
    const [first, ...others] = [...this.workers.values()].sort((one, other) => one.number - other.number);
    await Promise.all(others.map((slot) => slot.stop(timeoutMs)));
    await first?.stop(timeoutMs); // it runs what exists once, for all of them
  }

  /** Lets every worker refuse what is unsettled. */
  abort(): void {
    for (const slot of this.workers.values()) slot.signal("SIGTERM");
  }

  private add(number: number): WorkerSlot {
    const slot = new WorkerSlot(number, this.settings, () => this.isStopping);
    this.workers.set(number, slot);
    return slot;
  }
}

/** The place of one worker, whose process may be replaced. */
class WorkerSlot {
  readonly number: number;
  state: WorkerStatus["state"] = "starting";
  calls: RemoteCalls | undefined;
  private readonly settings: WorkerProcessesSettings;
  private readonly isStoppingAll: () => boolean;
  private process: Worker | undefined;
  private exited: Promise<void> = Promise.resolve();
  private since: number;
  private startedAt = 0;
  /** The time of the last answer of a process that was killed because it hangs. */
  private hangsSince: number | undefined;
  /** Whether the last start failed because the process ended without giving a reason. */
  private hasCrashed = false;
  private restarts = 0;
  /** Number of crashes in a row. */
  private crashes = 0;
  private lastExit: WorkerStatus["lastExit"];
  private isLeaving = false;
  private isFirstStart = true;
  private cancelTimer: () => void = () => {};

  constructor(number: number, settings: WorkerProcessesSettings, isStoppingAll: () => boolean) {
    this.number = number;
    this.settings = settings;
    this.isStoppingAll = isStoppingAll;
    this.since = settings.clock.now();
  }

  status(): WorkerStatus {
    const { number: worker, state, since, restarts, lastExit } = this;
    const pid = state === "down" ? undefined : this.process?.process.pid;
    return { worker, pid, state, since, restarts, lastExit };
  }

  /** Resolves with the config problems that kept the worker from starting. */
  async start(): Promise<readonly Problem[]> {
    const { clock, assignment, prepare, onLastMetrics } = this.settings;
    this.setState("starting");
    this.startedAt = clock.now();
    this.hangsSince = undefined;
    this.hasCrashed = false;
    const child = cluster.fork();
    this.process = child;
    const gone = goneOf(child, clock);
    const calls = new IpcCalls(endOf(child, gone), this.number);
    this.calls = calls;
    closeUntakenConnections(child, gone);
    closeConnectionsBeyondLimits(child, () => this.state === "ready");
    child.on("message", (message: LastMetrics | unknown) => {
      if (isLastMetrics(message)) onLastMetrics(this.number, message.lastMetrics);
    });
    this.exited = exitOf(child).then(async (how) => {
      await gone;
      this.onExit(child, how);
    });
    try {
      await listening(child, this.number);
      this.watch(calls);
      const given = assignment(this.number, this.crashes >= CAREFUL_AFTER);
      const { problems } = (await calls.call("start", given)) as StartAnswer;
      if (problems.length > 0) return problems;
      await this.catchUp(calls, given);
      await prepare(this.number, calls);
    } catch (error) {
      this.hasCrashed = error instanceof WorkerGoneError;
      child.process.kill("SIGKILL"); // it may still run, and do nothing
      return [startProblem(this.number, error)];
    }
    if (this.state === "starting") this.setState("ready");
    return [];
  }

  /**
   * The first start of the agent. A worker that crashes is started again, because the entry that kills it may be in its
   * queue: it is found after some crashes.
   */
  async startFirst(): Promise<readonly Problem[]> {
    for (;;) {
      const problems = await this.start();
      if (problems.length === 0) return problems;
      await this.exited;
      if (!this.hasCrashed || this.crashes >= MAX_FIRST_CRASHES || this.mustStayDown) return problems;
      if (!(await this.restartDelay())) return problems;
    }
  }

  /** Logs the crash, and waits. Resolves to false if the worker is stopped meanwhile. */
  private restartDelay(): Promise<boolean> {
    const { logger, clock } = this.settings;
    const delayMs = Math.round(backoff(BACKOFF, this.settings)(this.crashes));
    const careful = this.crashes >= CAREFUL_AFTER;
    logger.error(
      { worker: this.number, exit: this.lastExit?.reason, inARow: this.crashes, delayMs, careful },
      careful
        ? "crash loop: a worker has exited again; restarting it with extra checks"
        : "a worker has exited: restarting it",
    );
    this.restarts += 1;
    return new Promise((resolve) => {
      const cancel = clock.after(delayMs, () => resolve(true));
      this.cancelTimer = () => {
        cancel();
        resolve(false);
      };
    });
  }

  /** While the worker was starting, the others may have got another config. It is killed if it cannot run that one. */
  private async catchUp(calls: RemoteCalls, { snapshot, careful }: Assignment): Promise<void> {
    for (let runs = snapshot; ; ) {
      const { snapshot: newest } = this.settings.assignment(this.number, careful);
      if (newest === runs) return;
      runs = newest;
      const { problems } = (await calls.call("reload", newest)) as StartAnswer;
      if (problems.length === 0) continue;
      this.kill();
      throw new Error(problems.map(({ message }) => message).join("; "));
    }
  }

  async startAgain(timeoutMs: number): Promise<void> {
    await this.stop(timeoutMs);
    this.isLeaving = false;
    await this.startOrRetry();
  }

  async stop(timeoutMs: number): Promise<void> {
    this.isLeaving = true;
    this.cancelTimer();
    if (this.process === undefined) return;
    if (this.process.isDead()) return this.exited;
    const isStarting = this.state === "starting";
    this.setState("draining");
    if (isStarting)
      this.kill(); // it has nothing to drain yet, and may not hear what it is told
    else this.signal("SIGTERM");
    const { clock } = this.settings;
    const isEnded = await endedWithin(timeoutMs + KILL_GRACE_MS, this.exited, clock);
    if (!isEnded) this.kill();
    await this.exited;
  }

  signal(name: string): void {
    this.calls?.call("signal", name).catch(() => {}); // it has ended
  }

  kill(): void {
    this.process?.process.kill("SIGKILL");
  }

  private get mustStayDown(): boolean {
    return this.isLeaving || this.isStoppingAll();
  }

  private setState(state: WorkerStatus["state"]): void {
    this.state = state;
    this.since = this.settings.clock.now();
  }

  private onExit(child: Worker, how: string): void {
    if (this.process !== child) return;
    const { clock, onEnded } = this.settings;
    const wasReady = this.state === "ready";
    this.cancelTimer();
    this.calls = undefined;
    this.lastExit = { at: clock.now(), reason: how };
    onEnded(this.number);
    if (this.mustStayDown) return;
    const isShort = (this.hangsSince ?? clock.now()) - this.startedAt < SHORT_LIFE_MS;
    this.crashes = isShort ? this.crashes + 1 : 1;
    this.setState("down");
    if (!wasReady && this.isFirstStart) return; // the caller of the start handles it
    void this.restartDelay().then((isDue) => (isDue ? this.startOrRetry() : undefined));
  }

  /** A worker that cannot start ends, and is then started again later. */
  async startOrRetry(): Promise<void> {
    if (this.mustStayDown) return;
    this.isFirstStart = false;
    const problems = await this.start();
    const { logger } = this.settings;
    if (this.mustStayDown) return;
    if (problems.length === 0)
      return logger.info({ worker: this.number, restarts: this.restarts }, "the worker is running");
    logger.error({ worker: this.number, problems: problems.map(({ message }) => message) }, "the worker cannot start");
  }

  /** Kills the worker if it does not answer any more. */
  private watch(calls: RemoteCalls): void {
    const { clock, logger } = this.settings;
    let answeredAt = clock.now();
    let isAsked = false;
    const check = () => {
      if (this.calls !== calls) return;
      if (clock.now() - answeredAt > HANGS_AFTER_MS) {
        logger.error({ worker: this.number, forMs: clock.now() - answeredAt }, "a worker does not answer: killing it");
        this.hangsSince = answeredAt;
        return this.kill();
      }
      if (!isAsked) {
        isAsked = true;
        calls.call("ping").then(
          () => {
            isAsked = false;
            answeredAt = clock.now();
          },
          () => {},
        );
      }
      this.cancelTimer = clock.after(PING_EVERY_MS, check);
    };
    this.cancelTimer = clock.after(PING_EVERY_MS, check);
  }
}

function isLastMetrics(message: unknown): message is LastMetrics {
  return typeof message === "object" && message !== null && "lastMetrics" in message;
}

async function endedWithin(ms: number, ended: Promise<void>, clock: Clock): Promise<boolean> {
  let isEnded = false;
  await waitAtMost(
    ms,
    ended.then(() => {
      isEnded = true;
    }),
    clock,
  );
  return isEnded;
}

function startProblem(worker: number, error: unknown): Problem {
  const message = `worker ${worker} could not start: ${error instanceof Error ? error.message : String(error)}`;
  return { severity: "error", code: "start_failed", place: undefined, path: "service.workers", message };
}
