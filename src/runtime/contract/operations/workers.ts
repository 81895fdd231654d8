/** @internal One of the processes that work as one agent. Times are milliseconds since the epoch. */
export interface WorkerStatus {
  /** Its number, from 1. */
  readonly worker: number;
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  /** `down`: it has ended and is not started again yet. */
  readonly state: "starting" | "ready" | "draining" | "down";
  /** Since when it is in this state. */
  readonly since: number;
  /** How often it was started again. */
  readonly restarts: number;
  /** How it ended the last time. */
  readonly lastExit?: { readonly at: number; readonly reason: string } | undefined;
}

/** The workers that did not answer, so that their share is missing. Absent if all have answered. */
export interface PartialAnswer {
  readonly unavailableWorkers?: readonly number[];
}

/** Which of an agent's workers this process is. Worker 1 adopts the queues of workers that are gone. */
export interface WorkerPart {
  /** From 1. */
  readonly number: number;
  /** Number of workers that the agent has. */
  readonly count: number;
  /** Whether this worker has crashed several times in a row, so that the entry that kills it must be found. */
  readonly careful?: boolean | undefined;
}

/** One of the workers that share a limit. */
export type SharingWorker = Pick<WorkerPart, "number" | "count">;

/** The share of a worker in a whole number. The shares of all workers together are that number. */
export function shareOfAmount(amount: number, { number, count }: SharingWorker): number {
  const whole = Math.floor(amount);
  return Math.floor(whole / count) + (number <= whole % count ? 1 : 0);
}

/** The same for a limit; every worker gets at least 1. */
export function shareOfLimit(limit: number, worker: SharingWorker): number {
  return Math.max(1, shareOfAmount(limit, worker));
}
