import type { Clock } from "#contract";
import { AdminError, type DeadLetterPage } from "#contract/operations";
import { waitAtMost } from "#contract/time";
import type { RemoteCalls } from "../link/remote-calls.js";

/** A worker as the parent knows it. `calls` is undefined while it does not run. */
export interface LinkedWorker {
  readonly worker: number;
  readonly calls: RemoteCalls | undefined;
}

/** The answer of one worker. */
interface WorkerAnswer<T> {
  readonly worker: number;
  readonly value: T;
}

/** The answers of those that have answered, in the order of their numbers, and the numbers of the others. */
export interface GroupAnswer<T> {
  readonly answers: readonly WorkerAnswer<T>[];
  readonly unavailable: readonly number[];
}

/** A worker that takes longer to answer a question counts as unavailable: it hangs, or is overloaded. */
const MAX_ANSWER_MS = 10_000;
/** The same for whether it is there at all, before a change. */
const MAX_PING_MS = 2000;

const NO_ANSWER = Symbol("no answer");

/**
 * Asks all workers. An exporter may run in only some of them: a worker that does not have what is asked for has no share
 * of the answer, as long as another one has it. Questions are answered by those that can. Changes are made only if all are there, because a change
 * in some of them is neither done nor not done.
 */
export class WorkerGroup {
  private readonly workers: () => readonly LinkedWorker[];
  private readonly clock: Clock;

  constructor(workers: () => readonly LinkedWorker[], clock: Clock) {
    this.workers = workers;
    this.clock = clock;
  }

  get numbers(): readonly number[] {
    return this.sorted.map(({ worker }) => worker);
  }

  /** The worker that keeps what exists once: the audit, and what is imported. */
  get first(): number {
    const [first] = this.numbers;
    if (first === undefined) throw new AdminError("unavailable", "no worker runs");
    return first;
  }

  /** Asks all workers the same. Rejects if none can answer, or if the question is invalid. */
  ask<T>(name: string, ...args: readonly unknown[]): Promise<GroupAnswer<T>> {
    return this.askEach((worker) => this.askOne<T>(worker, name, ...args));
  }

  /** Asks each of these workers, all by default. */
  async askEach<T>(
    question: (worker: number) => Promise<T>,
    asked: readonly number[] = this.numbers,
  ): Promise<GroupAnswer<T>> {
    const settled = await Promise.allSettled(asked.map(async (worker) => ({ worker, value: await question(worker) })));
    const failed = settled.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    const wrong = failed.find((error) => !isUnavailable(error) && !isNotFound(error));
    if (wrong !== undefined) throw wrong;
    if (failed.length > 0 && failed.length === asked.length)
      throw asAdminError(failed.find(isUnavailable) ?? failed[0]);
    return {
      answers: settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
      unavailable: asked.filter((_, index) => {
        const answer = settled[index]!;
        return answer.status === "rejected" && isUnavailable(answer.reason);
      }),
    };
  }

  /** Rejects with an `AdminError` of code `unavailable` if the worker does not answer in time. */
  async askOne<T>(worker: number, name: string, ...args: readonly unknown[]): Promise<T> {
    return (await this.within(MAX_ANSWER_MS, worker, this.callsOf(worker).call(name, ...args))) as T;
  }

  /** The same for a question whose answer may come late. Rejects when the worker ends. */
  async askOnce<T>(worker: number, name: string): Promise<T> {
    return (await this.callsOf(worker).call(name)) as T;
  }

  /** Whether the worker runs. It may hang. */
  isLinked(worker: number): boolean {
    return this.workers().some((each) => each.worker === worker && each.calls !== undefined);
  }

  stream<T>(worker: number, name: string, ...args: readonly unknown[]): AsyncIterable<T> {
    return this.callsOf(worker).stream(name, ...args) as AsyncIterable<T>;
  }

  /** Rejects unless all workers are there. To be called before anything is changed. */
  async requireAll(): Promise<void> {
    await Promise.all(
      this.numbers.map(async (worker) => {
        try {
          await this.within(MAX_PING_MS, worker, this.callsOf(worker).call("ping"));
        } catch (error) {
          const why = (error as Error).message;
          throw new AdminError("unavailable", `nothing was changed: ${why}; try again when it is back`);
        }
      }),
    );
  }

  /**
   * Makes a change in these workers, all by default, which takes as long as it takes. If one of them ends meanwhile, the
   * error says that the others have made the change.
   */
  async change<T>(
    request: (worker: number) => { readonly name: string; readonly args: readonly unknown[] },
    changed: readonly number[] = this.numbers,
  ): Promise<readonly WorkerAnswer<T>[]> {
    const settled = await Promise.allSettled(
      changed.map(async (worker) => {
        const { name, args } = request(worker);
        return { worker, value: (await this.callsOf(worker).call(name, ...args)) as T };
      }),
    );
    const answers = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const failed = settled.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    const wrong = failed.find((error) => !isGone(error) && !isNotFound(error)) ?? failed.find(isGone);
    if (answers.length === 0 && failed.length > 0) throw asAdminError(wrong ?? failed[0]);
    if (wrong === undefined) return answers;
    if (!isGone(wrong)) throw wrong;
    throw new AdminError("unavailable", `${(wrong as Error).message}; the other workers have made the change`);
  }

  private get sorted(): readonly LinkedWorker[] {
    return [...this.workers()].sort((a, b) => a.worker - b.worker);
  }

  private callsOf(worker: number): RemoteCalls {
    const calls = this.workers().find((each) => each.worker === worker)?.calls;
    if (calls === undefined) throw new AdminError("unavailable", `worker ${worker} does not run`);
    return calls;
  }

  private async within<T>(ms: number, worker: number, asked: Promise<T>): Promise<T> {
    const answer = await waitAtMost(ms, asked, this.clock, () => NO_ANSWER).catch((error: unknown) => {
      throw asAdminError(error);
    });
    if (answer === NO_ANSWER) throw new AdminError("unavailable", `worker ${worker} does not answer`);
    return answer as T;
  }
}

/** Says which workers did not answer; nothing if all did. */
export function partial({
  unavailable,
}: Pick<GroupAnswer<unknown>, "unavailable">): Pick<DeadLetterPage, "unavailableWorkers"> {
  return unavailable.length === 0 ? {} : { unavailableWorkers: unavailable };
}

/** Recognised by its name, because it may come from another copy of the package. */
function isGone(error: unknown): boolean {
  return (error as Error | undefined)?.name === "WorkerGoneError";
}

function isNotFound(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === "not_found";
}

function isUnavailable(error: unknown): boolean {
  return isGone(error) || (error as { code?: unknown } | undefined)?.code === "unavailable";
}

function asAdminError(error: unknown): unknown {
  return isGone(error) ? new AdminError("unavailable", (error as Error).message, { cause: error }) : error;
}
