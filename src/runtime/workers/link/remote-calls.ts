/**
 * The calls that the parent process can make to one worker. Arguments and results are copied, so they consist of plain values,
 * buffers, maps and sets. An `AdminError` arrives as one.
 */
export interface RemoteCalls {
  /** Rejects with the worker's error, or with a `WorkerGoneError` if the worker ends first. */
  call(name: string, ...args: readonly unknown[]): Promise<unknown>;
  /** The values that the worker's iterable gives. Ending the iteration here ends it in the worker. */
  stream(name: string, ...args: readonly unknown[]): AsyncIterable<unknown>;
}

/** The methods of a worker, by name. A method that returns an iterable is asked with `stream`. */
export type RemoteMethods = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A worker ended before it answered. Whether it has done what it was asked is not known. */
export class WorkerGoneError extends Error {
  override readonly name = "WorkerGoneError";
  readonly worker: number;

  constructor(worker: number) {
    super(`worker ${worker} ended before it answered`);
    this.worker = worker;
  }
}
