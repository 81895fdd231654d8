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
