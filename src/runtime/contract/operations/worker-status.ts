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
