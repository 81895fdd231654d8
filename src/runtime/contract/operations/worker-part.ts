/** Which of an agent's workers this process is. Worker 1 adopts the queues of workers that are gone. */
export interface WorkerPart {
  /** From 1. */
  readonly number: number;
  /** Number of workers that the agent has. */
  readonly count: number;
  /** Whether this worker has crashed several times in a row, so that the entry that kills it must be found. */
  readonly careful?: boolean | undefined;
}
